import { ecdsaValueToDer } from '../asn1/ecdsa-value.ts';
import { children, DerError, readAll } from '../asn1/reader.ts';
import type { SignatureAlgorithm } from '../token/signature-algorithm.ts';

/**
 * Returns the value as CMS, PKCS #7 and raw signatures contain it (ECDSA: DER). `value`: as tokens
 * return it (ECDSA: r‖s).
 */
export function signatureValueOf({ scheme }: SignatureAlgorithm, value: Uint8Array): Uint8Array {
  return scheme === 'ECDSA' ? ecdsaValueToDer(value) : value;
}

/** Bytes of r, and of s. */
const coordinateBytes = new Map<string | undefined, number>([
  ['prime256v1', 32],
  ['secp384r1', 48],
  ['secp521r1', 66],
]);

/**
 * Returns the possible readings of a value made elsewhere, as r‖s of fixed width: it may be r‖s
 * itself or ECDSA-Sig-Value in DER. A few values are both; the list is empty if it is neither.
 */
export function possibleEcdsaValues(value: Uint8Array, namedCurve: string | undefined): Uint8Array[] {
  const width = coordinateBytes.get(namedCurve);
  if (width === undefined) return [];
  const fromDer = ecdsaValueOfDer(value, width);
  return [...(value.length === 2 * width ? [value] : []), ...(fromDer === undefined ? [] : [fromDer])];
}

function ecdsaValueOfDer(value: Uint8Array, width: number): Uint8Array | undefined {
  try {
    const outer = readAll(value);
    const numbers = outer.tag === 0x30 ? children(outer) : [];
    if (numbers.length !== 2 || numbers.some(({ tag }) => tag !== 0x02)) return undefined;
    const padded = numbers.map(({ content }) => unsigned(content, width));
    return padded.every((one) => one !== undefined) ? Buffer.concat(padded) : undefined;
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

/** Returns a minimally encoded, non-negative INTEGER as a number of fixed width. */
function unsigned(content: Uint8Array, width: number): Uint8Array | undefined {
  const [first = 0x80, second = 0] = content;
  if (first >= 0x80 || (first === 0 && content.length > 1 && second < 0x80)) return undefined;
  const bytes = first === 0 ? content.subarray(1) : content;
  return bytes.length > width ? undefined : Buffer.concat([Buffer.alloc(width - bytes.length), bytes]);
}
