import type { FileBytes } from './file-bytes.ts';
import { isInteger, type PdfDictionary, type PdfObject, type StreamPlace } from './objects.ts';
import { PdfFault } from './pdf-fault.ts';

/** A stream whose bytes are in the file. */
interface PlacedStream {
  readonly dictionary: PdfDictionary;
  readonly encoded: StreamPlace;
  /** Its Length, with references followed. */
  readonly length: PdfObject;
}

/**
 * Returns the bytes of a stream as they stand in the file (ISO 32000-2, 7.3.8).
 * @throws {PdfFault} if they do not end where their length says, or there are far more than
 * `maxBytes`
 */
export function streamBytes(bytes: FileBytes, { dictionary, encoded, length }: PlacedStream, maxBytes: number): Uint8Array {
  const { offset, reference } = encoded;
  if (dictionary.has('F')) throw new PdfFault(`the stream ${reference.number} is in another file`, offset);
  if (!isInteger(length) || length < 0 || offset + length > bytes.length)
    throw new PdfFault(`the stream ${reference.number} has no length, or a wrong one`, offset);
  // No filter makes its data more than some thousandths larger than the content.
  if (length > maxBytes * 2 + 1024) throw new PdfFault(`the stream ${reference.number} has more than ${maxBytes * 2} bytes`, offset);
  const end = bytes.at(offset + length, 32).toString('latin1');
  if (!/^[\0\t\n\f\r ]*endstream(?![^\0\t\n\f\r %])/.test(end))
    throw new PdfFault(`the stream ${reference.number} does not end where its length says`, offset + length);
  return bytes.at(offset, length);
}
