import { describe, expect, test } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import { DerError, readAll } from '../../src/asn1/reader.ts';
import { areLight, checkElements, elementsMax } from '../../src/x509/certificate-load.ts';
import { readCertificate } from '../../src/x509/certificate.ts';
import { canonicalName } from '../../src/x509/path/canonical-name.ts';
import { alternativeNames, constraints, extension, name, strangersCertificate } from '../support/strangers-certificates.ts';

const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index));
const common = (index: number): Uint8Array => der.sequence(der.oid('2.5.4.3'), der.utf8String(`${index}`));

const heavy: Readonly<Record<string, Uint8Array>> = {
  extensions: strangersCertificate({ extensions: many(2000, (index) => extension(`1.2.3.${index}`, new Uint8Array())) }),
  'relative names': strangersCertificate({ subject: name(...many(2000, String)) }),
  'attributes of one relative name': strangersCertificate({ issuer: der.sequence(der.set(...many(2000, common))) }),
  'alternative names': strangersCertificate({ extensions: [alternativeNames(4000)] }),
  constraints: strangersCertificate({ extensions: [constraints(2000)] }),
  policies: strangersCertificate({
    extensions: [extension('2.5.29.32', der.sequence(...many(2000, (index) => der.sequence(der.oid(`1.2.${index}`)))))],
  }),
  // OpenSSL reads it.
  'alternative names in BER': strangersCertificate({
    extensions: [
      extension('2.5.29.17', Buffer.concat([Buffer.of(0x30, 0x80), Buffer.alloc(9000, Buffer.of(0x82, 1, 0x61)), Buffer.of(0, 0)])),
    ],
  }),
  'a nest': strangersCertificate({
    extensions: [
      extension(
        '1.2.3',
        many(3000, () => 0).reduce<Uint8Array>((inner) => der.sequence(inner), der.nullValue()),
      ),
    ],
  }),
};

describe('a certificate with too many elements', () => {
  test.each(Object.entries(heavy))('is refused before it is parsed: %s', (_what, certificate) => {
    expect(certificate.length).toBeLessThan(262_144);
    expect(() => {
      checkElements(certificate);
    }).toThrow(`more than ${elementsMax.certificate} elements`);
    expect(() => readCertificate(certificate)).toThrow(DerError);
  });
});

test.each([
  ['500 alternative names', strangersCertificate({ extensions: [alternativeNames(500)] })],
  ['a picture', strangersCertificate({ extensions: [extension('1.2.3', Buffer.alloc(100_000, 'picture'))] })],
  ['500 constraints', strangersCertificate({ extensions: [constraints(500)] })],
])('a certificate with %s is read', (_what, certificate) => {
  expect(readCertificate(certificate).der).toBe(certificate);
});

describe('certificates together', () => {
  const one = strangersCertificate({ extensions: [alternativeNames(3000)] });

  test('are light up to a number of elements', () => {
    expect([areLight([]), areLight([one, one, one]), areLight([one, one, one, one])]).toEqual([true, true, false]);
    expect(areLight(many(100, () => strangersCertificate({})))).toBe(true);
  });

  test('are not if one of them is no DER and long', () => {
    expect([areLight([Buffer.alloc(20_000, 0x80)]), areLight([Buffer.alloc(20_002, 0x80)])]).toEqual([true, false]);
  });
});

describe('a name', () => {
  test('has at most 16 KiB', () => {
    const long = name(...many(1000, (index) => `relative name ${index}`));
    expect(long.length).toBeGreaterThan(16 * 1024);
    expect(() => canonicalName(long)).toThrow('name of more than 16384 octets');
    expect(canonicalName(readAll(name('a', 'b')).raw).relativeNames.length).toBe(2);
  });
});
