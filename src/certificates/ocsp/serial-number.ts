/** Octets in the serial numbers that this service assigns (contract §7). */
const ownSerialNumberBytes = 16;

/**
 * Returns a hexadecimal serial number without leading zero octets, so that each number has exactly
 * one text.
 */
export function serialNumberText(hexadecimal: string): string {
  return hexadecimal.replace(/^(?:00)+(?=..)/, '');
}

/**
 * Returns the forms in which the state store may hold it: without leading zeros, or as the 16
 * random octets.
 */
export function storedForms(text: string): string[] {
  const padded = text.padStart(ownSerialNumberBytes * 2, '0');
  return padded === text ? [text] : [text, padded];
}
