import type { CrossReferenceEntry, Subsection } from './cross-reference-section.ts';
import { isRegular, isSpace } from './characters.ts';
import type { FileBytes } from './file-bytes.ts';
import { PdfFault } from './pdf-fault.ts';

/** ISO 32000-1, annex C, has 8,388,607; more occur. */
export const objectNumberMax = 100_000_000;
/** Generations that a reference can have (ISO 32000-2, 7.5.4). */
export const generationMax = 65_535;

const entryBytes = 20;
const subsectionHeader = /^[\0\t\n\f\r ]*(\d{1,10}) +(\d{1,10})[ \t]*(?:\r\n|\r|\n)/;

/**
 * Reads where the entries of a table are (ISO 32000-2, 7.5.4). Returns the offset of what follows
 * it. `subsectionsMax`: how many there may be.
 */
export function readTable(
  file: FileBytes,
  start: number,
  subsectionsMax: number,
): { readonly subsections: readonly Subsection[]; readonly end: number } {
  const subsections: Subsection[] = [];
  for (let at = start; ;) {
    const match = subsectionHeader.exec(file.at(at, 64).toString('latin1'));
    if (match === null) return { subsections, end: at };
    const [header, first, count] = [match[0].length, Number(match[1]), Number(match[2])];
    if (first + count > objectNumberMax) throw new PdfFault('a cross-reference table has numbers that are too large', at);
    file.work.parsed(header);
    if (subsections.length === subsectionsMax) throw new PdfFault('the cross-reference has too many subsections', at);
    const entriesAt = at + header;
    if (entriesAt + count * (entryBytes - 1) > file.length) throw new PdfFault('a cross-reference table ends too early', at);
    const width = count === 0 ? entryBytes : widthOfEntries(file, entriesAt, count);
    subsections.push({ first, count, entry: (index) => tableEntry(file, entriesAt + index * width, width) });
    at = entriesAt + count * width;
  }
}

/**
 * Entries have 20 bytes (7.5.4); those of some producers have 19, with one character for the end of
 * a line.
 */
function widthOfEntries(file: FileBytes, at: number, count: number): number {
  const [, lineEnd = ''] = /^\d{10} \d{5} [nf]([ \r\n]+)/.exec(file.at(at, entryBytes).toString('latin1')) ?? [];
  const fits = (width: number): boolean => {
    const last = file.at(at + (count - 1) * width, width).toString('latin1');
    const next = file.at(at + count * width, 1)[0];
    return entryPattern(width).test(last) && (isRegular(next) || isSpace(next));
  };
  if (lineEnd.length >= 2 && fits(entryBytes)) return entryBytes;
  if (lineEnd.length >= 1 && fits(entryBytes - 1)) return entryBytes - 1;
  throw new PdfFault('an entry of a cross-reference table is malformed', at);
}

const entryPatterns = { long: /^(\d{10}) (\d{5}) ([nf])[ \r\n]{2}$/, short: /^(\d{10}) (\d{5}) ([nf])[\r\n]$/ };

function entryPattern(width: number): RegExp {
  return width === entryBytes ? entryPatterns.long : entryPatterns.short;
}

function tableEntry(file: FileBytes, at: number, width: number): CrossReferenceEntry {
  const [, offset, generation, kind] = entryPattern(width).exec(file.at(at, width).toString('latin1')) ?? [];
  if (kind === undefined) throw new PdfFault('an entry of a cross-reference table is malformed', at);
  if (kind === 'f') return { kind: 'FREE', next: Number(offset), generation: Number(generation) };
  return inFile(Number(offset), Number(generation), at);
}

/**
 * `at`: of the entry, for the message.
 * @throws {PdfFault} for a generation that no object can have
 */
export function inFile(offset: number, generation: number, at: number): CrossReferenceEntry {
  if (generation > generationMax) throw new PdfFault('an entry of the cross-reference has a generation that is too large', at);
  return { kind: 'FILE', offset, generation };
}
