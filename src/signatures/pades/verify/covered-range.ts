import { SignatureBroken } from '../../../cms/verify-signer-info.ts';
import { PdfReference } from '../../../pdf/objects.ts';
import type { PdfFile } from '../../../pdf/pdf-file.ts';
import { PdfFault } from '../../../pdf/pdf-fault.ts';
import { placedObject, placeOfValue, type PlacedObject } from '../../../pdf/placed-object.ts';
import { byteRangeOf } from '../signed-fields.ts';
import type { EarlierSignature } from './signatures-of.ts';

/**
 * Bytes that a signature covers: those before its hole, and those behind it. Offsets in the file.
 */
export interface CoveredRange {
  /** Number of the object in which the hole is. */
  readonly holder: number;
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
  return { holder: place.holder, start, end, stop };
}

function placeOfContents(
  file: PdfFile,
  { value, field }: EarlierSignature,
): { readonly holder: number; readonly start: number; readonly end: number } | undefined {
  const isIndirect = value instanceof PdfReference;
  const holder = isIndirect ? value : field?.reference;
  const place = holder === undefined ? undefined : placeOfValue(file, holder, isIndirect ? ['Contents'] : ['V', 'Contents']);
  return holder === undefined || place === undefined ? undefined : { holder: holder.number, ...place };
}

/**
 * Checks that an object does not reach into a hole other than its own. What is in a hole can change
 * and the signature still holds: the case of hexadecimal digits, or attributes that are not signed.
 * A stream whose length was beyond the end of the file reaches into it once the file is signed.
 * @throws {SignatureBroken}
 */
export function checkOutside({ start, end }: PlacedObject, number: number, holes: readonly CoveredRange[]): void {
  if (holes.some((hole) => hole.holder !== number && start < hole.end && hole.start < end))
    throw new SignatureBroken(`cannot be verified, since object ${number} reaches into the value of one`);
}

/**
 * Checks all objects of a file that can be read, as `checkOutside` does.
 * @throws {SignatureBroken}
 */
export function checkHoles(file: PdfFile, holes: readonly CoveredRange[]): void {
  for (const [number, entry] of file.crossReference.inUse(file.bytes.work)) {
    if (entry.kind === 'STREAM' || entry.offset === 0) continue;
    const place = placedIfReadable(file, new PdfReference(number, entry.generation), entry.offset);
    if (place !== undefined) checkOutside(place, number, holes);
  }
}

function placedIfReadable(file: PdfFile, reference: PdfReference, offset: number): PlacedObject | undefined {
  try {
    return placedObject(file, reference, offset);
  } catch (error) {
    if (!(error instanceof PdfFault)) throw error;
    // Throws again if the limit of work is the reason.
    file.bytes.work.parsed(0);
    return undefined;
  }
}

/**
 * A hexadecimal string without white space: everything in it is the signature. It is a string that
 * was read, so that it ends as it begins.
 */
function checkHole(file: PdfFile, start: number, end: number): void {
  let isHexadecimal = file.bytes.at(start, 1)[0] === 0x3c;
  for (let at = start + 1; at < end - 1 && isHexadecimal; at += holePieceBytes) {
    const piece = file.bytes.at(at, Math.min(holePieceBytes, end - 1 - at)).toString('latin1');
    isHexadecimal = /^[0-9A-Fa-f]*$/.test(piece);
  }
  if (!isHexadecimal) throw new SignatureBroken('has contents that are no hexadecimal string');
}

function checkEnd(file: PdfFile, stop: number): void {
  if (!endsRevision(file, stop)) throw new SignatureBroken('does not cover the file up to the end of a revision');
}

/**
 * Checks whether a revision ends at an offset, where nothing but white space may follow `%%EOF`.
 */
export function endsRevision({ bytes }: PdfFile, offset: number): boolean {
  const from = Math.max(0, offset - endBytes);
  return /startxref[\0\t\n\f\r ]+\d{1,15}[\0\t\n\f\r ]+%%EOF[\0\t\n\f\r ]*$/.test(bytes.at(from, offset - from).toString('latin1'));
}
