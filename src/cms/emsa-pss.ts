import { createHash } from 'node:crypto';
import { hashBytes, type HashName } from '../token/signature-algorithm.ts';

/** EMSA-PSS-VERIFY (RFC 8017 §9.1.2) of an encoded message, for a digest that was made elsewhere. */
export function emsaPssHolds(
  digest: Uint8Array,
  encoded: Uint8Array,
  encodedBits: number,
  { hash, mgfHash, saltBytes }: { readonly hash: HashName; readonly mgfHash: HashName; readonly saltBytes: number },
): boolean {
  const length = Math.ceil(encodedBits / 8);
  const message = encoded.subarray(encoded.length - length);
  if (encoded.subarray(0, encoded.length - length).some((byte) => byte !== 0)) return false;
  const digestBytes = hashBytes[hash];
  if (message.length < digestBytes + saltBytes + 2 || message.at(-1) !== 0xbc) return false;
  const masked = message.subarray(0, length - digestBytes - 1);
  const h = message.subarray(length - digestBytes - 1, length - 1);
  const unusedBits = 8 * length - encodedBits;
  if (((masked[0] ?? 0) & (0xff << (8 - unusedBits)) & 0xff) !== 0) return false;
  const mask = mgf1(h, masked.length, mgfHash);
  const block = Uint8Array.from(masked, (byte, index) => byte ^ (mask[index] ?? 0));
  block[0] = (block[0] ?? 0) & (0xff >> unusedBits);
  const saltStart = block.length - saltBytes;
  if (block[saltStart - 1] !== 0x01 || block.subarray(0, saltStart - 1).some((byte) => byte !== 0)) return false;
  const expected = createHash(hash).update(Buffer.alloc(8)).update(digest).update(block.subarray(saltStart)).digest();
  return expected.equals(h);
}

/** MGF1 (RFC 8017 §B.2.1). */
function mgf1(seed: Uint8Array, length: number, hash: HashName): Buffer {
  const blocks: Buffer[] = [];
  for (let counter = 0; counter * hashBytes[hash] < length; counter += 1) {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter);
    blocks.push(createHash(hash).update(seed).update(count).digest());
  }
  return Buffer.concat(blocks).subarray(0, length);
}
