import { latchBase256, latchC40, randomised, shift1, shift2, shift3, unlatch, upperShift, upperShiftValue } from './codewords.ts';

/**
 * Codewords of a code, before pads. Between both parts is the codeword that leaves C40, unless the
 * symbol ends there.
 */
export interface EncodedCode {
  /** Begins with the latch to C40; empty if nothing is in C40. */
  readonly c40: readonly number[];
  readonly ascii: readonly number[];
}

/** Values of each byte (ISO/IEC 16022, table C.1). */
const values: readonly (readonly number[])[] = Array.from({ length: 256 }, (_, byte) => valuesOf(byte));

function valuesOf(byte: number): readonly number[] {
  if (byte >= 128) return [shift2, upperShiftValue, ...valuesOf(byte - 128)];
  if (byte < 32) return [shift1, byte];
  if (byte === 32) return [3];
  if (byte >= 48 && byte <= 57) return [byte - 48 + 4];
  if (byte >= 65 && byte <= 90) return [byte - 65 + 14];
  if (byte >= 96) return [shift3, byte - 96];
  if (byte < 48) return [shift2, byte - 33];
  return [shift2, byte < 65 ? byte - 58 + 15 : byte - 91 + 22];
}

/**
 * Encodes a code as 2D-Doc wants it: one latch, and everything in C40. If two values are left over,
 * they are padded with shift 1; if one is, its character is in ASCII (ISO/IEC 16022, 5.2.5.2). So
 * are more characters at the end, if the value that is left over is only a part of one.
 */
export function inC40(code: Uint8Array): EncodedCode {
  const all = Array.from(code, (byte) => values[byte] ?? []);
  let count = all.reduce((sum, { length }) => sum + length, 0);
  let end = all.length;
  while (count % 3 === 1) {
    end -= 1;
    count -= all[end]?.length ?? 0;
  }
  const ascii = Array.from(code.subarray(end)).flatMap((byte) => (byte < 128 ? [byte + 1] : [upperShift, byte - 127]));
  return { c40: codewordsOf(all.slice(0, end).flat()), ascii };
}

/** Three values in two codewords each (5.2.5.1). */
function codewordsOf(encoded: readonly number[]): number[] {
  if (encoded.length === 0) return [];
  const codewords = [latchC40];
  for (let at = 0; at < encoded.length; at += 3) {
    const triple = 1600 * (encoded[at] ?? 0) + 40 * (encoded[at + 1] ?? shift1) + (encoded[at + 2] ?? shift1) + 1;
    codewords.push(triple >> 8, triple & 0xff);
  }
  return codewords;
}

/**
 * Encodes the text before the first byte from 128 on in C40, and the rest in Base 256 (5.2.9). That
 * is smaller for a code of version 01, whose signature is binary: in C40 such a byte takes three
 * values or four.
 */
export function inC40AndBase256(code: Uint8Array): EncodedCode {
  const firstBinary = code.findIndex((byte) => byte >= 128);
  if (firstBinary < 0) return inC40(code);
  const { c40, ascii: leftOver } = inC40(code.subarray(0, firstBinary));
  // A character that C40 leaves over takes a codeword in either encodation.
  const rest = code.subarray(firstBinary - leftOver.length);
  const length = rest.length < 250 ? [rest.length] : [249 + Math.floor(rest.length / 250), rest.length % 250];
  const ascii = [latchBase256];
  const offset = c40.length + (c40.length > 0 ? 1 : 0) + ascii.length + 1;
  for (const [index, byte] of [...length, ...rest].entries()) ascii.push(randomised(byte, offset + index));
  return { c40, ascii };
}

/**
 * Returns how many codewords a code takes in a symbol of `room` codewords, with the end of C40 if
 * there has to be one.
 */
export function codewordsIn(room: number, { c40, ascii }: EncodedCode): number {
  const length = c40.length + ascii.length;
  return c40.length === 0 || length === c40.length || endsWithoutUnlatch(room, { c40, ascii }) ? length : length + 1;
}

/** C40 ends by itself where the symbol ends, or one codeword before that (5.2.5.2, c and d). */
function endsWithoutUnlatch(room: number, { c40, ascii }: EncodedCode): boolean {
  return ascii.length < 2 && c40.length + ascii.length === room;
}

/** Returns the codewords in a symbol of `room` codewords in which they fit, still without pads. */
export function joined(room: number, encoded: EncodedCode): number[] {
  const { c40, ascii } = encoded;
  if (c40.length === 0 || endsWithoutUnlatch(room, encoded)) return [...c40, ...ascii];
  return [...c40, unlatch, ...ascii];
}
