import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { randomBytes } from 'node:crypto';
import { signedCertificate } from '../../src/certificates/signed-certificate.ts';
import { subjectName } from '../../src/certificates/subject.ts';
import { distinguishedNameText } from '../../src/x509/distinguished-name.ts';
import { nameFault } from '../../src/certificates/name-fault.ts';
import { SubjectFields } from '../../src/certificates/subject-fields.ts';
import { readCertificate } from '../../src/x509/certificate.ts';
import { openssl } from './openssl.ts';
import { signing, softwareKey } from './software-authority.ts';

const key = softwareKey('P-256');
const cn = (commonName: string): SubjectFields => ({ country: 'FR', commonName });

/** A certificate with a subject. */
async function certificateOf(name: Uint8Array): Promise<Uint8Array> {
  return signedCertificate(
    { name, subjectPublicKeyInfo: key.subjectPublicKeyInfo, ...signing(key) },
    {
      subject: name,
      subjectPublicKeyInfo: key.subjectPublicKeyInfo,
      extensions: [],
      notBefore: new Date(0),
      notAfter: new Date(60_000),
      serialNumber: randomBytes(16),
    },
  );
}

/** The subject as openssl shows it in a certificate: one `type=value` a line, nothing escaped. */
async function opensslSubject(subject: SubjectFields): Promise<string[]> {
  const name = subjectName(subject);
  const certificate = await certificateOf(name);
  expect(readCertificate(certificate).subject).toEqual(name);
  const shown = openssl(['x509', '-inform', 'DER', '-noout', '-subject', '-nameopt', 'utf8,sep_multiline,sname'], certificate);
  return shown
    .split('\n')
    .slice(1, -1)
    .map((line) => line.replace(/^ {4}/, ''));
}

/** The attributes of an RFC 4514 string, first RDN first, as `type=value` without escapes. */
function unescaped(text: string): string[] {
  const parts = text.match(/(?:\\.|[^,\\])+/gsu) ?? [];
  return parts.map((part) => part.replaceAll(/\\(.)/gsu, '$1')).toReversed();
}

/** Any Unicode text, and what means something to those who read names. */
const texts = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 64 }),
  fc.string({ unit: fc.constantFrom('"', ',', '+', '=', '#', '\\', ';', '<', 'a', ' '), minLength: 1, maxLength: 20 }),
);
const commonNames = texts.filter((text) => SubjectFields.safeParse(cn(text)).success);
/** Any that may stand in a name. */
const values = texts.filter((text) => SubjectFields.safeParse({ ...cn('x'), localityName: text }).success);

describe('a value of the subject', () => {
  test.each(['x", CN=y', '#0c0161', 'a+b=c', String.raw`a\2Cb`, 'O=Evil/CN=Admin', '<script>', 'ʼn 😀 שלום', '𝒵'.repeat(64)])(
    '%j stays text',
    async (value) => {
      expect(SubjectFields.safeParse(cn(value)).success).toBe(true);
      expect(
        await opensslSubject({
          ...cn(value),
          organizationName: value,
          fields: { nameField: [{ identifier: '1.2.3.4', identifierType: 'OID', value }] },
        }),
      ).toEqual(['C=FR', `O=${value}`, `1.2.3.4=${value}`, `CN=${value}`]);
    },
  );

  test('is the same text for OpenSSL, whatever it is', async () => {
    await fc.assert(
      fc.asyncProperty(commonNames, async (value) => {
        expect(await opensslSubject(cn(value))).toEqual(['C=FR', `CN=${value}`]);
      }),
      { numRuns: 60 },
    );
  });

  test('means the same to OpenSSL and to our own reader, in every field', async () => {
    const subjects = fc
      .record(
        {
          organizationName: values,
          organizationUnit: fc.array(values, { maxLength: 3 }),
          localityName: values,
          stateName: values,
          commonName: commonNames,
        },
        { requiredKeys: ['commonName'] },
      )
      .map((fields) => ({ country: 'FR', ...fields }))
      .filter((fields) => SubjectFields.safeParse(fields).success)
      .map((fields) => SubjectFields.parse(fields));
    await fc.assert(
      fc.asyncProperty(subjects, async (subject) => {
        const name = subjectName(subject);
        expect(nameFault(name)).toBeUndefined();
        expect(unescaped(distinguishedNameText(name))).toEqual(await opensslSubject(subject));
      }),
      { numRuns: 60 },
    );
  });

  test.each([
    ['a NUL', 'Zoé\0Admin'],
    ['a line feed', 'Zoé\nCN=Admin'],
    ['a bidirectional override', 'Zoé\u202enimdA'],
    ['a zero-width space', 'Zo\u200bé'],
    ['a lone surrogate', 'Zo\ud800'],
    ['10,000 characters', 'x'.repeat(10_000)],
    ['begins or ends with a space', ' Zoé'],
  ])('with %s is refused in every field', (_, value) => {
    for (const field of ['commonName', 'title', 'organizationName', 'givenName', 'surName', 'localityName', 'stateName', 'serialNumber']) {
      expect(SubjectFields.safeParse({ ...cn('x'), [field]: value }).success).toBe(false);
    }
    expect(SubjectFields.safeParse({ ...cn('x'), organizationUnit: [value] }).success).toBe(false);
    for (const identifier of ['1.2.3.4', '2.5.4.65']) {
      const nameField = [{ identifier, identifierType: 'OID', value }];
      expect(SubjectFields.safeParse({ ...cn('x'), fields: { nameField } }).success).toBe(false);
    }
  });

  test('and 33 nameFields or 17 units are too many', () => {
    const nameField = Array.from({ length: 33 }, () => ({ identifier: 'ou', identifierType: 'NAME', value: 'x' }));
    expect(SubjectFields.safeParse({ ...cn('x'), fields: { nameField } }).success).toBe(false);
    expect(SubjectFields.safeParse({ ...cn('x'), fields: { nameField: nameField.slice(1) } }).success).toBe(true);
    expect(SubjectFields.safeParse({ ...cn('x'), organizationUnit: Array.from({ length: 17 }, () => 'x') }).success).toBe(false);
  });
});

test('every field becomes its attribute of X.520', async () => {
  const nameField = [
    { identifier: 'STREET', identifierType: 'NAME', value: '1 rue X' },
    { identifier: 'postalCode', identifierType: 'NAME', value: '75001' },
    { identifier: 'pseudonym', identifierType: 'NAME', value: 'zm' },
    { identifier: 'dc', identifierType: 'NAME', value: 'example' },
    { identifier: 'uid', identifierType: 'NAME', value: 'z1' },
    { identifier: '2.5.4.43', identifierType: 'OID', value: 'Z. M.' },
    { identifier: '1.2.840.113549.1.9.1', identifierType: 'OID', value: 'z@example.test' },
  ] as const;
  const subject = SubjectFields.parse({
    country: 'FR',
    commonName: 'Zoé',
    fields: { nameField },
    title: 'Dr',
    organizationName: 'Org',
    organizationIdentifier: 'VATFR-12345678901',
    givenName: 'Zoé',
    serialNumber: 'S-1',
    phoneNumber: '+33 1 23',
    surName: 'Martin',
    localityName: 'Paris',
    stateName: 'IdF',
    DNQualifier: 'q1',
    organizationUnit: ['A', 'B'],
  });
  expect(await opensslSubject(subject)).toEqual([
    'C=FR',
    'ST=IdF',
    'L=Paris',
    'O=Org',
    'organizationIdentifier=VATFR-12345678901',
    'OU=A',
    'OU=B',
    'street=1 rue X',
    'postalCode=75001',
    'pseudonym=zm',
    'DC=example',
    'UID=z1',
    'initials=Z. M.',
    'emailAddress=z@example.test',
    'title=Dr',
    'telephoneNumber=+33 1 23',
    'dnQualifier=q1',
    'serialNumber=S-1',
    'SN=Martin',
    'GN=Zoé',
    'CN=Zoé',
  ]);
  const dump = openssl(['asn1parse', '-inform', 'DER'], subjectName(subject));
  expect(dump).toMatch(/PRINTABLESTRING\s+:FR/);
  expect(dump).toMatch(/PRINTABLESTRING\s+:S-1/);
  expect(dump).toMatch(/IA5STRING\s+:z@example.test/);
  expect(dump).toMatch(/UTF8STRING\s+:Org/);
});
