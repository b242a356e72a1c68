import { isArray, isName, PdfDictionary, PdfName, PdfReference, PdfStream, PdfString, type PdfObject } from '../../../pdf/objects.ts';
import { PdfFault } from '../../../pdf/pdf-fault.ts';
import type { PdfFile } from '../../../pdf/pdf-file.ts';
import { textOf } from '../../../pdf/text-string.ts';

/** Size of a stream that was written again, without its filters. */
const streamMaxBytes = 64 * 1024 * 1024;

/**
 * Compares two values as they stand; references are the same if they name the same object. Streams
 * never are.
 */
export function sameObjects(one: PdfObject, other: PdfObject): boolean {
  if (one === other) return true;
  if (one instanceof PdfReference) return one.equals(other);
  if (one instanceof PdfName) return other instanceof PdfName && one.text === other.text;
  if (one instanceof PdfString) return other instanceof PdfString && Buffer.compare(one.bytes, other.bytes) === 0;
  if (isArray(one)) return isArray(other) && one.length === other.length && one.every((part, at) => sameObjects(part, other[at] ?? null));
  return one instanceof PdfDictionary && other instanceof PdfDictionary && changedKeys(one, other).length === 0;
}

/** Entries of numbers that need not be integers, so that all readers take 1.0 for 1. */
const numberEntries: ReadonlySet<string> = new Set([
  ...['UserUnit', 'Dur', 'CA', 'ca', 'LW', 'ML', 'FL', 'SM', 'W', 'DW', 'Gamma', 'ItalicAngle', 'Ascent', 'Descent', 'Leading'],
  ...['CapHeight', 'XHeight', 'StemV', 'StemH', 'AvgWidth', 'MaxWidth', 'MissingWidth'],
]);

/**
 * Entries of texts of fields and of their widgets (12.7.4, 12.7.5, 12.5.6.19). Producers that write a
 * field again also write its texts again, in another encoding.
 */
const textEntries: ReadonlySet<string> = new Set(['T', 'TU', 'TM', 'V', 'DV', 'Opt', 'CA', 'RC', 'AC']);

/**
 * Returns the keys of which two dictionaries have different values, or values that readers may take
 * for such.
 */
export function changedKeys(one: PdfDictionary, other: PdfDictionary): readonly string[] {
  const keys = new Set([...one.keys(), ...other.keys()]);
  const isAlike = (key: string): boolean => one.pointed.has(key) === other.pointed.has(key) || numberEntries.has(key);
  const isSame = (key: string, was: PdfObject, is: PdfObject): boolean =>
    sameObjects(was, is) || (textEntries.has(key) && sameTexts(was, is));
  return Array.from(keys).filter((key) => !isSame(key, one.get(key), other.get(key)) || !isAlike(key));
}

/** Compares texts, or lists of them, that are in PDFDocEncoding or UTF-16. */
function sameTexts(one: PdfObject, other: PdfObject): boolean {
  if (isArray(one)) return isArray(other) && one.length === other.length && one.every((part, at) => sameTexts(part, other[at] ?? null));
  const text = plainText(one);
  return text !== undefined && text === plainText(other);
}

/**
 * Returns a text that all readers take for the same in both encodings: of the characters that
 * PDFDocEncoding shares with Latin-1 (annex D.3).
 */
function plainText(object: PdfObject): string | undefined {
  if (!(object instanceof PdfString)) return undefined;
  const { bytes } = object;
  const [first, second, third] = bytes;
  const isWide = first === 0xfe && second === 0xff;
  // Not all readers know UTF-8, the other order of bytes, and languages within a text.
  const isOther = (first === 0xff && second === 0xfe) || (first === 0xef && second === 0xbb && third === 0xbf) || bytes.includes(0x1b);
  if (isOther || (isWide && bytes.length % 2 === 1)) return undefined;
  const text = textOf(object) ?? '';
  return /^[\t\n\r -~\u00a1-\u00ff]*$/.test(text) ? text : undefined;
}

/** Compares an indirect object in two states of a file, streams with their content. */
export function sameIndirect(before: PdfFile, one: PdfObject, after: PdfFile, other: PdfObject): boolean {
  // Of a number by itself, it is not known what it is for, and whether all readers take it for the
  // same.
  if (typeof one === 'number') return false;
  if (!(one instanceof PdfStream) || !(other instanceof PdfStream)) return sameObjects(one, other);
  const keys = changedKeys(one.dictionary, other.dictionary);
  try {
    if (keys.some((key) => key !== 'Length' && key !== 'Filter' && key !== 'DecodeParms')) return false;
    if (one.dictionary.pointed.has('Length') !== other.dictionary.pointed.has('Length')) return false;
    // Filters of pictures are not understood. What is encrypted depends on its number and
    // generation.
    if (keys.length === 0 && before.security === undefined && after.security === undefined) {
      const [raw, otherRaw] = [before.encodedBytes(one, streamMaxBytes), after.encodedBytes(other, streamMaxBytes)];
      if (Buffer.compare(raw, otherRaw) === 0) return true;
    }
    if (!isPlain(before, one) || !isPlain(after, other)) return false;
    return Buffer.compare(before.content(one, streamMaxBytes), after.content(other, streamMaxBytes)) === 0;
  } catch (error) {
    // Whether such a stream is the same is not known.
    if (error instanceof PdfFault) return false;
    throw error;
  }
}

/** Checks whether all readers decode a stream alike: it has no filter, or Flate alone. */
function isPlain(file: PdfFile, { dictionary }: PdfStream): boolean {
  const filter = file.get(dictionary, 'Filter');
  return (filter === null || isName(filter, 'FlateDecode')) && file.get(dictionary, 'DecodeParms') === null;
}

/** A reference that stands in an object. */
export interface FoundReference {
  /**
   * Keys of the dictionaries that lead to it, and `*` for the elements of arrays, joined by
   * slashes.
   */
  readonly path: string;
  readonly target: PdfReference;
}

/** Yields the references that stand in an object. */
export function* referencesIn(object: PdfObject, path = ''): Generator<FoundReference, void> {
  if (object instanceof PdfReference) yield { path, target: object };
  else if (isArray(object)) for (const one of object) yield* referencesIn(one, below(path, '*'));
  else if (object instanceof PdfDictionary) for (const [key, value] of object.entries()) yield* referencesIn(value, below(path, key));
  else if (object instanceof PdfStream) yield* referencesIn(object.dictionary, path);
}

/**
 * Checks whether a reference to one of these objects stands in an object: faster than looking at
 * each of them.
 */
export function refersTo(object: PdfObject, numbers: ReadonlySet<number>): boolean {
  if (object instanceof PdfReference) return numbers.has(object.number);
  if (object instanceof PdfStream) return refersTo(object.dictionary, numbers);
  const parts = object instanceof PdfDictionary ? object.values() : isArray(object) ? object : [];
  for (const one of parts) if (one !== null && typeof one === 'object' && refersTo(one, numbers)) return true;
  return false;
}

export function below(path: string, key: string): string {
  return path === '' ? key : `${path}/${key}`;
}
