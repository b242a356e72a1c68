import { quotedName } from '../../config/closest-name.ts';

/** The body is no JSON object that means the same to every parser (contract §2). */
export class JsonError extends Error {
  /** Offset of the first wrong byte. */
  readonly position: number;

  constructor(message: string, position: number) {
    super(message);
    this.position = position;
  }
}

/** The body has more values than any request needs (HTTP 413): each costs many times its bytes. */
export class TooManyValues extends JsonError {}

export const maxDepth = 64;

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
const colon = 0x3a;
const numberShape = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
/** In bytes read as Latin-1: what lies before the space. */
const controls = /[^ -\xff]/;
const controlSliceBytes = 32 * 1024;

/** Where a string lies, quotes included. */
export interface StringSpan {
  readonly start: number;
  readonly end: number;
  readonly isName: boolean;
  /** Name of the member whose value it is, if it is one. */
  readonly member: string | undefined;
}

export interface ScanLimits {
  /** Values in all, the object itself included. */
  readonly valuesMax: number;
  /**
   * Told of each string with at least so many bytes. `found` returns whether it has seen that the
   * string has no control characters: then nobody else looks for them.
   */
  readonly long?: { readonly minBytes: number; found(span: StringSpan): boolean } | undefined;
}

/**
 * Walks the grammar of RFC 8259 over bytes that are UTF-8, without building anything; every byte is
 * looked at a fixed number of times.
 */
export class JsonScanner {
  readonly #bytes: Buffer;
  readonly #limits: ScanLimits;
  readonly #longBytes: number;
  #offset = 0;
  #values = 0;
  /**
   * The next backslash from here on, or the length: looked for once, however many strings lie
   * before it.
   */
  #backslash = -1;

  constructor(bytes: Buffer, limits: ScanLimits) {
    this.#bytes = bytes;
    this.#limits = limits;
    this.#longBytes = limits.long?.minBytes ?? Infinity;
  }

  /** @throws {JsonError} unless the bytes are one JSON object */
  document(): void {
    this.#space();
    if (this.#bytes[this.#offset] !== openBrace) this.#fail(this.#bytes.length === 0 ? 'an empty body' : 'the body is not one JSON object');
    this.#value(1);
    this.#space();
    if (this.#offset !== this.#bytes.length) this.#fail('something follows the object');
  }

  #value(depth: number, member?: string): void {
    this.#count();
    switch (this.#bytes[this.#offset]) {
      case openBrace:
        this.#object(depth);
        break;
      case openBracket:
        this.#array(depth);
        break;
      case quote:
        this.#string({ isName: false, member });
        break;
      case 0x74:
        this.#literal('true');
        break;
      case 0x66:
        this.#literal('false');
        break;
      case 0x6e:
        this.#literal('null');
        break;
      case undefined:
      default:
        this.#number();
    }
  }

  #count(): void {
    this.#values += 1;
    if (this.#values > this.#limits.valuesMax) throw new TooManyValues(`more than ${this.#limits.valuesMax} values`, this.#offset);
  }

  #object(depth: number): void {
    this.#enter(depth);
    const names = new Set<string>();
    if (this.#next() === closeBrace) {
      this.#offset += 1;
      return;
    }
    for (;;) {
      this.#space();
      const start = this.#offset;
      if (this.#bytes[start] !== quote) this.#fail('a member name is needed');
      const escaped = this.#string({ isName: true, member: undefined });
      const name = escaped ?? this.#bytes.toString('utf8', start + 1, this.#offset - 1);
      if (names.has(name)) throw new JsonError(`duplicate member name ${quotedName(name)}`, start);
      names.add(name);
      if (this.#next() !== colon) this.#fail('a colon is needed');
      this.#offset += 1;
      this.#space();
      this.#value(depth + 1, name);
      const after = this.#next();
      if (after === closeBrace) break;
      if (after !== comma) this.#fail('a comma or the end of the object is needed');
      this.#offset += 1;
      if (this.#next() === closeBrace) this.#fail('a comma after the last member of the object');
    }
    this.#offset += 1;
  }

  #array(depth: number): void {
    this.#enter(depth);
    if (this.#next() === closeBracket) {
      this.#offset += 1;
      return;
    }
    for (;;) {
      this.#space();
      this.#value(depth + 1);
      const after = this.#next();
      if (after === closeBracket) break;
      if (after !== comma) this.#fail('a comma or the end of the list is needed');
      this.#offset += 1;
      if (this.#next() === closeBracket) this.#fail('a comma after the last entry of the list');
    }
    this.#offset += 1;
  }

  #enter(depth: number): void {
    if (depth > maxDepth) this.#fail(`nesting deeper than ${maxDepth}`);
    this.#offset += 1;
  }

  /**
   * Jumps from quote to quote; only strings with escapes are looked at more closely. Answers the
   * text of those.
   */
  #string({ isName, member }: Pick<StringSpan, 'isName' | 'member'>): string | undefined {
    const start = this.#offset;
    const bytes = this.#bytes;
    let end = bytes.indexOf(quote, start + 1);
    let hasEscapes = false;
    for (let escape = this.#backslashFrom(start + 1); end !== -1 && escape < end; escape = this.#backslashFrom(escape + 2)) {
      hasEscapes = true;
      if (escape + 1 === end) end = bytes.indexOf(quote, end + 1);
    }
    if (end === -1) throw new JsonError('a string without end', start);
    this.#offset = end + 1;
    const isLong = end + 1 - start >= this.#longBytes;
    const isChecked = isLong && this.#limits.long?.found({ start, end: end + 1, isName, member }) === true;
    if (!isChecked) this.#refuseControls(start + 1, end);
    return hasEscapes ? this.#escapes(start, end + 1) : undefined;
  }

  #backslashFrom(offset: number): number {
    if (this.#backslash < offset) {
      const next = this.#bytes.indexOf(backslash, offset);
      this.#backslash = next === -1 ? this.#bytes.length : next;
    }
    return this.#backslash;
  }

  #refuseControls(start: number, end: number): void {
    if (end - start > 64) {
      // A compiled expression is faster than a loop over many bytes; the copies stay small, since the
      // engine gives strings beyond 128 KiB pages of their own.
      for (let offset = start; offset < end; offset += controlSliceBytes) {
        const at = this.#bytes.toString('latin1', offset, Math.min(end, offset + controlSliceBytes)).search(controls);
        if (at !== -1) throw new JsonError('a control character in a string', offset + at);
      }
      return;
    }
    for (let offset = start; offset < end; offset += 1) {
      if ((this.#bytes[offset] ?? 0) < 0x20) throw new JsonError('a control character in a string', offset);
    }
  }

  #escapes(start: number, end: number): string {
    let value: unknown;
    try {
      value = JSON.parse(this.#bytes.toString('utf8', start, end));
    } catch {
      throw new JsonError('a wrong escape in a string', start);
    }
    if (typeof value !== 'string' || !value.isWellFormed()) throw new JsonError('a lone surrogate in a string', start);
    return value;
  }

  #number(): void {
    const start = this.#offset;
    const text = this.#bytes.toString('latin1', start, start + this.#numberLength());
    numberShape.lastIndex = 0;
    if (numberShape.exec(text)?.[0] !== text || text === '') this.#fail('a value is needed');
    const value = Number(text);
    if (!Number.isFinite(value)) throw new JsonError('a number beyond a double', start);
    if (/^-?\d+$/.test(text) && !Number.isSafeInteger(value)) throw new JsonError('an integer beyond ±(2^53 − 1)', start);
    this.#offset += text.length;
  }

  /** Bytes from here that could belong to a number. */
  #numberLength(): number {
    let end = this.#offset;
    for (;;) {
      const byte = this.#bytes[end] ?? 0;
      const belongs = (byte >= 0x30 && byte <= 0x39) || byte === 0x2d || byte === 0x2b || byte === 0x2e || byte === 0x65 || byte === 0x45;
      if (!belongs) return end - this.#offset;
      end += 1;
    }
  }

  #literal(text: string): void {
    if (this.#bytes.toString('latin1', this.#offset, this.#offset + text.length) !== text) this.#fail('a value is needed');
    this.#offset += text.length;
  }

  #next(): number | undefined {
    this.#space();
    return this.#bytes[this.#offset];
  }

  #space(): void {
    for (;;) {
      const byte = this.#bytes[this.#offset];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return;
      this.#offset += 1;
    }
  }

  #fail(message: string): never {
    throw new JsonError(this.#offset >= this.#bytes.length && this.#bytes.length > 0 ? 'the body ends early' : message, this.#offset);
  }
}
