import type { ByteSource } from './byte-source.ts';
import { DerError } from './reader.ts';

export interface BerLimits {
  /** Elements on all levels. */
  readonly elementsMax: number;
  readonly depthMax: number;
}

/** Offsets of an element in the source. */
export interface BerSpan {
  readonly start: number;
  readonly end: number;
}

/** Offsets of a primitive element. */
export interface BerPrimitive extends BerSpan {
  readonly contentStart: number;
}

interface Header {
  readonly tag: number;
  readonly contentStart: number;
  /** Undefined: indefinite (X.690 8.1.3.6). */
  readonly contentEnd: number | undefined;
}

/** An open element. */
interface Level {
  readonly start: number;
  /** Undefined if the element ends with end-of-contents octets. */
  readonly end: number | undefined;
  /** No element inside it may extend beyond this offset. */
  readonly bound: number;
}

const lengthOctetsMax = 6;

/**
 * Walks through BER (X.690) once, front to back, and parses only headers, with definite or
 * indefinite lengths in any encoding. Content is read only if an indefinite length requires it.
 * Every method throws a DerError for invalid BER, for an element that extends beyond the enclosing
 * one, for a tag number above 30, and beyond the limits.
 */
export class BerCursor {
  readonly #source: ByteSource;
  readonly #limits: BerLimits;
  readonly #levels: Level[];
  #position = 0;
  #elements = 0;
  #window: Uint8Array = new Uint8Array();
  #windowStart = 0;

  constructor(source: ByteSource, limits: BerLimits) {
    this.#source = source;
    this.#limits = limits;
    this.#levels = [{ start: 0, end: source.bytes, bound: source.bytes }];
  }

  /** Identifier octet of the next element; undefined at the end of the enclosing one. */
  get tag(): number | undefined {
    const { end, bound } = this.#level;
    if (end === undefined ? this.#octet(this.#position, bound) === 0 : this.#position === end) return undefined;
    return this.#octet(this.#position, bound);
  }

  get position(): number {
    return this.#position;
  }

  /** Enters a constructed element. */
  open(tag: number): void {
    const start = this.#position;
    const header = this.#header(tag);
    if ((header.tag & 0x20) === 0) throw new DerError('primitive element instead of a constructed one', start);
    this.#enter(start, header);
  }

  /** Leaves the element opened last, at its end. Returns its offsets. */
  close(): BerSpan {
    const { start, end } = this.#level;
    if (this.tag !== undefined) throw new DerError('unexpected element', this.#position);
    if (this.#levels.length === 1) throw new DerError('no open element', this.#position);
    if (end === undefined) this.#position = this.#afterEndOfContents();
    this.#levels.pop();
    return { start, end: this.#position };
  }

  /** Reads the header of a primitive element and moves behind the element. */
  primitive(tag: number): BerPrimitive {
    const start = this.#position;
    const { contentStart, contentEnd } = this.#header(tag);
    if ((tag & 0x20) !== 0 || contentEnd === undefined) throw new DerError('constructed element instead of a primitive one', start);
    this.#position = contentEnd;
    return { start, contentStart, end: contentEnd };
  }

  /** Skips a whole element. Returns its offsets. */
  skip(): BerSpan {
    const start = this.#position;
    const depth = this.#levels.length;
    do {
      if (this.tag === undefined) {
        this.close();
        continue;
      }
      const at = this.#position;
      const header = this.#header();
      if (header.contentEnd === undefined) this.#enter(at, header);
      else this.#position = header.contentEnd;
    } while (this.#levels.length > depth);
    return { start, end: this.#position };
  }

  /** Checks that nothing follows. */
  end(): void {
    if (this.#levels.length > 1 || this.tag !== undefined) throw new DerError('trailing data after the element', this.#position);
  }

  get #level(): Level {
    const level = this.#levels.at(-1);
    if (level === undefined) throw new Error('the source itself cannot be closed');
    return level;
  }

  #enter(start: number, { contentStart, contentEnd }: Header): void {
    if (this.#levels.length > this.#limits.depthMax) throw new DerError('nested too deeply', start);
    this.#levels.push({ start, end: contentEnd, bound: contentEnd ?? this.#level.bound });
    this.#position = contentStart;
  }

  #header(wanted?: number): Header {
    const { bound } = this.#level;
    const start = this.#position;
    const tag = this.tag;
    if (tag === undefined) throw new DerError('missing element', start);
    if (wanted !== undefined && tag !== wanted) throw new DerError(`tag ${tag} instead of ${wanted}`, start);
    if ((tag & 0x1f) === 0x1f) throw new DerError('tag numbers above 30 are not supported', start);
    if (tag === 0) throw new DerError('end-of-contents octets instead of an element', start);
    this.#elements += 1;
    if (this.#elements > this.#limits.elementsMax) throw new DerError(`more than ${this.#limits.elementsMax} elements`, start);
    const first = this.#octet(start + 1, bound);
    if (first === 0x80) {
      if ((tag & 0x20) === 0) throw new DerError('primitive element with an indefinite length', start);
      return { tag, contentStart: start + 2, contentEnd: undefined };
    }
    const count = first < 0x80 ? 0 : first & 0x7f;
    if (count > lengthOctetsMax) throw new DerError(`length of more than ${lengthOctetsMax} octets`, start);
    let length = first < 0x80 ? first : 0;
    for (let index = 0; index < count; index += 1) length = length * 256 + this.#octet(start + 2 + index, bound);
    const contentStart = start + 2 + count;
    if (contentStart + length > bound)
      throw new DerError(`the element ends ${contentStart + length - bound} octets beyond the enclosing one`, start);
    return { tag, contentStart, contentEnd: contentStart + length };
  }

  #afterEndOfContents(): number {
    if (this.#octet(this.#position + 1, this.#level.bound) !== 0) throw new DerError('end-of-contents octets with content', this.#position);
    return this.#position + 2;
  }

  #octet(position: number, bound: number): number {
    if (position >= bound) throw new DerError('truncated element', position);
    let octet = this.#window[position - this.#windowStart];
    if (octet !== undefined) return octet;
    this.#window = this.#source.windowAt(position);
    this.#windowStart = position;
    octet = this.#window[0];
    if (octet === undefined) throw new DerError('the source is shorter than declared', position);
    return octet;
  }
}
