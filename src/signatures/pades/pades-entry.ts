import { Refusal } from '../../result-codes.ts';
import { checkProperties } from '../cades/checked-properties.ts';
import type { FormatEntry } from '../format-entry.ts';
import { algorithmAsked } from '../request/algorithm-asked.ts';
import { checkSigningTime } from '../request/signed-properties-asked.ts';
import { xp7Asked, xp7At } from '../request/xp7-asked.ts';
import type { XP7Signature } from '../request/xp7-signature.ts';
import { visibleAsked } from './appearance/visible-asked.ts';
import { padesLevels } from './level-writer.ts';
import { padesFormat } from './pades.ts';
import { pageImageAsked } from './page-image.ts';
import type { PadesParameters, PadesState } from './pades-state.ts';
import { reasonOf } from './signature-dictionary.ts';

const at = `${xp7At}/XP7Providers/PXP7Parameters`;
const propertiesAt = `${xp7At}/signedProperties`;

interface PadesOptions {
  readonly xp7: XP7Signature;
  readonly parameters: Omit<PadesParameters, 'algorithm'>;
}

/** The member `XP7Signature` of the parameters with XP7Format PXP_7: PAdES. */
export const padesEntry: FormatEntry<XP7Signature, PadesOptions, PadesParameters, PadesState> = {
  askedBy: { member: 'XP7Signature', xp7Format: 'PXP_7' },
  format: padesFormat,
  levels: padesLevels,

  asked(xp7, rules) {
    const { level, trustedCa, properties } = xp7Asked(xp7, rules);
    const fields = xp7.XP7Providers?.PXP7Parameters ?? {};
    const { signatureFormat = 'ENHANCED', docMDPLevel, documentLock = false, fieldsLock = 'DEFAULT', visibleSignature } = fields;
    const content = xp7.contentPreparation?.PDFContent;
    if (properties.signingTime === 'NONE')
      throw inconsistent(`${propertiesAt}/signingTime/source`, 'a PDF signature has a time, so NONE is not possible');
    checkProperties(properties, propertiesAt, { isReason: reasonOf(properties) !== undefined });
    const isBasic = signatureFormat === 'BASIC';
    if (isBasic && level !== undefined && level.level !== 'T')
      throw new Refusal('UNSUPPORTED', { at: `${at}/signatureFormat`, message: 'levels LT and LTA need the format ENHANCED' });
    if (documentLock && docMDPLevel !== undefined && docMDPLevel !== 'LEVEL_1')
      throw inconsistent(`${at}/documentLock`, `a locked document allows no changes, so docMDPLevel ${docMDPLevel} is not possible`);
    return {
      ...{ level, trustedCa },
      ...{ takesDigests: false, takesPasswords: true, isText: false },
      options: {
        xp7,
        parameters: {
          ...{ isBasic, level: level?.level ?? 'B', properties, fieldsLock, at },
          validates: xp7.validateSignatures ?? false,
          certifies: docMDPLevel === undefined ? undefined : docMdpLevels[docMDPLevel],
          locksDocument: documentLock,
          signatureField: visibleSignature?.signatureField,
          visible: visibleSignature === undefined ? undefined : visibleAsked(visibleSignature, `${at}/visibleSignature`),
          pageImage: content === undefined ? undefined : pageImageAsked(content, `${xp7At}/contentPreparation/PDFContent`),
          locale: rules.locale,
        },
      },
    };
  },

  plan({ options: { xp7, parameters } }, _documents, signer) {
    if (signer === undefined) throw new Error('a PAdES signature binds the certificate of its signer');
    const algorithm = algorithmAsked(xp7, signer.key, xp7At);
    checkSigningTime(parameters.properties, signer.chain.certificate, propertiesAt);
    return { algorithm, parameters: { ...parameters, algorithm } };
  },
};

const docMdpLevels = { LEVEL_1: 1, LEVEL_2: 2, LEVEL_3: 3 } as const;

function inconsistent(pointer: string, message: string): Refusal {
  return new Refusal('FIELDS_INCONSISTENT', { at: pointer, message });
}
