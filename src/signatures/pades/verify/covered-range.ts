import { SignatureBroken } from '../../../cms/verify-signer-info.ts';
import { PdfReference } from '../../../pdf/objects.ts';
import type { PdfFile } from '../../../pdf/pdf-file.ts';
import { placeOfValue } from '../../../pdf/placed-object.ts';
import { byteRangeOf } from '../signed-fields.ts';
import type { EarlierSignature } from './signatures-of.ts';

/** Bytes that a signature covers: those before its hole, and those behind it. Offsets in the file. */
export interface CoveredRange {
  /** Of the hole. */
  readonly start: number;
  /** Behind the hole. */
  readonly end: number;
  /** Behind the last byte that is covered, where the revision of the signature ends. */
  readonly stop: number;
}

/** Bytes in which a revision must end: startxref, an offset, and %%EOF. */
const endBytes = 1024;
const holePieceBytes = 64 * 1024;

/**
 * Returns what a signature covers (ISO 32000-2, 12.8.1): all of the file from its first byte to the
 * end of a revision, except for the value of the entry Contents, as it stands in the dictionary of
 * this very signature. A hole at another place, or a larger one, would have room for content of
 * which readers may show something (signature wrapping, Mladenov et al. 2019).
 * @throws {SignatureBroken} for another range
 */
export function coveredRange(file: PdfFile, signature: EarlierSignature): CoveredRange {
  const range = byteRangeOf(file, signature.dictionary);
  if (range === undefined) throw new SignatureBroken('has no byte range of numbers');
  const [first, start, end, length] = range;
  if (range.length !== 4 || start === undefined || end === undefined || length === undefined)
    throw new SignatureBroken(`has a byte range of ${range.length} numbers instead of four`);
  const stop = end + length;
  if (first !== 0) throw new SignatureBroken('does not cover the beginning of the file');
  if (stop > file.bytes.length) throw new SignatureBroken('has a byte range beyond the end of the file');
  const place = placeOfContents(file, signature);
  if (place === undefined) throw new SignatureBroken('has no contents in an object of the file itself');
  if (place.start !== start || place.end !== end)
    throw new SignatureBroken(
      `leaves out the bytes from ${start} to ${end}, but its contents are the bytes from ${place.start} to ${place.end}`,
    );
  checkHole(file, start, end);
  checkEnd(file, stop);
  return { start, end, stop };
}

function placeOfContents(file: PdfFile, { value, field }: EarlierSignature): ReturnType<typeof placeOfValue> {
  if (value instanceof PdfReference) return placeOfValue(file, value, ['Contents']);
  return field === undefined ? undefined : placeOfValue(file, field.reference, ['V', 'Contents']);
}

/** A hexadecimal string without white space: everything in it is the signature. */
function checkHole(file: PdfFile, start: number, end: number): void {
  let isHexadecimal = file.bytes.at(start, 1)[0] === 0x3c && file.bytes.at(end - 1, 1)[0] === 0x3e;
  for (let at = start + 1; at < end - 1 && isHexadecimal; at += holePieceBytes) {
    const piece = file.bytes.at(at, Math.min(holePieceBytes, end - 1 - at)).toString('latin1');
    isHexadecimal = /^[0-9A-Fa-f]*$/.test(piece);
  }
  if (!isHexadecimal) throw new SignatureBroken('has contents that are no hexadecimal string');
}

function checkEnd(file: PdfFile, stop: number): void {
  if (!endsRevision(file, stop)) throw new SignatureBroken('does not cover the file up to the end of a revision');
}

/** Checks whether a revision ends at an offset, where nothing but white space may follow `%%EOF`. */
export function endsRevision({ bytes }: PdfFile, offset: number): boolean {
  const from = Math.max(0, offset - endBytes);
  return /startxref[\0\t\n\f\r ]+\d{1,15}[\0\t\n\f\r ]+%%EOF[\0\t\n\f\r ]*$/.test(bytes.at(from, offset - from).toString('latin1'));
}
