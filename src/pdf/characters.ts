/** Classes of characters (ISO 32000-2, 7.2.3): 1 white space, 2 delimiter, 0 regular. */
const classes = new Uint8Array(256);
for (const byte of [0x00, 0x09, 0x0a, 0x0c, 0x0d, 0x20]) classes[byte] = 1;
for (const character of '()<>[]{}/%') classes[character.charCodeAt(0)] = 2;

export function isSpace(byte: number | undefined): boolean {
  return byte !== undefined && classes[byte] === 1;
}

/** Returns true for a character that can be part of a number, a keyword or a name. */
export function isRegular(byte: number | undefined): boolean {
  return byte !== undefined && classes[byte] === 0;
}

/** Returns the value of a hexadecimal digit, -1 for another character. */
export function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
