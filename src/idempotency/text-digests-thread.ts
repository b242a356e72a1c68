/** Runs in a work thread. */
import { createHash } from 'node:crypto';
import type { LongText } from '../documents/long-text.ts';

/** A multiple of three: a slice's base64 is a slice of the whole. */
const sliceBytes = 3 << 18;

export interface DigestTask {
  readonly texts: readonly Pick<LongText, 'kind' | 'bytes'>[];
}

/** SHA-512 of the UTF-8 of each text. */
export function digestsOfTexts({ texts }: DigestTask): readonly Uint8Array[] {
  return texts.map(({ kind, bytes }) => {
    const hash = createHash('sha512');
    if (kind === 'text') return Uint8Array.from(hash.update(bytes).digest());
    for (let start = 0; start < bytes.length; start += sliceBytes) {
      const length = Math.min(sliceBytes, bytes.length - start);
      hash.update(Buffer.from(bytes.buffer, bytes.byteOffset + start, length).toString('base64'), 'latin1');
    }
    return Uint8Array.from(hash.digest());
  });
}
