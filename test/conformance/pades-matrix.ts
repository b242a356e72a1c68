import { coveringArray, everySet, type Row } from './covering-array.ts';
import { coveringProperties } from './covering-properties.ts';
import { levelFields, levels } from './levels.ts';
import { pdfNames, signedTwice } from './pades-documents.ts';

/** Where an option says nothing: the key has no place for it. */
const none = '-';

/** What PAdES signatures differ in. A PDF signature has a time always. */
export const factors = {
  format: ['ENHANCED', 'BASIC'],
  level: levels,
  keyType: ['RSA-2048', 'P-256', 'P-384'],
  certification: ['approval', 'LEVEL_1', 'LEVEL_2', 'LEVEL_3'],
  appearance: ['invisible', 'visible'],
  document: pdfNames,
  digestAlgorithm: ['SHA_256', 'SHA_384', 'SHA_512'],
  RSAVersion: ['PKCS_1_1_5', 'PKCS_1_2_1', none],
  signedProperties: ['none', ...Object.keys(coveringProperties).filter((name) => name !== 'no-time')],
} as const;

export type PadesCombination = Row<typeof factors>;

/** Whether two options can stand together. */
function fits({ format, level, keyType, certification, document, RSAVersion }: Partial<PadesCombination>): boolean {
  if (format === 'BASIC' && (level === 'LT' || level === 'LTA')) return false;
  if (keyType !== undefined && RSAVersion !== undefined && keyType.startsWith('RSA-') === (RSAVersion === none)) return false;
  // Only a first signature certifies.
  return document !== signedTwice || certification === undefined || certification === 'approval';
}

/** Every signature that differs in what PDF adds; the other options stand together with each of these in every pair. */
export function everyCombination(): PadesCombination[] {
  const own = ['format', 'level', 'keyType', 'certification', 'appearance', 'document'] as const;
  return coveringArray(factors, { fits, sets: [own, ...everySet(factors, 2)], tries: 1 });
}

/** Fewer, in which every pair of options stands that can, but those of a document and signed properties, which are many and have nothing in common. */
export function everyPair(): PadesCombination[] {
  const sets = everySet(factors, 2).filter((set) => !(set.includes('document') && set.includes('signedProperties')));
  return coveringArray(factors, { fits, sets });
}

/** The validator that is known to refuse the signature wrongly: pyHanko does not know revision 5 of the security handler, which Acrobat 9 used. */
export function knownRefusal({ document }: PadesCombination): 'pyhanko' | undefined {
  return document === 'R5' ? 'pyhanko' : undefined;
}

export function nameOf(combination: PadesCombination): string {
  return Object.values(combination)
    .filter((option) => option !== none)
    .join('_')
    .replaceAll('/', '');
}

const visibleSignature = {
  ...{ paging: 'FIRST_PAGE', absolute: true, x: 40, y: 40, width: 220, height: 80 },
  ...{ renderLabelVisible: true, renderReasonVisible: true, renderName: true },
};

/** `parameters` of `sign`. */
export function parametersOf(combination: PadesCombination): object {
  const { format, level, digestAlgorithm, RSAVersion, certification, appearance } = combination;
  const signedProperties = coveringProperties[combination.signedProperties];
  return {
    XP7Signature: {
      XP7Format: 'PXP_7',
      digestAlgorithm,
      ...(RSAVersion === none ? {} : { RSAVersion }),
      ...(signedProperties === undefined ? {} : { signedProperties }),
      ...levelFields(level),
      XP7Providers: {
        PXP7Parameters: {
          signatureFormat: format,
          ...(certification === 'approval' ? {} : { docMDPLevel: certification }),
          ...(appearance === 'visible' ? { visibleSignature } : {}),
        },
      },
    },
  };
}
