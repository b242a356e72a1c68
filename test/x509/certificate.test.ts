import { X509Certificate } from 'node:crypto';
import * as fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { DerError } from '../../src/asn1/reader.ts';
import { distinguishedNameText } from '../../src/x509/distinguished-name.ts';
import { readCertificate, readCertificateText } from '../../src/x509/certificate.ts';
import { openssl, pem } from '../certificates/openssl.ts';
import { softwareAuthority } from '../certificates/software-authority.ts';

let certificate: Uint8Array;
beforeAll(async () => {
  certificate = (await softwareAuthority('P-256')).issuer.certificate.der;
});

test('reads what node:crypto reads', () => {
  const parsed = readCertificate(certificate);
  const node = new X509Certificate(certificate);
  expect(parsed.sha1Fingerprint).toBe(node.fingerprint.replaceAll(':', '').toLowerCase());
  expect(Buffer.from(parsed.serialNumber).toString('hex').replace(/^0+/, '').toUpperCase()).toBe(node.serialNumber.replace(/^0+/, ''));
  expect(parsed.notAfter).toEqual(node.validToDate);
  expect(parsed.isCa).toBe(node.ca);
  expect(Buffer.from(parsed.subjectPublicKeyInfo)).toEqual(node.publicKey.export({ format: 'der', type: 'spki' }));
});

test("reads openssl's own certificates, with two attributes in one RDN", () => {
  const made = openssl([
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-keyout',
    '/dev/null',
    '-subj',
    '/C=FR/CN=x+UID=y',
    '-multivalue-rdn',
  ]);
  expect(distinguishedNameText(readCertificateText(made).subject)).toMatch(/^(CN=x\+UID=y|UID=y\+CN=x),C=FR$/);
});

test('reads PEM, with text around it, as string and as bytes', () => {
  const text = `subject=x\n${pem(certificate)}`;
  for (const input of [text, Buffer.from(text), certificate])
    expect(readCertificateText(input).sha1Fingerprint).toBe(readCertificate(certificate).sha1Fingerprint);
  expect(() => readCertificateText('nothing')).toThrow(DerError);
  expect(() => readCertificateText(pem(certificate, 'PRIVATE KEY'))).toThrow(DerError);
});

test('refuses bytes after the certificate', () => {
  expect(() => readCertificate(Buffer.concat([certificate, Buffer.of(0)]))).toThrow(DerError);
});

test('whatever is damaged is read or refused with a DerError', () => {
  const damage = fc.array(fc.tuple(fc.nat(700), fc.nat(255)), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(damage, fc.option(fc.nat(700)), (changes, cut) => {
      const damaged = certificate.slice(0, cut ?? undefined);
      for (const [at, octet] of changes) damaged[at % Math.max(damaged.length, 1)] = octet;
      try {
        const parsed = readCertificate(damaged);
        distinguishedNameText(parsed.subject);
      } catch (error) {
        expect(error).toBeInstanceOf(DerError);
      }
    }),
    { numRuns: 3000 },
  );
});
