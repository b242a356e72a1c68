import { CrossReferenceIndex } from './cross-reference-index.ts';
import { crossReferenceStream } from './cross-reference-stream.ts';
import type { CrossReferenceEntry, CrossReferenceSection, Subsection } from './cross-reference-section.ts';
import { inFile, objectNumberMax, readTable } from './cross-reference-table.ts';
import type { FileBytes } from './file-bytes.ts';
import { isArray, isInteger, isName, PdfDictionary, type PdfObject } from './objects.ts';
import { PdfFault } from './pdf-fault.ts';
import type { WorkLimit } from './work-limit.ts';

/** Revisions of a file. */
const sectionsMax = 10_000;
const subsectionsMax = 500_000;
/** With room for the numbers of new objects. */
const sizeMax = objectNumberMax / 2;
/** Of all cross-reference streams without their filters; they have a few bytes for each object. */
const streamsMaxBytes = 64 * 1024 * 1024;
/** Where the keyword `startxref` is looked for, from the end of the file. */
const tailBytes = 64 * 1024;

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
  readonly #index: CrossReferenceIndex;

  private constructor(sections: readonly CrossReferenceSection[], newest: CrossReferenceSection, work: WorkLimit) {
    this.sections = sections;
    this.trailer = newest.trailer;
    this.isHybrid = sections.some(({ hidden }) => hidden.length > 0);
    this.#index = new CrossReferenceIndex(sections);
    const size = newest.trailer.get('Size');
    if (!isInteger(size) || size < 1 || Math.max(size, this.#index.end) > sizeMax)
      throw new PdfFault('Size of the trailer, or a number of an object, is out of range', newest.offset);
    // For some readers, objects beyond Size do not exist (7.5.5). They would with the Size of a new
    // revision.
    const beyond = this.#index.firstInUse(size, work);
    if (beyond !== undefined) throw new PdfFault(`Size of the trailer is ${size}, but there is an object ${beyond}`, newest.offset);
    this.size = Math.max(size, this.#index.end);
  }

  /**
   * Reads the cross-reference. `base`: offset of the header, from which offsets count.
   * @throws {PdfFault} for one that is not as it must be
   */
  static read(file: FileBytes, base: number): CrossReference {
    const sections: CrossReferenceSection[] = [];
    const seen = new Set<number>();
    const reader = new SectionReader(file, base);
    for (let offset: number | undefined = lastStart(file); offset !== undefined;) {
      if (seen.has(offset)) throw new PdfFault('the cross-reference sections form a circle', offset);
      seen.add(offset);
      if (sections.length === sectionsMax) throw new PdfFault(`the file has more than ${sectionsMax} cross-reference sections`);
      const section: CrossReferenceSection = reader.section(offset);
      sections.push(section);
      offset = previousOf(section);
    }
    const [newest] = sections;
    if (newest === undefined) throw new PdfFault('the file has no cross-reference');
    return new CrossReference(sections, newest, file.work);
  }

  /** Returns the entry of an object; FREE if there is none. */
  entry(number: number): CrossReferenceEntry {
    return this.#index.entry(number);
  }

  /** Yields the objects that exist, with their entries. `work` counts the entries. */
  inUse(work: WorkLimit): ReturnType<CrossReferenceIndex['inUse']> {
    return this.#index.inUse(work);
  }
}

/** An object behind the last end of the file. */
const unfinished = /\d[\0\t\n\f\r ]+\d+[\0\t\n\f\r ]+obj(?![A-Za-z])/;

function lastStart(file: FileBytes): number {
  const from = Math.max(0, file.length - tailBytes);
  const tail = file.at(from, tailBytes);
  const keyword = tail.lastIndexOf('startxref');
  if (keyword < 0) throw new PdfFault('the file does not end as a PDF does: there is no startxref');
  const text = tail.toString('latin1', keyword);
  // Whoever lost the end of a file would have an older revision signed.
  if (unfinished.test(text)) throw new PdfFault('the file ends in a revision that is not complete', from + keyword);
  const [, digits] = /^startxref[\0\t\n\f\r ]+(\d{1,15})[\0\t\n\f\r ]+%%EOF/.exec(text) ?? [];
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

/** Reads sections, of which a file may have only so many. */
class SectionReader {
  readonly #file: FileBytes;
  readonly #base: number;
  #subsectionsLeft = subsectionsMax;
  #streamBytesLeft = streamsMaxBytes;

  constructor(file: FileBytes, base: number) {
    this.#file = file;
    this.#base = base;
  }

  /** `offset`: of the section, as `startxref` counts it. */
  section(offset: number): CrossReferenceSection {
    const file = this.#file;
    const at = offset + this.#base;
    if (at >= file.length) throw new PdfFault('a cross-reference section should be behind the end of the file', at);
    const tableAt = file.parse(at, (parser) => {
      parser.skipSpace();
      return parser.takes('xref') ? parser.offset : undefined;
    });
    if (tableAt === undefined) return this.#streamSection(offset);
    const { subsections, end } = readTable(file, tableAt, this.#subsectionsLeft);
    this.#subsectionsLeft -= subsections.length;
    const trailer = file.parse(end, (parser) => {
      parser.skipSpace();
      if (!parser.takes('trailer')) throw parser.fault('a cross-reference table has no trailer');
      const object = parser.object();
      if (!(object instanceof PdfDictionary)) throw parser.fault('a trailer is no dictionary');
      return object;
    });
    const hiddenAt = trailer.get('XRefStm');
    if (hiddenAt !== null && (!isInteger(hiddenAt) || hiddenAt < 0)) throw new PdfFault('XRefStm of a trailer is no offset', end);
    const hidden = hiddenAt === null ? [] : this.#streamSection(hiddenAt).subsections;
    return { kind: 'TABLE', offset, trailer, subsections, hidden };
  }

  #streamSection(offset: number): CrossReferenceSection {
    const { dictionary, content } = crossReferenceStream(this.#file, offset + this.#base, this.#streamBytesLeft);
    this.#streamBytesLeft -= content.length;
    if (!isName(dictionary.get('Type'), 'XRef')) throw new PdfFault('there is no cross-reference where one should be', offset);
    const widths = integers(dictionary.get('W'));
    if (widths === undefined || widths.length < 3 || widths.some((width) => width > 8))
      throw new PdfFault('W of a cross-reference stream is malformed', offset);
    const width = widths.reduce((sum, one) => sum + one, 0);
    const size = dictionary.get('Size');
    const ranges = dictionary.has('Index') ? integers(dictionary.get('Index')) : isInteger(size) && size >= 0 ? [0, size] : undefined;
    if (ranges === undefined || ranges.length % 2 !== 0 || width === 0) throw new PdfFault('a cross-reference stream is malformed', offset);
    this.#subsectionsLeft -= ranges.length / 2;
    if (this.#subsectionsLeft < 0) throw new PdfFault('the cross-reference has too many subsections', offset);
    const subsections: Subsection[] = [];
    let before = 0;
    for (let at = 0; at < ranges.length; at += 2) {
      const [first = 0, count = 0] = [ranges[at], ranges[at + 1]];
      const start = before;
      if (first + count > objectNumberMax || (start + count) * width > content.length)
        throw new PdfFault('a cross-reference stream has fewer entries than it says', offset);
      subsections.push({ first, count, entry: (index) => streamEntry(content, (start + index) * width, widths, offset) });
      before += count;
    }
    return { kind: 'STREAM', offset, trailer: dictionary, subsections, hidden: [] };
  }
}

/** Reads an entry of a cross-reference stream (7.5.8.3). `offset`: of the stream, for messages. */
function streamEntry(
  content: Uint8Array,
  at: number,
  [kindWidth = 0, secondWidth = 0, thirdWidth = 0]: readonly number[],
  offset: number,
): CrossReferenceEntry {
  const kind = kindWidth === 0 ? 1 : numberAt(content, at, kindWidth);
  const second = numberAt(content, at + kindWidth, secondWidth);
  const third = numberAt(content, at + kindWidth + secondWidth, thirdWidth);
  if (kind === 1) return inFile(second, third, offset);
  if (kind === 2) return { kind: 'STREAM', stream: second, index: third };
  // Kinds that are not known stand for the null object.
  return { kind: 'FREE', next: kind === 0 ? second : 0, generation: kind === 0 ? third : 0 };
}

function integers(object: PdfObject): readonly number[] | undefined {
  return isArray(object) && object.every((one) => isInteger(one) && one >= 0) ? (object as readonly number[]) : undefined;
}

function numberAt(bytes: Uint8Array, at: number, width: number): number {
  let value = 0;
  for (let index = 0; index < width; index += 1) value = value * 256 + (bytes[at + index] ?? 0);
  return value;
}
