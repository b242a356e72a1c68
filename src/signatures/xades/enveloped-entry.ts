import type { z } from 'zod';
import { Refusal } from '../../result-codes.ts';
import { isNcName } from '../../xml/xml-text.ts';
import type { AskedDocument, AskedSignature, FormatEntry, FormatPlan, Signer } from '../format-entry.ts';
import type { AlgorithmFields } from '../request/algorithm-asked.ts';
import { levelAsked } from '../request/level-asked.ts';
import type { SignatureParameters } from '../request/parameters.ts';
import { signedPropertiesAsked } from '../request/signed-properties-asked.ts';
import type { EnvelopedProviderParameters, EnvelopedXadesParameters } from '../request/xml-fields.ts';
import { checkHash, xp7Asked, xp7At } from '../request/xp7-asked.ts';
import type { XP7Signature } from '../request/xp7-signature.ts';
import { envelopedFormat } from './enveloped.ts';
import type { EnvelopedParameters, EnvelopedState } from './enveloped-state.ts';
import { checkLongTerm, invalid, xadesOptions, xpathOf, xadesSigner } from './xades-fields.ts';
import { wholeDocument, xadesLevels } from './level-writer.ts';

type Fields = z.output<typeof EnvelopedXadesParameters>;
type ProviderFields = z.output<typeof EnvelopedProviderParameters>;
type Member = NonNullable<SignatureParameters['envelopedXAdESSignature']>;

/** Everything but the algorithm, which depends on the key. */
interface EnvelopedOptions {
  readonly parameters: Omit<EnvelopedParameters, 'algorithm' | 'seed'>;
  readonly shared: AlgorithmFields;
  /** JSON Pointer of the member with the shared fields. */
  readonly sharedAt: string;
}

const memberAt = '/parameters/envelopedXAdESSignature';
const providerAt = `${xp7At}/XP7Providers/EXXP7Parameters`;
const propertiesOf = (at: string): string => `${at}/signedProperties`;

/** The member `envelopedXAdESSignature` of the parameters. */
export const envelopedEntry: FormatEntry<Member, EnvelopedOptions, EnvelopedParameters, EnvelopedState> = {
  askedBy: { member: 'envelopedXAdESSignature' },
  format: envelopedFormat,
  levels: xadesLevels(wholeDocument),

  asked(member, rules) {
    const { envelopedXAdESParameters: fields = {}, trustedCA, digestAlgorithm, signedProperties } = member;
    const at = `${memberAt}/envelopedXAdESParameters`;
    const level = levelAsked(member, memberAt, rules);
    checkHash(digestAlgorithm, level, memberAt, rules);
    const properties = signedPropertiesAsked(signedProperties, propertiesOf(memberAt), { isXp7: false });
    const { xadesNsPrefix: prefix, ...others } = fields;
    const options = xadesOptions(others, { prefix, prefixField: 'xadesNsPrefix' }, properties, {
      at,
      propertiesAt: propertiesOf(memberAt),
    });
    return {
      level,
      trustedCa: trustedCA === undefined ? undefined : { fingerprint: trustedCA, at: `${memberAt}/trustedCA` },
      ...{ takesDigests: false, takesPasswords: false, isText: true },
      options: {
        parameters: { ...options, ...placeOf(others, at), ids: idsOf(others, at), validates: false },
        shared: member,
        sharedAt: memberAt,
      },
    };
  },

  plan: planned,
};

/** The member `XP7Signature` with XP7Format EXXP_7: the same with other names. */
export const xp7EnvelopedEntry: FormatEntry<XP7Signature, EnvelopedOptions, EnvelopedParameters, EnvelopedState> = {
  askedBy: { member: 'XP7Signature', xp7Format: 'EXXP_7' },
  format: envelopedFormat,
  levels: xadesLevels(wholeDocument),

  asked(xp7, rules) {
    const { level, trustedCa, properties } = xp7Asked(xp7, rules);
    const { xadesPrefix: prefix, ...fields } = xp7.XP7Providers?.EXXP7Parameters ?? {};
    const at = providerAt;
    const options = xadesOptions(fields, { prefix, prefixField: 'xadesPrefix' }, properties, { at, propertiesAt: propertiesOf(xp7At) });
    checkLongTerm(level, options, at);
    return {
      ...{ level, trustedCa },
      ...{ takesDigests: false, takesPasswords: false, isText: true },
      options: {
        parameters: { ...options, ...placeOf(fields, at), ids: {}, validates: xp7.validateSignatures ?? false },
        shared: xp7,
        sharedAt: xp7At,
      },
    };
  },

  plan: planned,
};

function planned(
  { options: { parameters, shared, sharedAt } }: AskedSignature<EnvelopedOptions>,
  _documents: readonly AskedDocument[],
  signer: Signer | undefined,
): FormatPlan<EnvelopedParameters> {
  const own = xadesSigner(parameters, shared, sharedAt, signer);
  return { algorithm: own.algorithm, parameters: { ...parameters, ...own } };
}

/**
 * Where the signature goes, and what it signs.
 * @throws {Refusal} FIELD_INVALID, FIELDS_INCONSISTENT
 */
function placeOf(
  fields: Omit<ProviderFields, 'xadesPrefix'>,
  at: string,
): Pick<EnvelopedParameters, 'position' | 'place' | 'signedNode' | 'transformation' | 'at'> {
  const { signedNode, signaturePosition = 'LAST_CHILD', xpathSignaturePosition, xpathSignaturePositionNS = [] } = fields;
  const { xpathTransformation, xpathTransformationNS } = fields;
  if (signedNode !== undefined && !/^[\p{L}\p{N}._:-]+$/u.test(signedNode))
    throw invalid(`${at}/signedNode`, 'not an Id: letters, digits, and . _ : -');
  const position = xpathOf(
    xpathSignaturePosition,
    xpathSignaturePositionNS,
    `${at}/xpathSignaturePosition`,
    `${at}/xpathSignaturePositionNS/*`,
  );
  if (position === undefined && signaturePosition === 'NEXT_SIBLING') {
    throw new Refusal('FIELDS_INCONSISTENT', {
      at: `${at}/signaturePosition`,
      message: 'NEXT_SIBLING needs an xpathSignaturePosition that selects another element than the root',
    });
  }
  return {
    ...{ position, place: signaturePosition, signedNode, at },
    transformation: xpathOf(
      xpathTransformation,
      xpathTransformationNS === undefined ? [] : [xpathTransformationNS],
      `${at}/xpathTransformation`,
      `${at}/xpathTransformationNS`,
    ),
  };
}

/** @throws {Refusal} FIELD_INVALID, FIELDS_INCONSISTENT */
function idsOf({ signatureId, signedPropertiesId, signatureValueId }: Fields, at: string): EnvelopedParameters['ids'] {
  const ids = { signatureId, signedPropertiesId, signatureValueId };
  for (const [field, id] of Object.entries(ids)) {
    if (id !== undefined && !isNcName(id)) throw invalid(`${at}/${field}`, 'not an Id: a name without a colon');
    if (id !== undefined && Object.entries(ids).some(([other, value]) => other < field && value === id))
      throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/${field}`, message: 'the same Id twice' });
  }
  return { signature: signatureId, signedProperties: signedPropertiesId, signatureValue: signatureValueId };
}
