import { createHash } from 'node:crypto';
import { contentBytes, contentPieces, type Content } from '../../documents/content.ts';
import { PdfHole } from '../../pdf/objects.ts';
import type { WrittenRevision } from '../../pdf/revision.ts';
import type { HashName } from '../../token/signature-algorithm.ts';

/** Offsets and lengths of the two parts of a file that a signature covers (ISO 32000-2, 12.8.1). */
export type ByteRange = readonly [start: 0, length: number, start2: number, length2: number];

/** Digits of an offset, for files up to 10 GB. */
const offsetDigits = 10;

/** The holes of a signature dictionary: for Contents, and for ByteRange. */
export class SignatureRoom {
  readonly contents: PdfHole;
  readonly byteRange = new PdfHole(`[0 ${Array<string>(3).fill('0'.repeat(offsetDigits)).join(' ')}]`);

  /** `bytes`: of the encoded signature at most. */
  constructor(bytes: number) {
    this.contents = new PdfHole(`<${'00'.repeat(bytes)}>`);
  }

  /**
   * Puts the byte range of a signature into the revision that has its dictionary, which ends its
   * file.
   */
  placed({ bytes, holes }: WrittenRevision, bytesBefore: number): { readonly revision: Uint8Array; readonly byteRange: ByteRange } {
    const start = holes.get(this.contents);
    const rangeAt = holes.get(this.byteRange);
    if (start === undefined || rangeAt === undefined) throw new Error('the revision has no room for the signature');
    const end = start + this.contents.filler.length;
    const byteRange: ByteRange = [0, start, end, bytesBefore + bytes.length - end];
    const [, ...rest] = byteRange;
    const text = `[0 ${rest.map((one) => String(one).padEnd(offsetDigits)).join(' ')}]`;
    const revision = Buffer.from(bytes);
    revision.write(text, rangeAt - bytesBefore, 'latin1');
    return { revision, byteRange };
  }
}

/** Returns the revision with the signature in its room. @throws {RangeError} if it is too large */
export function withContents(revision: Uint8Array, byteRange: ByteRange, bytesBefore: number, encoded: Uint8Array): Uint8Array {
  const [, start, end] = byteRange;
  if (encoded.length * 2 > end - start - 2) throw new RangeError(`a signature of ${encoded.length} bytes has no room`);
  const filled = Buffer.from(revision);
  filled.write(Buffer.from(encoded).toString('hex'), start + 1 - bytesBefore, 'latin1');
  return filled;
}

export interface CoveredDigests {
  readonly value: Uint8Array;
  /** Digest of the content alone. */
  readonly ofContent: Uint8Array;
}

/**
 * Hashes what a signature covers: content, and what is appended to it, which has the hole.
 * @throws {Fault} CONTENT_CHANGED
 */
export function coveredDigests(
  hash: HashName,
  content: Content,
  appended: readonly Uint8Array[],
  [, start, end]: ByteRange,
): CoveredDigests {
  const digest = createHash(hash);
  for (const piece of contentPieces(content)) digest.update(piece);
  const ofContent = digest.copy().digest();
  let before = contentBytes(content);
  for (const bytes of appended) {
    const [from, to] = [Math.max(0, Math.min(bytes.length, start - before)), Math.max(0, Math.min(bytes.length, end - before))];
    digest.update(bytes.subarray(0, from)).update(bytes.subarray(to));
    before += bytes.length;
  }
  return { value: digest.digest(), ofContent };
}
