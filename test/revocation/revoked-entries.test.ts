import { array, assert, constantFrom, integer, property, uint8Array } from 'fast-check';
import { expect, test } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import { readElement } from '../../src/asn1/reader.ts';
import { time } from '../../src/asn1/der.ts';
import { RevokedEntries } from '../../src/revocation/revoked-entries.ts';

const revokedAt = new Date('2026-01-02T03:04:05Z');
const entryOf = (serial: Uint8Array, padding = 0): Uint8Array =>
  der.sequence(
    Buffer.concat([Buffer.of(0x02, ...lengthOf(serial.length)), serial]),
    time(revokedAt),
    ...(padding === 0 ? [] : [der.sequence(der.sequence(der.oid('1.2.3'), der.octetString(Buffer.alloc(padding))))]),
  );
const lengthOf = (length: number): number[] => (length < 0x80 ? [length] : [0x81, length]);

test('every serial number of a list is found, and no other', () => {
  const serial = uint8Array({ minLength: 1, maxLength: 200 });
  const entry = array(serial, { maxLength: 20 });
  assert(
    property(entry, serial, integer({ min: 0, max: 300 }), (serials, wanted, padding) => {
      const entries = new RevokedEntries(Buffer.concat(serials.map((one, index) => entryOf(one, index % 2 === 0 ? padding : 0))));
      for (const one of serials) expect(entries.lookUp(one)).toEqual({ entry: { revokedAt, reason: undefined } });
      const isThere = serials.some((one) => Buffer.compare(one, wanted) === 0);
      for (let round = 0; round < 2; round += 1) expect(entries.lookUp(wanted).entry !== undefined).toBe(isThere);
    }),
    { numRuns: 300 },
  );
});

test('a list that was changed anywhere is read as its elements are, or not at all', () => {
  const serials = [Buffer.of(1), Buffer.of(0, 200, 3), Buffer.alloc(140, 7), Buffer.of(9, 9)];
  const bytes = Buffer.concat(serials.map((one) => entryOf(one)));
  assert(
    property(integer({ min: 0, max: bytes.length - 1 }), constantFrom(0, 1, 2, 0x30, 0x7f, 0x80, 0x82, 0xff), (index, value) => {
      const changed = Uint8Array.from(bytes);
      changed[index] = value;
      for (const serial of serials) {
        const { entry, unreadable } = new RevokedEntries(changed).lookUp(serial);
        if (unreadable === undefined) expect(entry !== undefined).toBe(isAmong(changed, serial));
      }
    }),
    { numRuns: 2000 },
  );
});

/** The same, element by element, as far as the first that it is. */
function isAmong(content: Uint8Array, serial: Uint8Array): boolean {
  for (let offset = 0; offset < content.length;) {
    const entry = readElement(content, offset);
    if (Buffer.compare(readElement(entry.content).content, serial) === 0) return true;
    offset = entry.end;
  }
  return false;
}
