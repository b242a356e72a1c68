/** Octets of the serial numbers that this service gives (contract §7). */
const ownSerialNumberBytes = 16;

/** A serial number in hexadecimal without octets that say nothing: one text for each number. */
export function serialNumberText(hexadecimal: string): string {
  return hexadecimal.replace(/^(?:00)+(?=..)/, '');
}

/** The ways in which the state store may have written it: as it is, and as the sixteen octets that the token's generator gave. */
export function storedForms(text: string): string[] {
  const padded = text.padStart(ownSerialNumberBytes * 2, '0');
  return padded === text ? [text] : [text, padded];
}
