import { createHash, randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { certificateExtensions } from '../../src/certificates/extensions.ts';
import { certificateInFormat } from '../../src/certificates/formats.ts';
import { issueCertificate, validity } from '../../src/certificates/issue.ts';
import { subjectName } from '../../src/certificates/subject.ts';
import { readCertificate } from '../../src/x509/certificate.ts';
import { CertificateProfile } from '../../src/config/profile.ts';
import { Refusal } from '../../src/result-codes.ts';
import { openssl, opensslVerify } from './openssl.ts';
import { signing, softwareAuthority, softwareKey, softwareKeyTypes, type SoftwareAuthority } from './software-authority.ts';

const subject = subjectName({ country: 'FR', commonName: 'Zoé Martin' });
const key = softwareKey('P-256');

async function issued({ issuer }: SoftwareAuthority, serialNumber: Uint8Array = randomBytes(16)): Promise<Uint8Array> {
  const profile = CertificateProfile.parse({ keyType: 'P-256', policies: ['1.3.6.1.4.1.99999.1'] });
  const attributes = {
    subscriber: {},
    extensionRequest: { subjectAlternativeName: { generalName: [{ RFC822Name: 'zoe@example.test' }] } },
  };
  const urls = {
    crl: ['http://pki.example.test/ca.crl'],
    ocsp: ['http://pki.example.test/ocsp/ca'],
    caIssuers: ['http://pki.example.test/ca.cer'],
  };
  const { subjectPublicKeyInfo } = key;
  const extensions = certificateExtensions(profile, issuer, subjectPublicKeyInfo, attributes, urls);
  const times = validity(profile, undefined, new Date(), issuer.certificate.notAfter);
  return issueCertificate(issuer, { subject, subjectPublicKeyInfo, extensions, ...times, serialNumber });
}

describe.each(softwareKeyTypes)('an authority with a key of type %s', (type) => {
  let authority: SoftwareAuthority;
  let leaf: Uint8Array;

  beforeAll(async () => {
    authority = await softwareAuthority(type);
    leaf = await issued(authority);
  });

  test('issues certificates that openssl verifies strictly up to the root', () => {
    const [issuing = leaf] = authority.issuer.chain;
    expect(opensslVerify(leaf, [issuing], authority.root)).toContain('OK');
    expect(opensslVerify(issuing, [], authority.root)).toContain('OK');
  });

  test('is an authority of path length 0 under a root, and its certificates are no authorities', () => {
    expect(readCertificate(authority.root).isCa).toBe(true);
    expect(authority.issuer.certificate.isCa).toBe(true);
    expect(readCertificate(leaf).isCa).toBe(false);
    const text = openssl(['x509', '-inform', 'DER', '-noout', '-text'], authority.issuer.certificate.der);
    expect(text).toMatch(/Basic Constraints: critical\s+CA:TRUE, pathlen:0/);
    expect(text).toMatch(/Key Usage: critical\s+Certificate Sign, CRL Sign\n/);
  });

  test('writes what the profile says, and OpenSSL reads it', () => {
    const text = openssl(['x509', '-inform', 'DER', '-noout', '-text'], leaf);
    expect(text).toMatch(/Key Usage: critical\s+Non Repudiation\n/);
    for (const part of [
      'email:zoe@example.test',
      'Policy: 1.3.6.1.4.1.99999.1',
      'OCSP - URI:http://pki.example.test/ocsp/ca',
      'CA Issuers - URI:',
    ]) {
      expect(text).toContain(part);
    }
    expect(text).toMatch(/Full Name:\s+URI:http:\/\/pki.example.test\/ca.crl/);
    expect(text).not.toContain('Basic Constraints');
  });

  test('delivers the three formats', () => {
    const { chain } = authority.issuer;
    expect(certificateInFormat(leaf, chain, 'CERTIFICATE')).toBe(leaf);
    const count = (format: 'PKCS_7' | 'PKCS_7_WITH_CHAIN'): number =>
      openssl(['pkcs7', '-inform', 'DER', '-print_certs'], certificateInFormat(leaf, chain, format)).split('BEGIN CERTIFICATE').length - 1;
    expect(count('PKCS_7')).toBe(1);
    expect(count('PKCS_7_WITH_CHAIN')).toBe(3);
  });

  test('does not deliver a certificate that its key did not sign', async () => {
    const wrong = { ...authority.issuer, sign: signing(softwareKey(type)).sign };
    await expect(issued({ ...authority, issuer: wrong })).rejects.toThrow('does not verify');
  });
});

describe('an issued certificate', () => {
  let authority: SoftwareAuthority;
  beforeAll(async () => {
    authority = await softwareAuthority('P-256');
  });

  test('is read as it was written', async () => {
    const leaf = await issued(authority);
    const parsed = readCertificate(leaf);
    expect(parsed.subject).toEqual(subject);
    expect(parsed.issuer).toEqual(authority.issuer.certificate.subject);
    expect(Buffer.from(parsed.subjectPublicKeyInfo)).toEqual(Buffer.from(key.subjectPublicKeyInfo));
    expect(parsed.sha1Fingerprint).toBe(createHash('sha1').update(leaf).digest('hex'));
    expect(parsed.notAfter.getTime() - parsed.notBefore.getTime()).toBe(60 * 60_000);
  });

  test.each([
    ['80'.repeat(16), `00${'80'.repeat(16)}`],
    [`00${'7f'.repeat(15)}`, '7f'.repeat(15)],
  ])('with the random octets %s has the positive serial number %s', async (octets, serialNumber) => {
    const parsed = readCertificate(await issued(authority, Buffer.from(octets, 'hex')));
    expect(Buffer.from(parsed.serialNumber).toString('hex')).toBe(serialNumber);
  });

  test.each(['00'.repeat(16), '80'.repeat(20), ''])('never has the serial number %s', async (octets) => {
    await expect(issued(authority, Buffer.from(octets, 'hex'))).rejects.toThrow(RangeError);
  });

  test('never outlives its issuer', async () => {
    const { certificate } = authority.issuer;
    const notAfter = new Date(certificate.notAfter.getTime() + 1000);
    const content = {
      subject,
      subjectPublicKeyInfo: key.subjectPublicKeyInfo,
      extensions: [],
      notBefore: new Date(),
      notAfter,
      serialNumber: randomBytes(16),
    };
    await expect(issueCertificate(authority.issuer, content)).rejects.toThrow(RangeError);
  });
});

describe('validity', () => {
  const profile = { defaultValidityMinutes: 60, maxValidityMinutes: 120 };
  const now = new Date('2030-01-01T00:00:00.900Z');
  const far = new Date('2040-01-01T00:00:00Z');

  test.each([
    [undefined, '2030-01-01T01:00:00.000Z'],
    [1, '2030-01-01T00:01:00.000Z'],
    [120, '2030-01-01T02:00:00.000Z'],
    [Number.MAX_SAFE_INTEGER, '2030-01-01T02:00:00.000Z'],
  ])('of %s minutes ends at %s', (minutes, end) => {
    const { notBefore, notAfter } = validity(profile, minutes, now, far);
    expect(notBefore.toISOString()).toBe('2030-01-01T00:00:00.000Z');
    expect(notAfter.toISOString()).toBe(end);
  });

  test('ends with the authority at the latest, and is refused after that', () => {
    const end = new Date('2030-01-01T00:30:00Z');
    expect(validity(profile, 60, now, end).notAfter).toEqual(end);
    expect(() => validity(profile, 60, end, end)).toThrow(Refusal);
  });
});
