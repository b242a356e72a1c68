import type { z } from 'zod';
import { Refusal } from '../../result-codes.ts';
import { entryNameFault, portabilityFault } from '../../zip/entry-name.ts';
import type { FormatEntry } from '../format-entry.ts';
import type { DetachedXadesParameters } from '../request/xml-fields.ts';
import { xp7Asked, xp7At } from '../request/xp7-asked.ts';
import type { XP7Signature } from '../request/xp7-signature.ts';
import type { ContainerRules } from './container.ts';
import { detachedFormat, type DetachedParameters, type DetachedState } from './detached.ts';
import { detachedReader } from './detached-reader.ts';
import { xadesLevels } from './level-writer.ts';
import { canonicalisationNames, checkLongTerm, invalid, xadesOptions, xadesSigner } from './xades-fields.ts';

type Fields = z.output<typeof DetachedXadesParameters>;

const at = `${xp7At}/XP7Providers/DXXP7Parameters`;
const propertiesAt = `${xp7At}/signedProperties`;
const usualSignatureName = 'signature.xml';

/** Everything but the algorithm, which depends on the key. */
interface DetachedOptions {
  readonly parameters: Omit<DetachedParameters, 'algorithm' | 'seed'>;
  readonly xp7: XP7Signature;
}

/** The member `XP7Signature` with XP7Format DXXP_7: one signature over all documents. */
export const detachedEntry: FormatEntry<XP7Signature, DetachedOptions, DetachedParameters, DetachedState> = {
  askedBy: { member: 'XP7Signature', xp7Format: 'DXXP_7' },
  format: detachedFormat,
  levels: xadesLevels(detachedReader),

  asked(xp7, rules) {
    const { level, trustedCa, properties } = xp7Asked(xp7, rules);
    const fields: Fields = xp7.XP7Providers?.DXXP7Parameters ?? {};
    const options = xadesOptions(fields, { prefix: fields.xadesPrefix, prefixField: 'xadesPrefix' }, properties, { at, propertiesAt });
    checkLongTerm(level, options, at);
    const container = containerOf(fields);
    const { signedContentsC14NAlgURI: asked, manifestActivated: hasManifest = false } = fields;
    const parameters = {
      ...options,
      ...{ ids: {}, validates: false, at, container, hasManifest },
      documentCanonicalisation: asked === undefined ? undefined : canonicalisationNames[asked],
      template: templateOf(fields),
      directory: container === undefined ? undefined : directoryOf(fields),
      keepsContents: level?.level === 'LTA',
    };
    return {
      ...{ level, trustedCa },
      ...{ takesDigests: false, takesPasswords: false, isText: container === undefined },
      options: { parameters, xp7 },
    };
  },

  plan({ options: { parameters, xp7 } }, _documents, signer) {
    const own = xadesSigner(parameters, xp7, xp7At, signer);
    return { algorithm: own.algorithm, parameters: { ...parameters, ...own } };
  },
};

/**
 * Returns the container; the fields of a container are not used without one.
 * @throws {Refusal} FIELD_INVALID
 */
function containerOf({
  signatureContainerType,
  zipSignatureFileName = usualSignatureName,
  zipCompressionLevel = 0,
}: Fields): ContainerRules | undefined {
  if (signatureContainerType !== 'ZIP') return undefined;
  const fault = entryNameFault(zipSignatureFileName) ?? portabilityFault(zipSignatureFileName);
  if (fault !== undefined) throw invalid(`${at}/zipSignatureFileName`, `the name of the signature file ${fault}`);
  // The schema allows 0 to 9.
  return { signatureName: zipSignatureFileName, level: zipCompressionLevel as ContainerRules['level'] };
}

/** @throws {Refusal} FIELD_INVALID, FIELDS_INCONSISTENT */
function directoryOf({ zipDirectoryActivated = false, zipDirectoryName }: Fields): string | undefined {
  if (!zipDirectoryActivated) return undefined;
  if (zipDirectoryName === undefined) throw inconsistent('zipDirectoryName', 'required with zipDirectoryActivated');
  const fault = entryNameFault(zipDirectoryName) ?? portabilityFault(zipDirectoryName);
  if (fault !== undefined) throw invalid(`${at}/zipDirectoryName`, `the name of the directory ${fault}`);
  return zipDirectoryName;
}

/** @throws {Refusal} FIELD_INVALID, FIELDS_INCONSISTENT */
function templateOf({ signedDataTemplateActivated = false, signedDataTemplate: template }: Fields): string | undefined {
  if (!signedDataTemplateActivated) return undefined;
  if (template === undefined) throw inconsistent('signedDataTemplate', 'required with signedDataTemplateActivated');
  const there = `${at}/signedDataTemplate`;
  const [, unknown] = /\$\{(?!(?:GUID|date|file_name)\})([^}]*)\}?/.exec(template) ?? [];
  if (unknown !== undefined) throw invalid(there, `the variable ${JSON.stringify(unknown)} is unknown; known: GUID, date, file_name`);
  const fixed = template.replaceAll(/\$\{(?:GUID|date|file_name)\}/g, '');
  if (!/^[A-Za-z0-9\-._~!$&'()*+,;=:@/%]*$/.test(fixed)) {
    throw invalid(there, 'not a relative URI: ASCII without spaces, ? and #, and ${GUID}, ${date} and ${file_name} in it');
  }
  if (/^[^/]*:/.test(template) || template.startsWith('/')) throw invalid(there, 'remote and absolute URIs are not supported');
  if (/%(?![0-9A-Fa-f]{2})/.test(fixed)) throw invalid(there, 'contains a percent sign without two hexadecimal digits');
  return template;
}

function inconsistent(field: string, message: string): Refusal {
  return new Refusal('FIELDS_INCONSISTENT', { at: `${at}/${field}`, message });
}
