import type { CanonicalRun } from './canonical-run.ts';
import { Malformed } from './markup-bytes.ts';
import type { PieceWindow } from './piece-window.ts';
import { referenceEnd, referredCodePoint } from './reference.ts';

/** Bytes of text: 0 is written as it stands, 1 is `<`, 2 needs care, 3 does not occur in XML. */
const textBytes = new Uint8Array(256);
textBytes.fill(3, 0, 0x20);
textBytes[0x09] = 0;
textBytes[0x0a] = 0;
textBytes[0x0d] = 2;
textBytes[0x26] = 2;
textBytes[0x3e] = 2;
textBytes[0x3c] = 1;

const ampersand = Buffer.from('&amp;');
const lessThan = Buffer.from('&lt;');
const greaterThan = Buffer.from('&gt;');
const carriageReturn = Buffer.from('&#xD;');
const lineFeed = Buffer.from('\n');

/**
 * Reads text and CDATA sections. Each method takes the offset of a token, and returns the offset
 * behind what it has read: the same one if the token extends beyond the window.
 */
export class CharacterData {
  readonly #window: PieceWindow;
  readonly #run: CanonicalRun;
  /** The last section that was entered has not ended. */
  isInSection = false;

  constructor(window: PieceWindow, run: CanonicalRun) {
    this.#window = window;
    this.#run = run;
  }

  /** Reads text up to the next `<`. */
  text(at: number): number {
    const { bytes } = this.#window;
    const end = bytes.length;
    for (let next = at; ;) {
      while (next < end && textBytes[bytes[next] ?? 0] === 0) next += 1;
      if (next >= end) return withoutBrackets(bytes, at, end);
      const byte = bytes[next];
      if (byte === 0x3c) return next;
      if (byte === 0x26) {
        const behind = referenceEnd(bytes, next, end);
        if (behind === next) return next;
        this.#writeReferred(next, behind, referredCodePoint(bytes, next, behind));
        next = behind;
      } else if (byte === 0x3e) {
        if (next - at >= 2 && bytes[next - 1] === 0x5d && bytes[next - 2] === 0x5d) throw new Malformed('text contains ]]>', next - 2);
        this.#run.replace(next, next + 1, greaterThan);
        next += 1;
      } else {
        const behind = this.#lineEnd(next);
        if (behind === next) return next;
        next = behind;
      }
    }
  }

  /** Reads the content of a section, and its end. */
  section(at: number): number {
    const { bytes } = this.#window;
    const end = bytes.length;
    for (let next = at; ;) {
      while (next < end && textBytes[bytes[next] ?? 0] === 0 && bytes[next] !== 0x5d) next += 1;
      if (next >= end) return next;
      const byte = bytes[next];
      if (byte === 0x5d) {
        if (next + 2 >= end) return next;
        if (bytes[next + 1] === 0x5d && bytes[next + 2] === 0x3e) {
          this.#run.end(next, next + 3);
          this.isInSection = false;
          return next + 3;
        }
        next += 1;
      } else if (byte === 0x26 || byte === 0x3c || byte === 0x3e) {
        this.#run.replace(next, next + 1, byte === 0x26 ? ampersand : byte === 0x3c ? lessThan : greaterThan);
        next += 1;
      } else {
        const behind = this.#lineEnd(next);
        if (behind === next) return next;
        next = behind;
      }
    }
  }

  /**
   * Writes the character of a reference, unless the reference itself is what Canonical XML writes.
   */
  #writeReferred(at: number, end: number, codePoint: number): void {
    const { bytes } = this.#window;
    const isEntity = bytes[at + 1] !== 0x23;
    if (isEntity && (codePoint === 0x26 || codePoint === 0x3c || codePoint === 0x3e)) return;
    if (codePoint === 0x26) this.#run.replace(at, end, ampersand);
    else if (codePoint === 0x3c) this.#run.replace(at, end, lessThan);
    else if (codePoint === 0x3e) this.#run.replace(at, end, greaterThan);
    else if (codePoint === 0x0d) this.#run.replace(at, end, carriageReturn);
    else this.#run.replace(at, end, Buffer.from(String.fromCodePoint(codePoint)));
  }

  /**
   * Reads a carriage return, and writes a line feed for it and a line feed that follows (XML 1.0,
   * 2.11).
   */
  #lineEnd(at: number): number {
    const { bytes } = this.#window;
    if (bytes[at] !== 0x0d) throw new Malformed('a character is not allowed', at);
    if (at + 1 >= bytes.length) return at;
    if (bytes[at + 1] === 0x0a) this.#run.end(at, at + 1);
    else this.#run.replace(at, at + 1, lineFeed);
    return at + 1;
  }
}

/** Returns `end` without `]` before it, as those may be the start of `]]>`; at least `from`. */
function withoutBrackets(bytes: Uint8Array, from: number, end: number): number {
  let last = end;
  while (last > from && last > end - 2 && bytes[last - 1] === 0x5d) last -= 1;
  return last;
}

/** @throws {Malformed} for a byte that does not occur in XML */
export function checkCharacters(bytes: Uint8Array, start: number, end: number): void {
  for (let at = start; at < end; at += 1) if (textBytes[bytes[at] ?? 0] === 3) throw new Malformed('a character is not allowed', at);
}
