import { createHash } from 'node:crypto';
import { generationMax } from './cross-reference-table.ts';
import type { CrossReference } from './cross-reference.ts';
import { isArray, PdfDictionary, type PdfHole, PdfName, PdfReference, PdfStream, PdfString, type PdfObject } from './objects.ts';
import { writeObject } from './object-text.ts';
import type { PdfFile } from './pdf-file.ts';
import { PdfFault } from './pdf-fault.ts';

/** A revision as it is appended to its file. */
export interface WrittenRevision {
  readonly bytes: Uint8Array;
  /** Offsets of the holes in the file that the revision makes. */
  readonly holes: ReadonlyMap<PdfHole, number>;
}

interface NewEntry {
  readonly number: number;
  readonly generation: number;
  /** As the cross-reference counts it. */
  readonly offset: number;
}

/** Offsets of tables have ten digits (ISO 32000-2, 7.5.4). */
const tableMaxOffset = 9_999_999_999;
/** Entries of a trailer that describe one section and not the file. */
const sectionKeys = ['Prev', 'XRefStm', 'Type', 'W', 'Index', 'Filter', 'DecodeParms', 'Length', 'F', 'FFilter', 'FDecodeParms', 'DL'];

/**
 * A revision of a file (ISO 32000-2, 7.5.6): objects that are new or changed, which are appended to
 * it. What the file has is not touched.
 */
export class Revision {
  readonly file: PdfFile;
  readonly #objects = new Map<number, { readonly generation: number; readonly object: PdfObject }>();
  #next: number;

  constructor(file: PdfFile) {
    this.file = file;
    this.#next = file.crossReference.size;
  }

  get isEmpty(): boolean {
    return this.#objects.size === 0;
  }

  /** Adds an object, and returns its reference. */
  add(object: PdfObject): PdfReference {
    const reference = this.reserve();
    this.set(reference, object);
    return reference;
  }

  /** Returns the reference of an object that is added later. */
  reserve(): PdfReference {
    const number = Math.max(this.#next, this.file.referredEnd);
    this.#next = number + 1;
    return new PdfReference(number, 0);
  }

  /** @throws {PdfFault} for a reference that no object can have */
  set({ number, generation }: PdfReference, object: PdfObject): void {
    if (number === 0 || generation > generationMax)
      throw new PdfFault(`the reference ${number} ${generation} R leads to no object that can be`);
    // A reference can have led to nothing until now.
    this.#next = Math.max(this.#next, number + 1);
    this.#objects.set(number, { generation, object });
  }

  /** Follows references, to what the revision changes first. */
  resolved(object: PdfObject): PdfObject {
    if (!(object instanceof PdfReference)) return object;
    const changed = this.#objects.get(object.number);
    return changed === undefined ? this.file.resolved(object) : this.resolved(changed.object);
  }

  /** Returns a value of a dictionary with its references followed. */
  get(dictionary: PdfDictionary, key: string): PdfObject {
    return this.resolved(dictionary.get(key));
  }

  /** Returns what is to be appended to the file. */
  write(): WrittenRevision {
    const { file } = this;
    const written = new Written(file.bytes.length);
    if (!endsLine(file)) written.text('\n');
    const entries: NewEntry[] = [];
    for (const [number, { generation, object }] of [...this.#objects].toSorted(([one], [other]) => one - other)) {
      entries.push({ number, generation, offset: written.offset - file.base });
      this.#writeIndirect(new PdfReference(number, generation), object, written);
    }
    const { sections } = file.crossReference;
    const trailer = this.#trailer(written.digest());
    // A hybrid has its objects in tables, so that readers of tables alone see them.
    if (sections[0]?.kind === 'STREAM') this.#writeStream(entries, trailer, written);
    else this.#writeTable(entries, trailer, written);
    return { bytes: written.bytes(), holes: written.holes };
  }

  #writeIndirect(reference: PdfReference, object: PdfObject, written: Written): void {
    const { security } = this.file;
    const strings = security?.strings(reference);
    written.text(`${reference.number} ${reference.generation} obj\n`);
    if (object instanceof PdfStream) {
      const { dictionary, encoded } = object;
      if (!(encoded instanceof Uint8Array)) throw new Error('a stream of the file cannot be written again');
      const bytes = security?.stream(reference, dictionary)?.encrypt(encoded) ?? encoded;
      writeObject(dictionary.with({ Length: bytes.length }), strings, (piece) => written.piece(piece));
      written.text('\nstream\n');
      written.raw(bytes);
      written.text('\nendstream');
    } else {
      writeObject(object, strings, (piece) => written.piece(piece));
    }
    written.text('\nendobj\n');
  }

  /**
   * The trailer has all entries of the one before, as far as they are not about its section
   * (7.5.6).
   */
  #trailer(digest: Uint8Array): PdfDictionary {
    const { trailer, sections } = this.file.crossReference;
    const kept = trailer.entries().filter(([key]) => !sectionKeys.includes(key));
    const id = this.file.resolved(trailer.get('ID'));
    const [first] = isArray(id) ? id : [];
    const changed = new PdfString(digest.subarray(0, 16));
    // The key of an encrypted file depends on the first one, also where there is none (7.6.4.3.2).
    const permanent = this.file.security === undefined ? changed : new PdfString(new Uint8Array());
    return new PdfDictionary(kept).with({
      Size: this.#next,
      Prev: sections[0]?.offset,
      ID: [first instanceof PdfString ? new PdfString(first.raw) : permanent, changed],
    });
  }

  #writeTable(entries: readonly NewEntry[], trailer: PdfDictionary, written: Written): void {
    const start = written.offset - this.file.base;
    if (start > tableMaxOffset) throw new PdfFault('the file is too large for its cross-reference table');
    const { next, generation } = freeHead(this.file.crossReference);
    let text = `xref\n0 1\n${digits(next, 10)} ${digits(generation, 5)} f \n`;
    for (const range of rangesOf(entries)) {
      text += `${range[0]?.number ?? 0} ${range.length}\n`;
      for (const one of range) text += `${digits(one.offset, 10)} ${digits(one.generation, 5)} n \n`;
    }
    written.text(`${text}trailer\n`);
    writeObject(trailer, undefined, (piece) => written.piece(piece));
    written.text(`\nstartxref\n${start}\n%%EOF\n`);
  }

  #writeStream(entries: readonly NewEntry[], trailer: PdfDictionary, written: Written): void {
    const start = written.offset - this.file.base;
    const reference = this.reserve();
    const all = [...entries, { number: reference.number, generation: 0, offset: start }];
    const { next, generation } = freeHead(this.file.crossReference);
    const offsetBytes = Math.ceil(Math.log2(Math.max(start, next) + 1) / 8);
    const rows = [row(0, next, generation, offsetBytes), ...all.map((one) => row(1, one.offset, one.generation, offsetBytes))];
    const index = [0, 1, ...rangesOf(all).flatMap((range) => [range[0]?.number ?? 0, range.length])];
    const content = Buffer.concat(rows);
    const dictionary = PdfDictionary.of({ Type: new PdfName('XRef') }).with({
      ...Object.fromEntries(trailer.entries()),
      ...{ Size: reference.number + 1, W: [1, offsetBytes, 2], Index: index, Length: content.length },
    });
    written.text(`${reference.number} 0 obj\n`);
    // A cross-reference stream is never encrypted.
    writeObject(dictionary, undefined, (piece) => written.piece(piece));
    written.text('\nstream\n');
    written.raw(content);
    written.text(`\nendstream\nendobj\nstartxref\n${start}\n%%EOF\n`);
  }
}

/** Bytes that are to be appended at an offset. */
class Written {
  readonly holes = new Map<PdfHole, number>();
  readonly #pieces: Buffer[] = [];
  readonly #start: number;
  #length = 0;

  constructor(start: number) {
    this.#start = start;
  }

  get offset(): number {
    return this.#start + this.#length;
  }

  /** Writes text, where each character is a byte. */
  text(text: string): void {
    this.raw(Buffer.from(text, 'latin1'));
  }

  raw(bytes: Uint8Array): void {
    this.#pieces.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    this.#length += bytes.length;
  }

  piece(piece: string | PdfHole): void {
    if (typeof piece === 'string') {
      this.text(piece);
      return;
    }
    this.holes.set(piece, this.offset);
    this.text(piece.filler);
  }

  /** Digest of what has been written, for the ID of the revision. */
  digest(): Uint8Array {
    const hash = createHash('sha256').update(String(this.#start));
    for (const piece of this.#pieces) hash.update(piece);
    return hash.digest();
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.#pieces);
  }
}

function endsLine({ bytes }: PdfFile): boolean {
  const [last] = bytes.at(bytes.length - 1, 1);
  return last === 0x0a || last === 0x0d;
}

/**
 * Returns the first free object, as the entry of object 0 names it. One that the file does not have could
 * have a number, or a generation, that has no room in the new section.
 */
function freeHead(crossReference: CrossReference): { readonly next: number; readonly generation: number } {
  const entry = crossReference.entry(0);
  const isSound = entry.kind === 'FREE' && entry.next < crossReference.size && entry.generation <= generationMax;
  return isSound ? entry : { next: 0, generation: generationMax };
}

function digits(value: number, count: number): string {
  return String(value).padStart(count, '0');
}

/** Groups entries with numbers that follow each other. */
function rangesOf(entries: readonly NewEntry[]): NewEntry[][] {
  const ranges: NewEntry[][] = [];
  for (const entry of entries) {
    const last = ranges.at(-1);
    if (last !== undefined && last.at(-1)?.number === entry.number - 1) last.push(entry);
    else ranges.push([entry]);
  }
  return ranges;
}

function row(kind: number, second: number, generation: number, offsetBytes: number): Buffer {
  const bytes = Buffer.alloc(1 + offsetBytes + 2);
  bytes[0] = kind;
  let rest = second;
  for (let at = offsetBytes; at >= 1; at -= 1) {
    bytes[at] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  bytes.writeUInt16BE(generation, 1 + offsetBytes);
  return bytes;
}
