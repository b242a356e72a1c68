import { SignatureBroken } from '../../../cms/verify-signer-info.ts';
import { isRegular } from '../../../pdf/characters.ts';
import type { PdfFile } from '../../../pdf/pdf-file.ts';

const pieceBytes = 64 * 1024;
/** Before the keyword: number, generation, and white space. */
const headMaxBytes = 256;
const head = /(\d+)[\0\t\n\f\r ]+\d+[\0\t\n\f\r ]+$/;
const nothingElse = /^[\d\0\t\n\f\r ]+$/;

/**
 * Checks that each beginning of an object behind an offset is that of one which the cross-reference
 * names there or behind it. Readers that miss an object of the file search all of it for objects, in
 * streams, too, and take the last one of each number, whatever the cross-reference says (incremental
 * saving attack, Mladenov et al. 2019).
 * @throws {SignatureBroken}
 */
export function checkObjectHeaders(file: PdfFile, start: number): void {
  for (let at = start; at < file.bytes.length; at += pieceBytes) {
    // Pieces overlap, so that each keyword is in one with what is around it.
    const from = Math.max(start, at - headMaxBytes);
    const piece = file.bytes.at(from, at - from + pieceBytes + 4);
    file.bytes.work.parsed(0);
    for (let keyword = piece.indexOf('obj', at - from); keyword >= 0; keyword = piece.indexOf('obj', keyword + 3)) {
      if (isRegular(piece[keyword + 3])) continue;
      const before = piece.toString('latin1', Math.max(0, keyword - headMaxBytes), keyword);
      const found = head.exec(before);
      const [text, digits] = found ?? [];
      const isCut = before.length === headMaxBytes && (found?.index ?? 0) === 0 && nothingElse.test(before);
      if (isCut) throw new SignatureBroken('are followed by an object of which the beginning cannot be read');
      if (text === undefined || digits === undefined) continue;
      const offset = from + keyword - text.length;
      if (!isNamed(file, Number(digits), offset))
        throw new SignatureBroken(`are followed by an object ${digits} that the cross-reference does not name (offset ${offset})`);
    }
  }
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
