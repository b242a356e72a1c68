import type { FileBytes } from './file-bytes.ts';
import { decoded } from './filters.ts';
import { bodyOf } from './indirect-object.ts';
import { PdfReference, PdfStream, type PdfDictionary, type PdfObject } from './objects.ts';
import { PdfFault } from './pdf-fault.ts';
import { streamBytes } from './stream-bytes.ts';

/**
 * Reads the cross-reference stream at an offset (ISO 32000-2, 7.5.8), which is never encrypted.
 * @throws {PdfFault} if there is none, or it becomes larger than `maxBytes`
 */
export function crossReferenceStream(
  bytes: FileBytes,
  at: number,
  maxBytes: number,
): { readonly dictionary: PdfDictionary; readonly content: Uint8Array } {
  const stream = bytes.parse(at, (parser) => {
    parser.skipSpace();
    const number = parser.takeInteger();
    parser.skipSpace();
    const generation = parser.takeInteger();
    parser.skipSpace();
    if (number === undefined || generation === undefined || !parser.takes('obj'))
      throw new PdfFault('there is no cross-reference where one should be', at);
    return bodyOf(parser, new PdfReference(number, generation));
  });
  if (!(stream instanceof PdfStream)) throw new PdfFault('there is no cross-reference where one should be', at);
  const { dictionary, encoded } = stream;
  const length = dictionary.get('Length');
  // Without a cross-reference, no reference leads anywhere (7.5.8.2).
  if (encoded instanceof Uint8Array || length instanceof PdfReference)
    throw new PdfFault('a cross-reference stream has no length of its own', at);
  const encodedBytes = streamBytes(bytes, { dictionary, encoded, length }, maxBytes);
  const direct = (object: PdfObject): PdfObject => {
    if (object instanceof PdfReference) throw new PdfFault('the dictionary of a cross-reference stream has references for its filter', at);
    return object;
  };
  return { dictionary, content: decoded(encodedBytes, dictionary, direct, maxBytes, bytes.work) };
}
