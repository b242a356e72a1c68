import { hashBytes, type HashName } from '../../token/signature-algorithm.ts';

/** Returns why a digest cannot be one of this hash; undefined if its length is right. */
export function digestLengthFault(hash: HashName, value: Uint8Array): string | undefined {
  const bytes = hashBytes[hash];
  if (value.length === bytes) return undefined;
  const text = Buffer.from(value).toString('base64');
  // Hexadecimal digits are base64 too, for more bytes.
  const isHexadecimal = text.length === 2 * bytes && /^[0-9a-f]+$/i.test(text);
  return `a ${hash} digest has ${bytes} bytes${isHexadecimal ? '; this one is written in hexadecimal, and must be base64' : ''}`;
}
