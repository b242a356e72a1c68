import { referenceEnd, referredCodePoint } from './reference.ts';

/*
 * Values are strings with one unit for each byte of UTF-8: their order is that of code points,
 * which the order of UTF-16 units is not.
 */

/**
 * Returns the normalised value (XML 1.0, 3.3.3) of the bytes between the quotes of an attribute.
 */
export function attributeValue(bytes: Buffer, start: number, end: number): string {
  const raw = bytes.toString('latin1', start, end);
  if (!/[&\t\n\r]/.test(raw)) return raw;
  let value = '';
  let copied = start;
  for (let at = start; at < end;) {
    const byte = bytes[at];
    if (byte !== 0x26 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) {
      at += 1;
      continue;
    }
    value += raw.slice(copied - start, at - start);
    if (byte === 0x26) {
      const next = referenceEnd(bytes, at, end);
      value += binary(String.fromCodePoint(referredCodePoint(bytes, at, next)));
      at = next;
    } else {
      value += ' ';
      at += byte === 0x0d && at + 1 < end && bytes[at + 1] === 0x0a ? 2 : 1;
    }
    copied = at;
  }
  return value + raw.slice(copied - start);
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '"': '&quot;',
  '\t': '&#x9;',
  '\n': '&#xA;',
  '\r': '&#xD;',
};

/** Returns a normalised value as Canonical XML writes it (1.0, 2.3). */
export function escapedValue(value: string): Buffer {
  return Buffer.from(
    value.replace(/[&<"\t\n\r]/g, (character) => escapes[character] ?? character),
    'latin1',
  );
}

/** Returns a text with one unit for each byte of its UTF-8. */
export function binary(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
