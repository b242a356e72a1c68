import { hexDigit, isRegular, isSpace } from './characters.ts';
import { literalBytes, literalEnd } from './literal-string.ts';
import { isInteger, PdfDictionary, PdfName, PdfReference, PdfString, type PdfObject } from './objects.ts';
import { PdfFault } from './pdf-fault.ts';

/** Arrays and dictionaries in each other. */
const depthMax = 100;
const nameMaxBytes = 4096;
const numberMaxCharacters = 64;

/** Memory that values take, in bytes and roughly: the text of a small file can stand for a lot. */
const weights = { simple: 8, name: 64, reference: 48, string: 160, array: 64, dictionary: 320, entry: 64 } as const;
const weightMaxBytes = 64 * 1024 * 1024;

/** Thrown where what is read goes on behind the window. */
export class WindowTooShort extends Error {}

/** A part of a file. */
export interface ParserWindow {
  readonly bytes: Buffer;
  /** Offset of its first byte in the file, for messages. */
  readonly offset: number;
  /** Nothing follows it. */
  readonly isLast: boolean;
  /** Decrypts a string; absent if the strings are not encrypted. */
  readonly decryptString?: ((bytes: Uint8Array) => Uint8Array) | undefined;
}

/**
 * Reads objects (ISO 32000-2, 7.2 and 7.3) from a window, each time from where it is.
 * @throws {WindowTooShort} where the window ends before the object does
 * @throws {PdfFault} for what is no object
 */
export class ObjectParser {
  readonly #window: ParserWindow;
  readonly #bytes: Buffer;
  at: number;
  #weightBytes = 0;

  /** `at`: offset in the window. */
  constructor(window: ParserWindow, at = 0) {
    this.#window = window;
    this.#bytes = window.bytes;
    this.at = at;
  }

  /** Offset of the next byte in the file. */
  get offset(): number {
    return this.#window.offset + this.at;
  }

  /** Memory that the values take which have been read, roughly. */
  get weightBytes(): number {
    return this.#weightBytes;
  }

  fault(message: string, at = this.at): PdfFault {
    return new PdfFault(message, this.#window.offset + at);
  }

  /** Moves behind white space and comments. */
  skipSpace(): void {
    const bytes = this.#bytes;
    for (;;) {
      while (isSpace(bytes[this.at])) this.at += 1;
      if (bytes[this.at] !== 0x25) break;
      while (this.at < bytes.length && bytes[this.at] !== 0x0a && bytes[this.at] !== 0x0d) this.at += 1;
    }
    this.#mustNotEnd();
  }

  /** Moves behind a keyword, if it is next. */
  takes(keyword: string): boolean {
    const end = this.at + keyword.length;
    if (end >= this.#bytes.length && !this.#window.isLast) throw new WindowTooShort();
    for (let index = 0; index < keyword.length; index += 1) if (this.#bytes[this.at + index] !== keyword.charCodeAt(index)) return false;
    if (isRegular(this.#bytes[end])) return false;
    this.at = end;
    return true;
  }

  /** Moves behind the keyword `stream` and the end of its line (7.3.8.1), if it is next. */
  takesStream(): boolean {
    if (!this.takes('stream')) return false;
    this.#mustNotEnd(this.at + 1);
    if (this.#bytes[this.at] === 0x0d && this.#bytes[this.at + 1] === 0x0a) this.at += 2;
    else if (this.#bytes[this.at] === 0x0a) this.at += 1;
    else throw this.fault('the keyword stream has no end of line behind it');
    return true;
  }

  /** Reads an integer that is not negative. Undefined if none is next. */
  takeInteger(): number | undefined {
    let at = this.at;
    let value = 0;
    for (let byte = this.#bytes[at] ?? 0; byte >= 0x30 && byte <= 0x39; byte = this.#bytes[at] ?? 0) {
      value = value * 10 + byte - 0x30;
      at += 1;
    }
    if (at === this.#bytes.length) this.#mustNotEnd(at);
    if (at === this.at || isRegular(this.#bytes[at]) || value > Number.MAX_SAFE_INTEGER) return undefined;
    this.at = at;
    return value;
  }

  /** Reads an object behind white space. */
  object(depth = 0): PdfObject {
    this.skipSpace();
    const bytes = this.#bytes;
    const first = bytes[this.at];
    if (first === undefined) throw this.fault('the file ends where an object should be');
    if (first === 0x2f) return this.#weighed(weights.name, new PdfName(this.#name()));
    if (first === 0x28) return this.#string(this.#literalString());
    if (first === 0x3c) return this.#second === 0x3c ? this.#dictionary(depth) : this.#string(this.#hexString());
    if (first === 0x5b) return this.#array(depth);
    this.#weighed(weights.simple, null);
    if ((first >= 0x30 && first <= 0x39) || first === 0x2b || first === 0x2d || first === 0x2e) return this.#numberOrReference();
    if (this.takes('true')) return true;
    if (this.takes('false')) return false;
    if (this.takes('null')) return null;
    throw this.fault('there is no object here');
  }

  #weighed<T>(bytes: number, value: T): T {
    this.#weightBytes += bytes;
    if (this.#weightBytes > weightMaxBytes) throw this.fault('an object has too many values');
    return value;
  }

  get #second(): number | undefined {
    if (this.at + 1 === this.#bytes.length) this.#mustNotEnd(this.at + 1);
    return this.#bytes[this.at + 1];
  }

  #mustNotEnd(at = this.at): void {
    if (at >= this.#bytes.length && !this.#window.isLast) throw new WindowTooShort();
  }

  #name(): string {
    const bytes = this.#bytes;
    const start = this.at;
    let at = start + 1;
    let hasEscapes = false;
    for (; isRegular(bytes[at]); at += 1) if (bytes[at] === 0x23) hasEscapes = true;
    this.#mustNotEnd(at);
    if (at - start > nameMaxBytes) throw this.fault('a name is too long');
    this.at = at;
    const text = bytes.toString('latin1', start + 1, at);
    // A # without two digits stands for itself, as PDF 1.1 wrote it.
    return hasEscapes
      ? text.replaceAll(/#([0-9A-Fa-f]{2})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
      : text;
  }

  #numberOrReference(): PdfObject {
    const number = this.takeInteger();
    if (number === undefined) return this.#number();
    const behind = this.at;
    const reference = this.#restOfReference(number);
    if (reference !== undefined) return reference;
    this.at = behind;
    return number;
  }

  /** Reads what makes an integer the beginning of a reference: `0 R`. */
  #restOfReference(number: number): PdfReference | undefined {
    if (!this.#isAtSpace) return undefined;
    this.skipSpace();
    const generation = this.takeInteger();
    if (generation === undefined || !this.#isAtSpace) return undefined;
    this.skipSpace();
    return this.takes('R') ? this.#weighed(weights.reference, new PdfReference(number, generation)) : undefined;
  }

  /** White space or a comment is next, which counts as such (7.2.4). */
  get #isAtSpace(): boolean {
    return isSpace(this.#bytes[this.at]) || this.#bytes[this.at] === 0x25;
  }

  #number(): number {
    const start = this.at;
    let at = start;
    while (isRegular(this.#bytes[at])) at += 1;
    this.#mustNotEnd(at);
    const text = this.#bytes.toString('latin1', start, Math.min(at, start + numberMaxCharacters + 1));
    if (text.length > numberMaxCharacters || !/^[+-]?(?:\d+\.?\d*|\.\d+)$/.test(text)) throw this.fault('a number is malformed', start);
    this.at = at;
    return Number(text);
  }

  #array(depth: number): readonly PdfObject[] {
    if (depth >= depthMax) throw this.fault(`more than ${depthMax} arrays and dictionaries inside each other`);
    const elements = this.#weighed<PdfObject[]>(weights.array, []);
    this.at += 1;
    for (;;) {
      this.skipSpace();
      if (this.#bytes[this.at] === 0x5d) break;
      elements.push(this.object(depth + 1));
    }
    this.at += 1;
    return elements;
  }

  #dictionary(depth: number): PdfDictionary {
    if (depth >= depthMax) throw this.fault(`more than ${depthMax} arrays and dictionaries inside each other`);
    const entries = this.#weighed(weights.dictionary, new Map<string, PdfObject>());
    let pointed: Set<string> | undefined;
    this.at += 2;
    for (;;) {
      this.skipSpace();
      if (this.#bytes[this.at] === 0x3e && this.#second === 0x3e) break;
      if (this.#bytes[this.at] !== 0x2f) throw this.fault('a dictionary has no name where a key should be');
      const keyAt = this.at;
      const key = this.#weighed(weights.entry, this.#name());
      const value = this.object(depth + 1);
      if (isInteger(value) && this.#hasPoint) (pointed ??= new Set()).add(key);
      // Some readers take the first one, others the last one: the file would have two meanings.
      if (entries.has(key)) throw this.fault('a dictionary has a key twice', keyAt);
      entries.set(key, value);
    }
    this.at += 2;
    return new PdfDictionary(entries, pointed);
  }

  /** The number that was read is written with a point. */
  get #hasPoint(): boolean {
    let at = this.at - 1;
    while (isRegular(this.#bytes[at]) && this.#bytes[at] !== 0x2e) at -= 1;
    return this.#bytes[at] === 0x2e;
  }

  #string(bytes: Uint8Array): PdfString {
    return this.#weighed(weights.string + bytes.length, new PdfString(bytes, this.#window.decryptString));
  }

  #hexString(): Uint8Array {
    const bytes = this.#bytes;
    const start = this.at;
    const end = bytes.indexOf(0x3e, start);
    if (end < 0) {
      this.#mustNotEnd(bytes.length);
      throw this.fault('a string does not end', start);
    }
    const value = Buffer.allocUnsafe((end - start + 1) >> 1);
    let digits = 0;
    for (let at = start + 1; at < end; at += 1) {
      const digit = hexDigit(bytes[at]);
      if (digit >= 0) {
        value[digits >> 1] = (digits & 1) === 0 ? digit << 4 : (value[digits >> 1] ?? 0) | digit;
        digits += 1;
      } else if (!isSpace(bytes[at])) {
        throw this.fault('a hexadecimal string has another character', at);
      }
    }
    this.at = end + 1;
    // Without its last digit, a string has a zero there (7.3.4.3).
    return value.subarray(0, (digits + 1) >> 1);
  }

  #literalString(): Uint8Array {
    const end = literalEnd(this.#bytes, this.at);
    if (end === undefined) {
      this.#mustNotEnd(this.#bytes.length);
      throw this.fault('a string does not end');
    }
    const value = literalBytes(this.#bytes, this.at + 1, end);
    this.at = end + 1;
    return value;
  }
}
