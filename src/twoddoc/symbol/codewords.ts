/** Codewords that are not data (ISO/IEC 16022, table 2). */
export const latchC40 = 230;
export const latchBase256 = 231;
export const upperShift = 235;
export const latchX12 = 238;
export const latchText = 239;
export const latchEdifact = 240;
/** Back to ASCII encodation, from C40, Text and X12. */
export const unlatch = 254;
export const pad = 129;

/** Values of C40 and Text that change what the next one stands for (table C.1). */
export const shift1 = 0;
export const shift2 = 1;
export const shift3 = 2;
/** In the set of shift 2: the next character is 128 higher. */
export const upperShiftValue = 30;

/** Pad codeword at a place, which is 1 for the first codeword (annex B.1). */
export function randomisedPad(place: number): number {
  const value = pad + ((149 * place) % 253) + 1;
  return value > 254 ? value - 254 : value;
}

/** Codeword for a byte of Base 256 at a place, which is 1 for the first codeword (annex B.2). */
export function randomised(byte: number, place: number): number {
  return (byte + ((149 * place) % 255) + 1) & 0xff;
}

/** The byte of Base 256 that a codeword stands for. */
export function derandomised(codeword: number, place: number): number {
  return (codeword - ((149 * place) % 255) - 1) & 0xff;
}
