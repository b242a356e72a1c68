import type { KeyObject } from 'node:crypto';

/**
 * What existing signatures of a document must have, and what is accepted but said. Hashes that are
 * shorter or older than SHA-1 are not read at all, nor are curves below 224 bits (`keyFault`).
 */
const modulusBits = { min: 1024, usual: 2048 } as const;

/**
 * Returns why a signer's key is too weak to say anything, as the end of a sentence: keys of 829 bits
 * were factored in 2020, and shorter ones at home. Undefined if it is not.
 */
export function strengthFault({ asymmetricKeyDetails }: KeyObject): string | undefined {
  const bits = asymmetricKeyDetails?.modulusLength ?? Infinity;
  return bits < modulusBits.min ? `is by a key of ${bits} bits, fewer than ${modulusBits.min}` : undefined;
}

/**
 * Returns what is obsolete in a signature that holds (ETSI TS 119 312), as the end of a sentence:
 * SHA-1 among the hashes that it depends on, and a key of fewer than 2048 bits. Undefined if
 * nothing is.
 */
export function obsoleteIn({ asymmetricKeyDetails }: KeyObject, hashes: readonly string[]): string | undefined {
  const bits = asymmetricKeyDetails?.modulusLength ?? Infinity;
  const found = [...(hashes.includes('sha1') ? ['SHA-1'] : []), ...(bits < modulusBits.usual ? [`a key of ${bits} bits`] : [])];
  return found.length === 0 ? undefined : `uses ${found.join(' and ')}`;
}
