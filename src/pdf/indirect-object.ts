import type { ObjectParser } from './object-parser.ts';
import { PdfDictionary, type PdfReference, PdfStream, type PdfObject } from './objects.ts';

/** Reads `12 0 obj`. Returns false for another object. */
export function headOf(parser: ObjectParser, number: number, generation: number): boolean {
  parser.skipSpace();
  if (parser.takeInteger() !== number) return false;
  parser.skipSpace();
  if (parser.takeInteger() !== generation) return false;
  parser.skipSpace();
  return parser.takes('obj');
}

/** Reads what stands between `obj` and `endobj`. */
export function bodyOf(parser: ObjectParser, reference: PdfReference): PdfObject {
  const object = parser.object();
  parser.skipSpace();
  if (object instanceof PdfDictionary && parser.takesStream()) return new PdfStream(object, { offset: parser.offset, reference });
  if (!parser.takes('endobj')) throw parser.fault(`object ${reference.number} does not end with endobj`);
  return object;
}
