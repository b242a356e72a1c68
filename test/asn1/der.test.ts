import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import { oids } from '../../src/asn1/object-identifiers.ts';
import { readTime } from '../../src/asn1/read-time.ts';
import { children, readAll, readObjectIdentifier } from '../../src/asn1/reader.ts';
import { openssl } from '../certificates/openssl.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const bytes = (length?: number) => fc.uint8Array(length === undefined ? {} : { maxLength: length });

describe('INTEGER', () => {
  test.each([
    [0, '020100'],
    [127, '02017f'],
    [128, '02020080'],
    [256, '02020100'],
    [-1, '0201ff'],
    [-128, '020180'],
    [-129, '0202ff7f'],
    [2n ** 64n, '0209010000000000000000'],
  ])('%s is %s', (value, encoding) => {
    expect(hex(der.integer(value))).toBe(encoding);
  });

  test('any number is read back, from the fewest octets', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 200n), max: 2n ** 200n }), (value) => {
        const { content } = readAll(der.integer(value));
        expect(BigInt.asIntN(content.length * 8, BigInt(`0x${hex(content)}`))).toBe(value);
        if (content.length > 1) expect(BigInt.asIntN((content.length - 1) * 8, value)).not.toBe(value);
      }),
    );
  });

  test('unsigned octets and their number have the same encoding', () => {
    fc.assert(
      fc.property(bytes(40), (octets) => {
        expect(hex(der.integer(octets))).toBe(hex(der.integer(BigInt(`0x${hex(octets) || '0'}`))));
      }),
    );
  });

  test('refuses a number that is not an integer', () => {
    expect(() => der.integer(0.5)).toThrow(RangeError);
  });
});

describe('OBJECT IDENTIFIER', () => {
  const arc = fc.oneof(fc.nat(), fc.bigInt({ min: 0n, max: 2n ** 90n }));
  const first = fc.oneof(fc.tuple(fc.constantFrom(0, 1), fc.nat(39)), fc.tuple(fc.constant(2), arc));
  const text = fc.tuple(first, fc.array(arc, { maxLength: 6 })).map(([head, rest]) => [...head, ...rest].join('.'));

  test('any value is read back', () => {
    fc.assert(
      fc.property(text, (value) => {
        expect(readObjectIdentifier(readAll(der.oid(value)))).toBe(value);
      }),
    );
  });

  test.each(['', '1', '3.1', '0.40', '1.2.', '1.02', '1.-2', '1.2.a', ' 1.2', '1.2\n'])('refuses %j', (value) => {
    expect(() => der.oid(value)).toThrow(RangeError);
  });
});

test('lengths take the fewest octets', () => {
  for (const length of [0, 127, 128, 255, 256, 65_535, 65_536, 20_000_000]) {
    const encoding = der.octetString(new Uint8Array(length));
    expect(readAll(encoding).content.length).toBe(length);
  }
  expect(hex(der.octetString(new Uint8Array(200)).subarray(0, 3))).toBe('0481c8');
});

test('a SET OF is sorted by its encodings, whatever the order of its parts', () => {
  fc.assert(
    fc.property(fc.array(bytes(4)), (values) => {
      const encoding = der.setOf(values.map((value) => der.octetString(value)));
      const parts = children(readAll(encoding)).map((part) => hex(part.raw));
      expect(parts).toEqual(parts.toSorted());
      expect(encoding).toEqual(der.setOf(values.toReversed().map((value) => der.octetString(value))));
    }),
  );
});

test('strings keep every character, and refuse one that their type does not have', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (value) => {
      expect(Buffer.from(readAll(der.utf8String(value)).content).toString('utf8')).toBe(value);
    }),
  );
  expect(() => der.utf8String('\ud800')).toThrow(RangeError);
  expect(() => der.printableString('a@b')).toThrow(RangeError);
  expect(() => der.ia5String('é')).toThrow(RangeError);
  expect(() => der.numericString('1a')).toThrow(RangeError);
});

test('a BIT STRING has no stray bits', () => {
  expect(hex(der.bitString(Uint8Array.of(0x60), 5))).toBe('03020560');
  expect(() => der.bitString(Uint8Array.of(0x61), 5)).toThrow(RangeError);
  expect(() => der.bitString(new Uint8Array(), 1)).toThrow(RangeError);
});

describe('times', () => {
  test.each([
    ['2049-12-31T23:59:59.999Z', '491231235959Z'],
    ['2050-01-01T00:00:00Z', '20500101000000Z'],
    ['1950-01-01T00:00:00Z', '500101000000Z'],
    ['1949-12-31T23:59:59Z', '19491231235959Z'],
    ['9999-12-31T23:59:59Z', '99991231235959Z'],
  ])('%s is %s', (date, digits) => {
    expect(Buffer.from(readAll(der.time(new Date(date))).content).toString()).toBe(digits);
  });

  test('any time is read back, to the second', () => {
    fc.assert(
      fc.property(fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true }), (date) => {
        const seconds = Math.floor(date.getTime() / 1000);
        expect(readTime(readAll(der.time(date))).getTime()).toBe(seconds * 1000);
      }),
    );
  });

  test('refuses a date beyond four digits of year', () => {
    expect(() => der.time(new Date('+010000-01-01T00:00:00Z'))).toThrow(RangeError);
  });
});

test('openssl reads what was written', () => {
  const encoding = der.sequence(
    der.oid(oids.signedData),
    der.explicit(0, der.boolean(true)),
    der.set(der.nullValue()),
    der.implicitPrimitive(1, Uint8Array.of(1)),
    der.implicitConstructed(2, der.integer(-5)),
    der.generalizedTime(new Date('2030-01-02T03:04:05Z')),
    der.utf8String('Zoé'),
  );
  const dump = openssl(['asn1parse', '-inform', 'DER'], encoding);
  for (const part of [
    'pkcs7-signedData',
    'cont [ 0 ]',
    'BOOLEAN           :255',
    'NULL',
    'prim: cont [ 1 ]',
    'INTEGER           :-05',
    '20300102030405Z',
    'Zoé',
  ]) {
    expect(dump).toContain(part);
  }
});
