import { SignatureBroken } from '../../../cms/verify-signer-info.ts';
import { isRegular, isSpace } from '../../../pdf/characters.ts';
import type { PdfFile } from '../../../pdf/pdf-file.ts';

const pieceBytes = 64 * 1024;
/** Before the keyword: number, generation, and white space. */
const headMaxBytes = 256;

/**
 * Checks that each beginning of an object behind an offset is that of one which the cross-reference
 * names there or behind it. Readers that miss an object of the file search all of it for objects,
 * in streams, too, and take the last one of each number, whatever the cross-reference says
 * (incremental saving attack, Mladenov et al. 2019).
 * @throws {SignatureBroken}
 */
export function checkObjectHeaders(file: PdfFile, start: number): void {
  for (let at = start; at < file.bytes.length; at += pieceBytes) {
    // Pieces overlap, so that each keyword is in one with what is around it.
    const from = Math.max(start, at - headMaxBytes);
    const piece = file.bytes.at(from, at - from + pieceBytes + 4);
    for (let keyword = piece.indexOf('obj', at - from); keyword >= 0; keyword = piece.indexOf('obj', keyword + 3)) {
      if (isRegular(piece[keyword + 3])) continue;
      const head = headBefore(piece, keyword);
      if (head === undefined) continue;
      const offset = from + head.start;
      if (!isNamed(file, head.number, offset))
        throw new SignatureBroken(`are followed by an object ${head.number} that the cross-reference does not name (offset ${offset})`);
    }
  }
}

/**
 * Returns the number that stands before a keyword, and where it begins; undefined if there are not
 * two numbers.
 * @throws {SignatureBroken} if they take more bytes than any reader needs
 */
function headBefore(piece: Buffer, keyword: number): { readonly start: number; readonly number: number } | undefined {
  const first = Math.max(0, keyword - headMaxBytes);
  let [start, end] = [keyword, keyword];
  for (const [part, isOfPart] of [isSpace, isDigit, isSpace, isDigit].entries()) {
    end = start;
    while (start > first && isOfPart(piece[start - 1])) start -= 1;
    if (keyword - start === headMaxBytes) throw new SignatureBroken('are followed by an object whose beginning cannot be read');
    // Some readers need no white space before the keyword.
    if (start === end && part > 0) return undefined;
  }
  return { start, number: Number(piece.toString('latin1', start, end)) };
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function isNamed(file: PdfFile, number: number, offset: number): boolean {
  const { crossReference, base } = file;
  const entry = crossReference.entry(number);
  // The stream of a cross-reference need not have an entry.
  if (entry.kind === 'FREE') return crossReference.sections.some((section) => isAt(file, section.offset + base, offset));
  const place = entry.kind === 'FILE' ? entry : crossReference.entry(entry.stream);
  return place.kind === 'FILE' && (place.offset + base >= offset || isAt(file, place.offset + base, offset));
}

/** Checks whether nothing but white space stands between an entry's offset and the number. */
function isAt({ bytes }: PdfFile, from: number, offset: number): boolean {
  if (from > offset || offset - from > headMaxBytes) return false;
  return /^[\0\t\n\f\r ]*$/.test(bytes.at(from, offset - from).toString('latin1'));
}
