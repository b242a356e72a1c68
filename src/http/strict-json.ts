import { isUtf8 } from 'node:buffer';

/** The body is no JSON object that means the same to every parser (contract §2). */
export class JsonError extends Error {
  /** Offset of the first wrong byte. */
  readonly position: number;

  constructor(message: string, position: number) {
    super(message);
    this.position = position;
  }
}

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

/**
 * Reads one JSON object (RFC 8259) from bytes. Refuses what parsers read differently or silently change: bad UTF-8, a byte order mark, duplicate
 * member names, lone surrogates, integer literals beyond ±(2^53 − 1), numbers beyond a double, nesting deeper than 64 (the outermost object is 1).
 * @throws {JsonError}
 */
export function parseStrictJson(bytes: Buffer): Readonly<Record<string, unknown>> {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) throw new JsonError('a byte order mark', 0);
  if (!isUtf8(bytes)) throw new JsonError('not valid UTF-8', firstBadByte(bytes));
  const scanner = new Scanner(bytes);
  scanner.document();
  const value: unknown = JSON.parse(bytes.toString('utf8'));
  if (!isObject(value)) throw new JsonError('not an object', 0);
  return value;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Doubles as it goes, so that a bad byte at the start is found at once and one at the end in about twice the time of a check. */
function firstBadByte(bytes: Buffer): number {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let checked = 0;
  for (let step = bytes.length; step >= 1; step = Math.floor(step / 2)) {
    while (checked + step <= bytes.length && decodes(decoder, bytes.subarray(checked, checked + step))) checked += step;
  }
  return checked;
}

function decodes(decoder: InstanceType<typeof TextDecoder>, bytes: Buffer): boolean {
  try {
    decoder.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Walks the grammar over the bytes without building anything. */
class Scanner {
  readonly #bytes: Buffer;
  #offset = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  document(): void {
    this.#space();
    if (this.#bytes[this.#offset] !== openBrace) this.#fail(this.#bytes.length === 0 ? 'an empty body' : 'the body is not one JSON object');
    this.#value(1);
    this.#space();
    if (this.#offset !== this.#bytes.length) this.#fail('something follows the object');
  }

  #value(depth: number): void {
    switch (this.#bytes[this.#offset]) {
      case openBrace:
        this.#object(depth);
        break;
      case openBracket:
        this.#array(depth);
        break;
      case quote:
        this.#string();
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
      this.#string();
      const name: unknown = JSON.parse(this.#bytes.toString('utf8', start, this.#offset));
      if (typeof name !== 'string' || names.has(name)) throw new JsonError('this member name is there twice', start);
      names.add(name);
      if (this.#next() !== colon) this.#fail('a colon is needed');
      this.#offset += 1;
      this.#space();
      this.#value(depth + 1);
      const after = this.#next();
      if (after === closeBrace) break;
      if (after !== comma) this.#fail('a comma or the end of the object is needed');
      this.#offset += 1;
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
    }
    this.#offset += 1;
  }

  #enter(depth: number): void {
    if (depth > maxDepth) this.#fail(`nesting deeper than ${maxDepth}`);
    this.#offset += 1;
  }

  /** Jumps from quote to quote; only strings with escapes are looked at more closely. */
  #string(): void {
    const start = this.#offset;
    let end = this.#bytes.indexOf(quote, start + 1);
    let escape = this.#bytes.indexOf(backslash, start + 1);
    let escapes = false;
    while (end !== -1 && escape !== -1 && escape < end) {
      escapes = true;
      if (escape + 1 === end) end = this.#bytes.indexOf(quote, end + 1);
      escape = this.#bytes.indexOf(backslash, escape + 2);
    }
    if (end === -1) throw new JsonError('a string without end', start);
    for (let offset = start + 1; offset < end; offset += 1) {
      if ((this.#bytes[offset] ?? 0) < 0x20) throw new JsonError('a control character in a string', offset);
    }
    this.#offset = end + 1;
    if (escapes) this.#escapes(start, end + 1);
  }

  #escapes(start: number, end: number): void {
    let value: unknown;
    try {
      value = JSON.parse(this.#bytes.toString('utf8', start, end));
    } catch {
      throw new JsonError('a wrong escape in a string', start);
    }
    if (typeof value !== 'string' || !value.isWellFormed()) throw new JsonError('a lone surrogate in a string', start);
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
