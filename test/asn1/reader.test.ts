import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import { readTime } from '../../src/asn1/read-time.ts';
import { children, DerError, readAll, readElement, readObjectIdentifier } from '../../src/asn1/reader.ts';
import { isWellFormedDer } from '../../src/asn1/well-formed.ts';

const fromHex = (text: string): Uint8Array => Buffer.from(text, 'hex');

describe('refuses', () => {
  test.each([
    ['nothing at all', ''],
    ['an indefinite length', '30800000'],
    ['a length in more octets than it needs', '04810100'],
    ['a length with a leading zero', `04820080${'00'.repeat(128)}`],
    ['a length of five octets', '0485000000000100'],
    ['an element that ends beyond its buffer', '040200'],
    ['a length that is cut short', '0482ff'],
    ['a tag number above 30', '1f8101'],
    ['end-of-contents octets', '0000'],
    ['something after the element', '050000'],
  ])('%s', (_, encoding) => {
    expect(() => readAll(fromHex(encoding))).toThrow(DerError);
  });

  test.each([
    ['no content', '0600'],
    ['an arc that does not end', '060181'],
    ['an arc with leading zeros', '06038001'],
    ['another type', '0500'],
    ['arcs longer than any', `068181${'81'.repeat(128)}01`],
  ])('an OBJECT IDENTIFIER with %s', (_, encoding) => {
    expect(() => readObjectIdentifier(readAll(fromHex(encoding)))).toThrow(DerError);
  });

  test('the parts of a primitive element', () => {
    expect(() => children(readAll(der.nullValue()))).toThrow(DerError);
  });

  test.each(['260230000000Z', '2602010000Z', '260201000000+0100', '20260201000000.5Z', '260201006000Z'])('the time %s', (digits) => {
    const tag = /^\d{14}/.test(digits) ? 0x18 : 0x17;
    expect(() => readTime(readAll(der.tagged(tag, Buffer.from(digits))))).toThrow(DerError);
  });
});

/** Random octets, and encodings with a few octets changed: what an attacker sends. */
const encodings = fc.oneof(
  fc.uint8Array({ maxLength: 60 }),
  fc
    .tuple(fc.array(fc.uint8Array({ maxLength: 10 }), { maxLength: 4 }), fc.array(fc.tuple(fc.nat(60), fc.nat(255)), { maxLength: 3 }))
    .map(([values, changes]) => {
      const encoding = der.sequence(...values.map((value) => der.octetString(value)), der.oid('1.2.3'), der.time(new Date(0)));
      for (const [at, octet] of changes) if (at < encoding.length) encoding[at] = octet;
      return encoding;
    }),
);

test('any octets are read or refused with a DerError, and never with another error', () => {
  fc.assert(
    fc.property(encodings, (octets) => {
      const attempts = [
        () => readAll(octets),
        () => children(readElement(octets)),
        () => readObjectIdentifier(readElement(octets)),
        () => readTime(readElement(octets)),
      ];
      for (const attempt of attempts) {
        try {
          attempt();
        } catch (error) {
          expect(error).toBeInstanceOf(DerError);
        }
      }
      isWellFormedDer(octets);
    }),
    { numRuns: 2000 },
  );
});

test('reads back the value that was written', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.uint8Array({ maxLength: 5 }), (value, before) => {
      const element = readElement(der.concat(before, der.octetString(value)), before.length);
      expect(element.start).toBe(before.length);
      expect(element.content).toEqual(value);
      expect(element.raw).toEqual(der.octetString(value));
      expect(element.contentStart + value.length).toBe(element.end);
    }),
  );
});

describe('well-formed DER', () => {
  test.each(['0500', '30030101ff', '020100', '02020080', '3000', '0c00', '03020780', 'a0020500'])('%s is', (encoding) => {
    expect(isWellFormedDer(fromHex(encoding))).toBe(true);
  });

  test.each([
    '',
    '05',
    '050100',
    '010102',
    '0200',
    '02020001',
    '0202ff80',
    '0300',
    '030101',
    '30020400ff',
    '3003040200',
    '240304010a',
    '1000',
    '0600',
  ])('%s is not', (encoding) => {
    expect(isWellFormedDer(fromHex(encoding))).toBe(false);
  });

  test('excludes excessive nesting', () => {
    let deep = der.nullValue();
    for (let level = 0; level < 40; level += 1) deep = der.sequence(deep);
    expect(isWellFormedDer(deep)).toBe(false);
  });
});
