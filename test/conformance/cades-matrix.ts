import { coveringArray, everySet, type Row } from './covering-array.ts';
import { coveringProperties } from './covering-properties.ts';
import { levelFields, levels } from './levels.ts';

/** What CAdES signatures differ in. RSAVersion counts for RSA keys alone. */
export const factors = {
  content: ['detached', 'attached'],
  level: levels,
  keyType: ['RSA-2048', 'RSA-4096', 'P-256', 'P-384', 'P-521'],
  digestAlgorithm: ['SHA_256', 'SHA_384', 'SHA_512'],
  RSAVersion: ['PKCS_1_1_5', 'PKCS_1_2_1', 'ECDSA'],
  properties: ['none', ...Object.keys(coveringProperties)],
} as const;

export type CadesCombination = Row<typeof factors>;

function fits({ keyType, RSAVersion }: Partial<CadesCombination>): boolean {
  return keyType === undefined || RSAVersion === undefined || keyType.startsWith('RSA-') === (RSAVersion !== 'ECDSA');
}

/** Every signature that can be asked for. */
export function everyCombination(): CadesCombination[] {
  return coveringArray(factors, { fits, sets: everySet(factors, Object.keys(factors).length), tries: 1 });
}

/** Fewer, in which every pair of options stands that can. */
export function everyPair(): CadesCombination[] {
  return coveringArray(factors, { fits, sets: everySet(factors, 2) });
}

export function nameOf({ level, content, keyType, digestAlgorithm, RSAVersion, properties }: CadesCombination): string {
  return [level, content, keyType, digestAlgorithm, RSAVersion, properties].join('-');
}

/** `parameters` of `sign`. */
export function parametersOf({ content, level, digestAlgorithm, RSAVersion, properties }: CadesCombination): object {
  const signedProperties = coveringProperties[properties];
  return {
    XP7Signature: {
      XP7Format: 'CXP_7',
      digestAlgorithm,
      ...(RSAVersion === 'ECDSA' ? {} : { RSAVersion }),
      ...(signedProperties === undefined ? {} : { signedProperties }),
      ...levelFields(level),
      XP7Providers: { CXP7Parameters: { detached: content === 'detached' } },
    },
  };
}
