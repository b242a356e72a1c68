import { TwoDDocFault } from '../two-d-doc-fault.ts';
import { shift1, shift3, upperShiftValue } from './codewords.ts';

/** Encodations with three values in two codewords. */
export type PairEncodation = 'C40' | 'TEXT' | 'X12';

const upperCase = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const lowerCase = upperCase.toLowerCase();
const digits = '0123456789';
const controls = Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).join('');
const punctuation = '!"#$%&\'()*+,-./:;<=>?@[\\]^_';

/**
 * Characters by set and value (ISO/IEC 16022, tables C.1 and C.2): without a shift, after shift 1,
 * 2 and 3. The first three values are shifts.
 */
const shiftedSets = {
  C40: [`\0\0\0 ${digits}${upperCase}`, controls, punctuation, `\`${lowerCase}{|}~\u007f`],
  TEXT: [`\0\0\0 ${digits}${lowerCase}`, controls, punctuation, `\`${upperCase}{|}~\u007f`],
} as const;
const x12 = `\r*> ${digits}${upperCase}`;

/** Decodes the codewords between the latch and the end of an encodation. @throws {TwoDDocFault} */
export function decodedPairs(codewords: Uint8Array, encodation: PairEncodation): number[] {
  const values: number[] = [];
  for (let at = 0; at + 1 < codewords.length; at += 2) {
    const triple = 256 * (codewords[at] ?? 0) + (codewords[at + 1] ?? 0) - 1;
    values.push(Math.floor(triple / 1600), Math.floor(triple / 40) % 40, triple % 40);
  }
  return encodation === 'X12' ? values.map((value) => byteOf(x12, value)) : shiftedBytes(values, shiftedSets[encodation]);
}

/** A shift at the end is a pad. */
function shiftedBytes(values: readonly number[], sets: readonly [string, string, string, string]): number[] {
  const bytes: number[] = [];
  let [set, high] = [0, 0];
  for (const value of values) {
    if (set === 0 && value >= shift1 && value <= shift3) {
      set = value + 1;
    } else if (set === 2 && value === upperShiftValue) {
      [set, high] = [0, 128];
    } else {
      bytes.push(byteOf(sets[set] ?? '', value) + high);
      [set, high] = [0, 0];
    }
  }
  return bytes;
}

function byteOf(set: string, value: number): number {
  if (value < 0 || value >= set.length) throw new TwoDDocFault(`value ${value} of the symbol stands for no character`);
  return set.charCodeAt(value);
}
