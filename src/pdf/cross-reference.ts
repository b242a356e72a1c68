import { isRegular, isSpace } from './characters.ts';
import type { FileBytes } from './file-bytes.ts';
import { isArray, isInteger, isName, PdfDictionary, type PdfObject } from './objects.ts';
import { PdfFault } from './pdf-fault.ts';

/** Where an object is: in the file, in an object stream, or nowhere. */
export type CrossReferenceEntry =
  | { readonly kind: 'FREE'; readonly next: number; readonly generation: number }
  | { readonly kind: 'FILE'; readonly offset: number; readonly generation: number }
  | { readonly kind: 'STREAM'; readonly stream: number };

/** A range of objects of a section. */
interface Subsection {
  readonly first: number;
  readonly count: number;
  entry(index: number): CrossReferenceEntry;
}

/** A section of the cross-reference: what one revision changed. */
export interface CrossReferenceSection {
  readonly kind: 'TABLE' | 'STREAM';
  /** Offset in the file, as `startxref` counts it. */
  readonly offset: number;
  readonly trailer: PdfDictionary;
  readonly subsections: readonly Subsection[];
  /** The stream of a hybrid file with the objects that older readers do not see (ISO 32000-2, 7.5.8.4). */
  readonly hidden: readonly Subsection[];
}

/** Revisions of a file. */
const sectionsMax = 10_000;
const subsectionsMax = 1_000_000;
/** ISO 32000-1, annex C, has 8,388,607; more occur. */
export const objectNumberMax = 100_000_000;
/** Where the keyword `startxref` is looked for, from the end of the file. */
const tailBytes = 64 * 1024;

/** Reads the dictionary and the content of a cross-reference stream. */
export type StreamReader = (offset: number) => { readonly dictionary: PdfDictionary; readonly content: Uint8Array };

/**
 * The cross-reference of a file (ISO 32000-2, 7.5.4 and 7.5.8): the only thing that says where an
 * object is. Entries of tables are read when they are asked for.
 */
export class CrossReference {
  /** From the newest to the oldest. */
  readonly sections: readonly CrossReferenceSection[];
  readonly trailer: PdfDictionary;
  /** The file is a hybrid, or was one before it was revised. */
  readonly isHybrid: boolean;
  /** One more than the highest number of an object. */
  readonly size: number;

  private constructor(sections: readonly CrossReferenceSection[], newest: CrossReferenceSection) {
    this.sections = sections;
    this.trailer = newest.trailer;
    this.isHybrid = sections.some(({ hidden }) => hidden.length > 0);
    const highest = sections.flatMap(({ subsections, hidden }) => [...subsections, ...hidden]);
    const named = newest.trailer.get('Size');
    this.size = highest.reduce((size, { first, count }) => Math.max(size, first + count), isInteger(named) ? named : 0);
  }

  /**
   * Reads the cross-reference. `base`: offset of the header, from which offsets count.
   * @throws {PdfFault} for one that is not as it must be
   */
  static read(file: FileBytes, base: number, readStream: StreamReader): CrossReference {
    const sections: CrossReferenceSection[] = [];
    const seen = new Set<number>();
    for (let offset: number | undefined = lastStart(file); offset !== undefined;) {
      if (seen.has(offset)) throw new PdfFault('the cross-reference sections form a circle', offset);
      seen.add(offset);
      if (sections.length === sectionsMax) throw new PdfFault(`the file has more than ${sectionsMax} cross-reference sections`);
      const section: CrossReferenceSection = readSection(file, offset, base, readStream);
      sections.push(section);
      offset = previousOf(section);
    }
    const [newest] = sections;
    if (newest === undefined) throw new PdfFault('the file has no cross-reference');
    return new CrossReference(sections, newest);
  }

  /** Returns the entry of an object; FREE if there is none. */
  entry(number: number): CrossReferenceEntry {
    for (const { subsections, hidden } of this.sections) {
      const entry = find(subsections, number);
      if (entry !== undefined && entry.kind !== 'FREE') return entry;
      const hiddenEntry = find(hidden, number);
      if (hiddenEntry !== undefined) return hiddenEntry;
      if (entry !== undefined) return entry;
    }
    return { kind: 'FREE', next: 0, generation: 65_535 };
  }
}

function find(subsections: readonly Subsection[], number: number): CrossReferenceEntry | undefined {
  const found = subsections.find(({ first, count }) => number >= first && number < first + count);
  return found?.entry(number - found.first);
}

function lastStart(file: FileBytes): number {
  const from = Math.max(0, file.length - tailBytes);
  const tail = file.at(from, tailBytes);
  const keyword = tail.lastIndexOf('startxref');
  if (keyword < 0) throw new PdfFault('the file does not end as a PDF does: there is no startxref');
  const [, digits] = /^startxref\s+(\d{1,15})\s+%%EOF/.exec(tail.toString('latin1', keyword, keyword + 100)) ?? [];
  if (digits === undefined)
    throw new PdfFault('the file does not end as a PDF does: startxref has no offset and %%EOF behind it', from + keyword);
  return Number(digits);
}

function previousOf({ trailer, offset }: CrossReferenceSection): number | undefined {
  const previous = trailer.get('Prev');
  if (previous === null) return undefined;
  if (!isInteger(previous) || previous < 0) throw new PdfFault('Prev of a cross-reference section is no offset', offset);
  return previous;
}

function readSection(file: FileBytes, offset: number, base: number, readStream: StreamReader): CrossReferenceSection {
  const at = offset + base;
  if (at >= file.length) throw new PdfFault('a cross-reference section should be behind the end of the file', at);
  if (!file.parse(at, (parser) => parser.takes('xref'))) return streamSection(offset, readStream);
  const { subsections, end } = readTable(file, at + 'xref'.length);
  const trailer = file.parse(end, (parser) => {
    if (!parser.takes('trailer')) throw parser.fault('a cross-reference table has no trailer');
    const object = parser.object();
    if (!(object instanceof PdfDictionary)) throw parser.fault('a trailer is no dictionary');
    return object;
  });
  const hiddenAt = trailer.get('XRefStm');
  if (hiddenAt !== null && (!isInteger(hiddenAt) || hiddenAt < 0)) throw new PdfFault('XRefStm of a trailer is no offset', end);
  const hidden = hiddenAt === null ? [] : streamSection(hiddenAt, readStream).subsections;
  return { kind: 'TABLE', offset, trailer, subsections, hidden };
}

const entryBytes = 20;
const subsectionHeader = /^\s*(\d{1,10}) +(\d{1,10})[ \t]*(?:\r\n|\r|\n)/;

/** Reads where the entries of a table are. Returns the offset of what follows it. */
function readTable(file: FileBytes, start: number): { readonly subsections: readonly Subsection[]; readonly end: number } {
  const subsections: Subsection[] = [];
  for (let at = start; ;) {
    const text = file.at(at, 64).toString('latin1');
    const match = subsectionHeader.exec(text);
    if (match === null) return { subsections, end: at + (/^\s*/.exec(text)?.[0].length ?? 0) };
    const [header, first, count] = [match[0].length, Number(match[1]), Number(match[2])];
    if (first + count > objectNumberMax) throw new PdfFault('a cross-reference table has numbers that are too large', at);
    if (subsections.length === subsectionsMax) throw new PdfFault('a cross-reference table has too many subsections', at);
    const entriesAt = at + header;
    const end = entriesAt + count * entryBytes;
    if (end > file.length) throw new PdfFault('a cross-reference table ends too early', at);
    const width = count === 0 ? entryBytes : widthOfEntries(file, entriesAt, count);
    subsections.push({ first, count, entry: (index) => tableEntry(file, entriesAt + index * width) });
    at = entriesAt + count * width;
  }
}

/** Entries have 20 bytes (7.5.4); those of some producers have 19, with one character for the end of a line. */
function widthOfEntries(file: FileBytes, at: number, count: number): number {
  const [, lineEnd] = /^\d{10} \d{5} [nf]([ \r\n]+)/.exec(file.at(at, entryBytes).toString('latin1')) ?? [];
  const fits = (width: number): boolean => {
    const last = file.at(at + (count - 1) * width, entryBytes).toString('latin1');
    const next = file.at(at + count * width, 1)[0];
    return /^\d{10} \d{5} [nf]/.test(last) && next !== undefined && (isRegular(next) || isSpace(next));
  };
  if (lineEnd !== undefined && lineEnd.length >= 2 && fits(entryBytes)) return entryBytes;
  if (lineEnd !== undefined && lineEnd.length >= 1 && fits(entryBytes - 1)) return entryBytes - 1;
  throw new PdfFault('an entry of a cross-reference table is malformed', at);
}

function tableEntry(file: FileBytes, at: number): CrossReferenceEntry {
  const [, offset, generation, kind] = /^(\d{10}) (\d{5}) ([nf])/.exec(file.at(at, 18).toString('latin1')) ?? [];
  if (kind === undefined) throw new PdfFault('an entry of a cross-reference table is malformed', at);
  if (kind === 'f') return { kind: 'FREE', next: Number(offset), generation: Number(generation) };
  return { kind: 'FILE', offset: Number(offset), generation: Number(generation) };
}

function streamSection(offset: number, readStream: StreamReader): CrossReferenceSection {
  const { dictionary, content } = readStream(offset);
  if (!isName(dictionary.get('Type'), 'XRef')) throw new PdfFault('there is no cross-reference where one should be', offset);
  const widths = integers(dictionary.get('W'));
  const [kindWidth = 0, secondWidth = 0, thirdWidth = 0] = widths ?? [];
  if (widths === undefined || widths.length < 3 || widths.some((width) => width > 8))
    throw new PdfFault('W of a cross-reference stream is malformed', offset);
  const width = widths.reduce((sum, one) => sum + one, 0);
  const size = dictionary.get('Size');
  const ranges = dictionary.has('Index') ? integers(dictionary.get('Index')) : isInteger(size) ? [0, size] : undefined;
  if (ranges === undefined || ranges.length % 2 !== 0 || width === 0) throw new PdfFault('a cross-reference stream is malformed', offset);
  const subsections: Subsection[] = [];
  let before = 0;
  for (let at = 0; at < ranges.length; at += 2) {
    const [first = 0, count = 0] = ranges.slice(at, at + 2);
    const start = before;
    if (first + count > objectNumberMax || (start + count) * width > content.length)
      throw new PdfFault('a cross-reference stream has fewer entries than it says', offset);
    const field = (index: number, skip: number, bytes: number, usual: number): number =>
      bytes === 0 ? usual : numberAt(content, (start + index) * width + skip, bytes);
    subsections.push({
      ...{ first, count },
      entry: (index) => {
        const kind = field(index, 0, kindWidth, 1);
        const second = field(index, kindWidth, secondWidth, 0);
        const third = field(index, kindWidth + secondWidth, thirdWidth, 0);
        if (kind === 1) return { kind: 'FILE', offset: second, generation: third };
        if (kind === 2) return { kind: 'STREAM', stream: second };
        // Kinds that are not known stand for the null object (7.5.8.3).
        return { kind: 'FREE', next: kind === 0 ? second : 0, generation: kind === 0 ? third : 0 };
      },
    });
    before += count;
  }
  return { kind: 'STREAM', offset, trailer: dictionary, subsections, hidden: [] };
}

function integers(object: PdfObject): readonly number[] | undefined {
  return isArray(object) && object.every((one) => isInteger(one) && one >= 0) ? (object as readonly number[]) : undefined;
}

function numberAt(bytes: Uint8Array, at: number, width: number): number {
  let value = 0;
  for (let index = 0; index < width; index += 1) value = value * 256 + (bytes[at + index] ?? 0);
  return value;
}
