import { ObjectParser } from './object-parser.ts';
import { isInteger, type PdfObject } from './objects.ts';
import { PdfFault } from './pdf-fault.ts';

const objectsInStreamMax = 1_000_000;

/** An object stream (ISO 32000-2, 7.5.7) without its filters. */
export interface ObjectStream {
  readonly bytes: Buffer;
  /** Of the objects by their numbers. */
  readonly places: ReadonlyMap<number, { readonly index: number; readonly offset: number }>;
}

/**
 * Reads where the objects of an object stream are. `value`: of its dictionary, with references
 * followed.
 * @throws {PdfFault}
 */
export function objectStreamOf(content: Uint8Array, value: (key: string) => PdfObject): ObjectStream {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.length);
  const first = value('First');
  const count = value('N');
  if (!isInteger(first) || !isInteger(count) || first < 0 || count < 0 || first > bytes.length || count > objectsInStreamMax)
    throw new PdfFault('an object stream is malformed');
  const parser = new ObjectParser({ bytes: bytes.subarray(0, first), offset: 0, isLast: true });
  const places = new Map<number, { readonly index: number; readonly offset: number }>();
  for (let index = 0; index < count; index += 1) {
    parser.skipSpace();
    const number = parser.takeInteger();
    parser.skipSpace();
    const offset = parser.takeInteger();
    if (number === undefined || offset === undefined) throw new PdfFault('an object stream is malformed');
    if (places.has(number)) throw new PdfFault(`object ${number} is in an object stream twice`);
    places.set(number, { index, offset: first + offset });
  }
  return { bytes, places };
}
