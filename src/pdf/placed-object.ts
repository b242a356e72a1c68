import { bodyOf, headOf } from './indirect-object.ts';
import type { ObjectParser } from './object-parser.ts';
import { isInteger, isName, PdfDictionary, type PdfReference, PdfStream, type PdfObject } from './objects.ts';
import { PdfFault } from './pdf-fault.ts';
import type { PdfFile } from './pdf-file.ts';

/** An indirect object as it stands in the file itself, not in an object stream. */
export interface PlacedObject {
  readonly object: PdfObject;
  /** Offset of its number. */
  readonly start: number;
  /** Offset behind `endobj`: the last one that a reader may take for it. */
  readonly end: number;
  /**
   * False for a stream that does not end where its length says: some readers then look for its end
   * from its beginning on, others from where it should end.
   */
  readonly hasLength: boolean;
}

const space = '[\\0\\t\\n\\f\\r ]';
const endOfStream = new RegExp(`^${space}*endstream${space}*endobj`);
const anyEndOfStream = new RegExp(`endstream${space}*endobj`);
/** Of `endstream`, `endobj`, and white space around them. */
const endMaxBytes = 128;
const searchedPieceBytes = 64 * 1024;

/**
 * Reads where an object of the file itself begins and ends. It is not kept.
 * @throws {PdfFault} if it is not there, or not sound
 */
export function placedObject(file: PdfFile, reference: PdfReference, offset: number): PlacedObject {
  const start = offset + file.base;
  const { object, end } = file.bytes.parse(start, (parser) => {
    if (!headOf(parser, reference.number, reference.generation))
      throw new PdfFault(`object ${reference.number} is not where the cross-reference says`, start);
    return { object: bodyOf(parser, reference), end: parser.offset };
  });
  if (!(object instanceof PdfStream)) return { object, start, end, hasLength: true };
  const length = file.get(object.dictionary, 'Length');
  const dataEnd = isInteger(length) && length >= 0 ? end + length : undefined;
  const [ending] = dataEnd === undefined ? [] : (endOfStream.exec(file.bytes.at(dataEnd, endMaxBytes).toString('latin1')) ?? []);
  if (dataEnd !== undefined && ending !== undefined) return { object, start, end: dataEnd + ending.length, hasLength: true };
  return { object, start, end: foundEnd(file, Math.max(end, dataEnd ?? end)), hasLength: false };
}

/** Returns the next end of a stream from an offset on: that of the file, if there is none. */
function foundEnd({ bytes }: PdfFile, start: number): number {
  for (let at = start; at < bytes.length; at += searchedPieceBytes) {
    const piece = bytes.at(at, searchedPieceBytes + endMaxBytes).toString('latin1');
    bytes.work.parsed(piece.length);
    const found = anyEndOfStream.exec(piece);
    if (found !== null) return at + found.index + found[0].length;
  }
  return bytes.length;
}

/**
 * Returns where a value stands in the file that is reached through entries of direct dictionaries.
 * Undefined for an object of an object stream, and if there is no such value.
 * @throws {PdfFault}
 */
export function placeOfValue(
  file: PdfFile,
  reference: PdfReference,
  keys: readonly string[],
): { readonly start: number; readonly end: number } | undefined {
  const entry = file.crossReference.entry(reference.number);
  let value = entry.kind === 'FILE' ? file.object(reference) : null;
  for (const key of keys) value = value instanceof PdfDictionary ? value.get(key) : null;
  if (entry.kind !== 'FILE' || value === null) return undefined;
  return file.bytes.parse(entry.offset + file.base, (parser) => {
    headOf(parser, reference.number, reference.generation);
    for (const key of keys) skipToValue(parser, key);
    parser.skipSpace();
    const start = parser.offset;
    parser.object();
    return { start, end: parser.offset };
  });
}

/** Moves from the beginning of a dictionary to the value of a key that it has. */
function skipToValue(parser: ObjectParser, key: string): void {
  parser.skipSpace();
  if (!parser.takes('<<')) throw parser.fault('there is no dictionary here');
  for (;;) {
    const name = parser.object();
    if (isName(name, key)) return;
    parser.object();
  }
}
