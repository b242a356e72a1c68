import { beforeAll, describe, expect, test } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import { children, readAll, readObjectIdentifier } from '../../src/asn1/reader.ts';
import { certificateExtensions } from '../../src/certificates/extensions.ts';
import { Pkcs10, type RequestedAttributes } from '../../src/certificates/pkcs10.ts';
import { CertificateProfile } from '../../src/config/profile.ts';
import { Refusal } from '../../src/result-codes.ts';
import { softwareAuthority, softwareKey, type SoftwareAuthority } from './software-authority.ts';

const key = softwareKey('P-256');
let authority: SoftwareAuthority;
beforeAll(async () => {
  authority = await softwareAuthority('P-256');
});

const base64 = (value: Uint8Array): string => Buffer.from(value).toString('base64');
const anything = base64(der.nullValue());

function attributes(asked: object): RequestedAttributes {
  return Pkcs10.parse({ attributes: { subscriber: {}, ...asked }, subject: { country: 'FR', commonName: 'x' } }).attributes;
}

/** The identifiers of the extensions, or the refusal. */
function identifiers(asked: object, profile: object = {}): string[] | Refusal {
  try {
    const full = CertificateProfile.parse({ keyType: 'P-256', ...profile });
    return certificateExtensions(full, authority.issuer, key.subjectPublicKeyInfo, attributes(asked)).map((extension) => {
      const [identifier = readAll(extension)] = children(readAll(extension));
      return readObjectIdentifier(identifier);
    });
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

const standard = ['2.5.29.35', '2.5.29.14', '2.5.29.15'];
const extension = (...list: string[]) => ({ extensionRequest: { extension: list.map((identifier) => ({ identifier, value: anything })) } });

const noDerValue = (identifier: string) => [{ identifier, value: base64(Buffer.from('text')) }];
const noDer = (identifier: string) => ({ extensionRequest: { extension: noDerValue(identifier) } });

test('a bare profile sets the key identifiers and the key usage', () => {
  expect(identifiers({})).toEqual(standard);
});

test.each([
  [['digitalSignature'], '03020780'],
  [['contentCommitment'], '03020640'],
  [['digitalSignature', 'contentCommitment'], '030206c0'],
  [['keyEncipherment'], '03020520'],
] as const)('the key usage %j is the bits %s', (keyUsage, bits) => {
  const profile = CertificateProfile.parse({ keyType: 'P-256', keyUsage });
  const [, , usage] = certificateExtensions(profile, authority.issuer, key.subjectPublicKeyInfo, attributes({}));
  expect(Buffer.from(usage ?? []).toString('hex')).toBe(`300e0603551d0f0101ff0404${bits}`);
});

test('the certificate has the extensions that the profile lists', () => {
  const profile = { extendedKeyUsage: ['1.3.6.1.5.5.7.3.36'], policies: ['1.2.3'], allowedExtensions: ['1.2.3.4', '1.2.3.5'] };
  const any = { '1.2.3.5': anything };
  expect(identifiers({ extensionRequest: { ...extension('1.2.3.4').extensionRequest, any } }, profile)).toEqual([
    ...standard,
    '2.5.29.37',
    '2.5.29.32',
    '1.2.3.4',
    '1.2.3.5',
  ]);
});

describe('refuses', () => {
  test.each([
    ['an extension that the profile does not list', extension('1.2.3.4'), {}, 'ISSUANCE_REFUSED', '1.2.3.4'],
    [
      'one that the profile sets itself',
      extension('2.5.29.32'),
      { policies: ['1.2.3'], allowedExtensions: ['2.5.29.32'] },
      'ISSUANCE_REFUSED',
      '2.5.29.32',
    ],
    ['key usage', extension('2.5.29.15'), { allowedExtensions: ['2.5.29.15'] }, 'ISSUANCE_REFUSED', '2.5.29.15'],
    ['basic constraints', extension('2.5.29.19'), { allowedExtensions: ['2.5.29.19'] }, 'ISSUANCE_REFUSED', '2.5.29.19'],
    ['an extension twice', extension('1.2.3', '1.2.3'), { allowedExtensions: ['1.2.3'] }, 'FIELDS_INCONSISTENT', '1.2.3'],
    [
      'an extension in the list and in the map',
      { extensionRequest: { ...extension('1.2.3').extensionRequest, any: { '1.2.3': anything } } },
      { allowedExtensions: ['1.2.3'] },
      'FIELDS_INCONSISTENT',
      '/any/1.2.3',
    ],
    [
      'an alternative name where the profile allows none',
      { extensionRequest: { subjectAlternativeName: { generalName: [{ RFC822Name: 'a@example.test' }] } } },
      { allowedExtensions: [] },
      'ISSUANCE_REFUSED',
      '2.5.29.17',
    ],
    ['an alternative name that is none', extension('2.5.29.17'), {}, 'FIELD_INVALID', '/extension/0/value'],
    [
      'an attribute that the profile does not list',
      { attribute: [{ identifier: '1.2.3', value: anything }] },
      {},
      'ISSUANCE_REFUSED',
      '1.2.3',
    ],
    ['one in the map', { any: { '1.2.3': anything } }, {}, 'ISSUANCE_REFUSED', '1.2.3'],
    ['an extension that the profile does not list, whatever its value', noDer('1.2.3'), {}, 'ISSUANCE_REFUSED', 'the extension 1.2.3'],
    ['the value of one that it lists, and that is not DER', noDer('1.2.3'), { allowedExtensions: ['1.2.3'] }, 'FIELD_INVALID', '/0/value'],
    ['an attribute that it does not list, whatever its value', { attribute: noDerValue('1.2.3') }, {}, 'ISSUANCE_REFUSED', '1.2.3'],
    [
      'the value of one that it lists, and that is not DER',
      { attribute: noDerValue('1.2.3') },
      { allowedDirectoryAttributes: ['1.2.3'] },
      'FIELD_INVALID',
      '/attribute/0',
    ],
    ['name constraints', extension('2.5.29.30'), { allowedExtensions: ['2.5.29.30'] }, 'ISSUANCE_REFUSED', '2.5.29.30'],
  ])('%s', (_, asked, profile, code, part) => {
    const refusal = identifiers(asked, profile);
    expect(refusal).toMatchObject({ code });
    expect(String(refusal)).toContain(part);
  });
});

test('attributes of one type become one attribute with sorted values', () => {
  const dateOfBirth = '1.3.6.1.5.5.7.9.1';
  const value = (date: string): Uint8Array => der.generalizedTime(new Date(date));
  const asked = attributes({
    attribute: [{ identifier: dateOfBirth, value: base64(value('2001-01-01')) }],
    any: { [dateOfBirth]: base64(value('2000-01-01')) },
  });
  const profile = CertificateProfile.parse({ keyType: 'P-256', allowedDirectoryAttributes: [dateOfBirth] });
  const made = certificateExtensions(profile, authority.issuer, key.subjectPublicKeyInfo, asked).at(-1);
  const attribute = der.sequence(der.oid(dateOfBirth), der.set(value('2000-01-01'), value('2001-01-01')));
  expect(Buffer.from(made ?? [])).toEqual(Buffer.from(der.sequence(der.oid('2.5.29.9'), der.octetString(der.sequence(attribute)))));
});
