import { TwoDDocFault } from '../two-d-doc-fault.ts';
import { decodedPairs, type PairEncodation } from './decoded-pairs.ts';
import { derandomised, latchBase256, latchC40, latchEdifact, latchText, latchX12, pad, unlatch, upperShift } from './codewords.ts';

/** What an encodation has read: the bytes, and where ASCII goes on. */
interface Stretch {
  readonly bytes: readonly number[];
  readonly end: number;
}

const pairLatches: ReadonlyMap<number, PairEncodation> = new Map([
  [latchC40, 'C40'],
  [latchText, 'TEXT'],
  [latchX12, 'X12'],
]);

/**
 * Decodes the data codewords of a symbol in any of the encodations of ISO/IEC 16022, 5.2: ASCII,
 * C40, Text, X12, EDIFACT and Base 256.
 * @throws {TwoDDocFault} for a codeword that stands for no byte: FNC1, ECI, structured append,
 *   macros
 */
export function decoded(codewords: Uint8Array): Uint8Array {
  const bytes: number[] = [];
  for (let at = 0; at < codewords.length && codewords[at] !== pad;) {
    const stretch = stretchAt(codewords, at);
    bytes.push(...stretch.bytes);
    at = stretch.end;
  }
  return Uint8Array.from(bytes);
}

function stretchAt(codewords: Uint8Array, at: number): Stretch {
  const codeword = codewords[at] ?? 0;
  const encodation = pairLatches.get(codeword);
  if (encodation !== undefined) {
    const end = endOfPairs(codewords, at + 1);
    return { bytes: decodedPairs(codewords.subarray(at + 1, end), encodation), end: codewords[end] === unlatch ? end + 1 : end };
  }
  if (codeword === latchBase256) return base256(codewords, at + 1);
  if (codeword === latchEdifact) return edifact(codewords, at + 1);
  if (codeword === upperShift && isCharacter(codewords[at + 1])) return { bytes: [(codewords[at + 1] ?? 0) + 127], end: at + 2 };
  if (codeword > pad && codeword < latchC40)
    return { bytes: Array.from(String(codeword - 130).padStart(2, '0'), (digit) => digit.charCodeAt(0)), end: at + 1 };
  if (isCharacter(codeword)) return { bytes: [codeword - 1], end: at + 1 };
  throw new TwoDDocFault(`codeword ${codeword} of the symbol stands for no character`);
}

function isCharacter(codeword = 0): boolean {
  return codeword >= 1 && codeword <= 128;
}

/** Pairs end with a codeword that says so, or where less than a pair is left (5.2.5.2). */
function endOfPairs(codewords: Uint8Array, start: number): number {
  let at = start;
  while (at + 1 < codewords.length && codewords[at] !== unlatch) at += 2;
  return at;
}

/** 5.2.9: a length in one codeword or two, 0 if the bytes reach to the end of the symbol. */
function base256(codewords: Uint8Array, start: number): Stretch {
  const byteAt = (index: number): number => derandomised(codewords[index] ?? 0, index + 1);
  const first = byteAt(start);
  const isLong = first >= 250;
  const from = start + (isLong ? 2 : 1);
  const length = isLong ? 250 * (first - 249) + byteAt(start + 1) : first === 0 ? codewords.length - from : first;
  if (from + length > codewords.length) throw new TwoDDocFault('a part of the symbol in Base 256 is longer than the symbol');
  return { bytes: Array.from({ length }, (_, index) => byteAt(from + index)), end: from + length };
}

const edifactUnlatch = 31;

/**
 * 5.2.8: four values of six bits in three codewords. One codeword or two at the end of the symbol
 * are ASCII.
 */
function edifact(codewords: Uint8Array, start: number): Stretch {
  const bytes: number[] = [];
  let at = start;
  for (; codewords.length - at > 2; at += 3) {
    const [first = 0, second = 0, third = 0] = codewords.subarray(at, at + 3);
    const bits = (first << 16) | (second << 8) | third;
    for (let value = 0; value < 4; value += 1) {
      const six = (bits >> (18 - 6 * value)) & 0x3f;
      if (six === edifactUnlatch) return { bytes, end: at + Math.min(value + 1, 3) };
      bytes.push(six < 32 ? six + 64 : six);
    }
  }
  return { bytes, end: at };
}
