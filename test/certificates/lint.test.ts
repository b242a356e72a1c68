import { beforeAll, describe, expect, it } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import { oids } from '../../src/asn1/object-identifiers.ts';
import { certificateExtensions } from '../../src/certificates/extensions.ts';
import { issueCertificate, rehearse } from '../../src/certificates/issue.ts';
import { maxCertificateBytes } from '../../src/certificates/lint/rules.ts';
import type { CertificateContent } from '../../src/certificates/signed-certificate.ts';
import * as standard from '../../src/certificates/standard-extensions.ts';
import { subjectName } from '../../src/certificates/subject.ts';
import { keyTypes } from '../../src/config/key-types.ts';
import { CertificateProfile } from '../../src/config/profile.ts';
import { Refusal } from '../../src/result-codes.ts';
import { softwareAuthority, softwareKey, type SoftwareAuthority } from './software-authority.ts';

const key = softwareKey('P-256');
let authority: SoftwareAuthority;
let good: CertificateContent;

beforeAll(async () => {
  authority = await softwareAuthority('P-256');
  const profile = CertificateProfile.parse({ keyType: 'P-256' });
  good = {
    subject: subjectName({ country: 'FR', commonName: 'Zoé' }),
    subjectPublicKeyInfo: key.subjectPublicKeyInfo,
    extensions: certificateExtensions(profile, authority.issuer, key.subjectPublicKeyInfo, { subscriber: {} }),
    notBefore: new Date(),
    notAfter: new Date(Date.now() + 60_000),
    serialNumber: new Uint8Array(16).fill(7),
  };
});

/** The refusal's text; the authority's key is not used for what is refused. */
async function refusal(changes: Partial<CertificateContent>): Promise<string> {
  let signatures = 0;
  const issuer = {
    ...authority.issuer,
    async sign(tbs: Uint8Array) {
      signatures += 1;
      return authority.issuer.sign(tbs);
    },
  };
  try {
    await issueCertificate(issuer, { ...good, ...changes });
    return 'issued';
  } catch (error) {
    expect(signatures).toBe(0);
    if (error instanceof Refusal && error.code === 'ISSUANCE_REFUSED') return error.message;
    throw error;
  }
}

/** The good extensions, with one in the place of that which has the same identifier. */
function extensionsWith({ oid, der: bytes }: standard.Extension): Uint8Array[] {
  const identifier = Buffer.from(der.oid(oid)).toString('hex');
  const kept = good.extensions.filter((extension) => !Buffer.from(extension).toString('hex').includes(identifier));
  return [...kept, bytes];
}
const bits = (...octets: number[]): Uint8Array => der.bitString(Uint8Array.from(octets));
const commonName = (value: Uint8Array): Uint8Array => der.sequence(der.set(der.sequence(der.oid('2.5.4.3'), value)));

const domain = (...labels: string[]): Uint8Array =>
  der.sequence(...labels.map((label) => der.set(der.sequence(der.oid(oids.domainComponent), der.ia5String(label)))));

describe('the lint before a signature', () => {
  it('accepts a good certificate', async () => {
    expect(await refusal({})).toBe('issued');
    expect(await refusal({ subject: domain('org', 'example') })).toBe('issued');
  });

  it.each([
    ['an empty subject', () => der.sequence(), 'subject-name'],
    ['a bidirectional control', () => commonName(der.utf8String('a\u202eb')), 'subject-name'],
    ['a NUL', () => commonName(der.utf8String('a\0b')), 'subject-name'],
    ['an over-long common name', () => commonName(der.utf8String('a'.repeat(65))), 'subject-name'],
    ['a common name in the wrong string type', () => commonName(der.ia5String('a')), 'subject-name'],
    ['a common name that is not UTF-8', () => commonName(der.tagged(0x0c, Uint8Array.of(0xff))), 'subject-name'],
    ['a country that is none', () => der.sequence(der.set(der.sequence(der.oid('2.5.4.6'), der.printableString('fr')))), 'subject-name'],
    [
      'two common names',
      () => der.sequence(...[1, 2].map(() => der.set(der.sequence(der.oid('2.5.4.3'), der.utf8String('a'))))),
      'subject-name',
    ],
    ['domain components that are no domain name', () => domain('example'), 'subject-name'],
    ['domain components in the wrong order, one with a dot', () => domain('example', 'a.org'), 'subject-name'],
    ["the authority's own name", () => authority.issuer.certificate.subject, 'subject-is-not-issuer'],
  ])('refuses %s', async (_, subject, rule) => {
    expect(await refusal({ subject: subject() })).toContain(`lint rule ${rule} (`);
  });

  it.each<[string, () => standard.Extension, string]>([
    ['an authority', () => standard.basicConstraints(), 'no-authority'],
    ['keyCertSign', () => standard.keyUsage(['digitalSignature', 'keyCertSign']), 'key-usage'],
    ['cRLSign', () => standard.keyUsage(['contentCommitment', 'cRLSign']), 'key-usage'],
    ['keyEncipherment of a key on a curve', () => standard.keyUsage(['contentCommitment', 'keyEncipherment']), 'key-usage'],
    ['a key usage that is not critical', () => standard.extension('2.5.29.15', bits(0x40)), 'key-usage'],
    ['a key usage without a bit', () => standard.extension('2.5.29.15', bits(0), true), 'key-usage'],
    ['a purpose of OCSP', () => standard.extendedKeyUsage(['1.3.6.1.5.5.7.3.9']), 'extended-key-usage'],
    ['a purpose of time-stamping', () => standard.extendedKeyUsage(['1.3.6.1.5.5.7.3.8']), 'extended-key-usage'],
    ['any purpose', () => standard.extendedKeyUsage(['2.5.29.37.0']), 'extended-key-usage'],
    ['a purpose twice', () => standard.extendedKeyUsage(['1.2.3', '1.2.3']), 'extended-key-usage'],
    ['a list of no purposes', () => standard.extendedKeyUsage([]), 'extended-key-usage'],
    ['a policy twice', () => standard.certificatePolicies(['1.2.3', '1.2.3']), 'certificate-policies'],
    ['policies in another form', () => standard.extension('2.5.29.32', der.utf8String('1.2.3')), 'certificate-policies'],
    ['a critical alternative name', () => standard.extension('2.5.29.17', standard.generalNames(['a@example.test']), true), 'criticality'],
    ['an alternative name that is none', () => standard.extension('2.5.29.17', der.sequence()), 'subject-alternative-name'],
    ['name constraints', () => standard.extension('2.5.29.30', der.sequence()), 'extensions-of-authorities'],
    ['no-check', () => standard.extension('1.3.6.1.5.5.7.48.1.5', der.nullValue()), 'extensions-of-authorities'],
    [
      'attributes that are none',
      () => standard.extension('2.5.29.9', der.sequence(der.sequence(der.oid('1.2.3')))),
      'subject-directory-attributes',
    ],
    ['a value that is not DER', () => standard.extension('1.2.3.4', Uint8Array.of(0x30, 0x80, 0, 0)), 'extensions-are-der'],
    ["another authority's identifier", () => standard.authorityKeyIdentifier(key), 'authority-key-identifier'],
    ["another key's identifier", () => standard.subjectKeyIdentifier(softwareKey('P-256').subjectPublicKeyInfo), 'subject-key-identifier'],
  ])('refuses %s', async (_, extension, rule) => {
    expect(await refusal({ extensions: extensionsWith(extension()) })).toContain(`lint rule ${rule} (`);
  });

  it('refuses a repeated extension, a validity that begins before that of the authority, and a certificate that is too large', async () => {
    expect(await refusal({ extensions: [...good.extensions, ...good.extensions] })).toContain('structure');
    expect(await refusal({ notBefore: new Date(0) })).toContain('lint rule validity (');
    const large = standard.extension('1.2.3.4', der.octetString(new Uint8Array(maxCertificateBytes - 700)));
    expect(await refusal({ extensions: [...good.extensions, large.der] })).toContain('lint rule certificate-size (');
  });
});

describe('a rehearsal', () => {
  it.each(keyTypes)('of a certificate for a key of type %s passes, and refuses what the certificate would be refused for', (type) => {
    const profile = CertificateProfile.parse({ keyType: type });
    const { subject, notBefore, notAfter } = good;
    const content = (extended: CertificateProfile) => (publicKey: Uint8Array) => ({
      ...{ subject, notBefore, notAfter },
      extensions: certificateExtensions(extended, authority.issuer, publicKey, { subscriber: {} }),
    });
    rehearse(authority.issuer, type, content(profile));
    const wrong = { ...profile, extendedKeyUsage: ['1.3.6.1.5.5.7.3.9'] };
    expect(() => {
      rehearse(authority.issuer, type, content(wrong));
    }).toThrow('OCSPSigning');
  });
});
