import { createHash, createPrivateKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import * as der from '../../../../src/asn1/der.ts';
import { octetString } from '../../../../src/asn1/der.ts';
import { children, readAll } from '../../../../src/asn1/reader.ts';
import { hashAlgorithmIdentifier } from '../../../../src/cms/algorithm-identifier.ts';
import { SignatureBroken } from '../../../../src/cms/verify-signer-info.ts';
import { PdfDictionary, PdfName, PdfReference, PdfString, type PdfObject } from '../../../../src/pdf/objects.ts';
import { readSignature } from '../../../../src/signatures/pades/verify/signature-value.ts';
import { madePdf, usualObjects } from '../../../pdf/made-pdf.ts';
import { opened } from '../../../pdf/opened.ts';
import { openssl } from '../../../support/openssl.ts';
import { keyPem, signerWith, softwareSigner } from '../../software-signer.ts';
import { usualSigner } from '../sign-pdf.ts';
import { stampToken, tokenFor } from './revised-pdf.ts';

const file = opened(madePdf({ ...usualObjects(), 20: '/adbe.pkcs7.detached', 21: '/Other' }));
const read =
  (subFilter: PdfObject, contents = Buffer.alloc(0)) =>
  (): unknown =>
    readSignature(file, PdfDictionary.of({ SubFilter: subFilter, Contents: new PdfString(contents) }));

describe('the format of a signature', () => {
  it('is known, also from an object of its own', () => {
    const unknown = 'has a format that this service does not know:';
    expect(read(new PdfReference(21, 0))).toThrow(`${unknown} "Other"`);
    expect(read(null)).toThrow(`${unknown} "none"`);
    expect(read(new PdfReference(20, 0))).toThrow('is not well formed');
  });

  it('is named in 100 characters', () => {
    expect(read(new PdfName('f'.repeat(101)))).toThrow(new RegExp(`: "f{100}"$`));
  });
});

it('is no signature without a signer', () => {
  const certificates = openssl(
    ['crl2pkcs7', '-nocrl', '-certfile', '{pem}', '-outform', 'DER', '-out', 'out'],
    { pem: usualSigner().pem },
    'out',
  );
  expect(read(new PdfName('ETSI.CAdES.detached'), Buffer.from(certificates))).toThrow('has no signer');
});

describe('a signature of what it contains', () => {
  const covered = Buffer.from('what is covered');
  const rsa = softwareSigner('Robin Petit', 'rsa');
  const sha1 = createHash('sha1').update(covered).digest();
  const cms = (content: Uint8Array, options: readonly string[]): Buffer =>
    openssl(
      ['cms', '-sign', '-binary', '-in', '{content}', '-signer', '{pem}', '-inkey', '{key}', '-outform', 'DER', '-out', 'out', ...options],
      { content, pem: rsa.pem, key: keyPem(rsa.privateKey) },
      'out',
    );
  const ofDigest = (options: readonly string[] = []): Buffer => cms(sha1, ['-nodetach', '-md', 'sha256', ...options]);
  const check = (format: string, contents: Uint8Array, more: Readonly<Record<string, PdfObject>> = {}, from = file): string | undefined =>
    readSignature(from, PdfDictionary.of({ SubFilter: new PdfName(format), Contents: new PdfString(contents), ...more })).check((hash) =>
      createHash(hash).update(covered).digest(),
    );
  /** The last byte is one of the value. */
  const damaged = (contents: Uint8Array): Buffer => Buffer.concat([contents.subarray(0, -1), Buffer.of((contents.at(-1) ?? 0) ^ 1)]);

  it('holds by its value, not by its digest alone', async () => {
    const token = await tokenFor(covered);
    expect(check('ETSI.RFC3161', token)).toBeUndefined();
    expect(() => check('ETSI.RFC3161', damaged(token))).toThrow(SignatureBroken);
    expect(check('adbe.pkcs7.sha1', ofDigest())).toContain('SHA-1');
    expect(() => check('adbe.pkcs7.sha1', damaged(ofDigest()))).toThrow(SignatureBroken);
    expect(() => check('ETSI.RFC3161', ofDigest())).toThrow('is no time-stamp');
  });

  it('has its certificate in the dictionary where it has no CMS: alone, first in a list, or in an object of its own', () => {
    const [own, other] = [rsa.certificate.der, usualSigner().certificate.der];
    const hex = (bytes: Uint8Array): string => `<${Buffer.from(bytes).toString('hex')}>`;
    const elsewhere = opened(madePdf({ ...usualObjects(), 20: hex(own), 21: `[20 0 R ${hex(other)}]` }));
    const value = octetString(sign('sha1', covered, rsa.privateKey));
    const format = 'adbe.x509.rsa_sha1';
    const [first, second] = [new PdfString(own), new PdfString(other)];
    for (const Cert of [first, [first, second], new PdfReference(20, 0), new PdfReference(21, 0)])
      expect(check(format, value, { Cert }, elsewhere)).toContain('SHA-1');
    expect(() => check(format, value, { Cert: [second, first] }, elsewhere)).toThrow('has a value that does not verify');
    expect(() => check(format, damaged(value), { Cert: first })).toThrow('has a value that does not verify');
    const byCurve = octetString(sign('sha1', covered, usualSigner().privateKey));
    expect(() => check(format, byCurve, { Cert: second })).toThrow('has a value that does not verify');
  });
  it('says what is obsolete in it, and nothing of a signer that is the only one', async () => {
    expect(check('adbe.pkcs7.sha1', ofDigest())).toBe('uses SHA-1');
    expect(check('adbe.pkcs7.detached', cms(covered, ['-md', 'sha1']))).toBe('uses SHA-1');
    expect(check('ETSI.RFC3161', await stampToken(sha1, hashAlgorithmIdentifier('sha1')))).toBe('uses SHA-1');
    expect(() => check('adbe.pkcs7.detached', cms(Buffer.from('other'), ['-md', 'sha256']))).toThrow(/^does not match the content$/);
  });

  it('has a content that may be in several pieces', () => {
    const whole = Buffer.concat([Buffer.of(0x04, 20), sha1]);
    const pieces = Buffer.concat([Buffer.of(0x04, 1), sha1.subarray(0, 1), Buffer.of(0x04, 19), sha1.subarray(1)]);
    // Streamed, so that no length is around it.
    const encoded = ofDigest(['-stream']);
    const at = encoded.indexOf(whole);
    const [before, behind] = [encoded.subarray(0, at), encoded.subarray(at + whole.length)];
    expect([at > 0, before.at(-2), before.at(-1)]).toEqual([true, 0x24, 0x80]);
    expect(check('adbe.pkcs7.sha1', Buffer.concat([before, pieces, behind]))).toBe('uses SHA-1');
    const others = Buffer.concat([pieces.subarray(0, -1), Buffer.of((sha1.at(-1) ?? 0) ^ 1)]);
    expect(() => check('adbe.pkcs7.sha1', Buffer.concat([before, others, behind]))).toThrow('does not match the bytes that it covers');
  });

  it('says by which hashes it covers the file, before it is checked', async () => {
    const hashes = (format: string, contents: Uint8Array): readonly string[] =>
      readSignature(
        file,
        PdfDictionary.of({
          ...{ SubFilter: new PdfName(format), Contents: new PdfString(contents), Cert: new PdfString(rsa.certificate.der) },
        }),
      ).hashes;
    expect(hashes('ETSI.CAdES.detached', cms(covered, ['-md', 'sha512']))).toEqual(['sha512']);
    expect(hashes('adbe.pkcs7.detached', cms(covered, ['-md', 'md5']))).toEqual([]);
    expect(hashes('ETSI.RFC3161', await tokenFor(covered))).toEqual(['sha256']);
    expect(hashes('adbe.pkcs7.sha1', ofDigest())).toEqual(['sha1']);
    expect(hashes('adbe.x509.rsa_sha1', octetString(sha1))).toEqual(['sha1']);
  });

  it('is no time-stamp by a hash that is not known', async () => {
    const md5 = der.sequence(der.oid('1.2.840.113549.2.5'));
    const token = await stampToken(createHash('md5').update(covered).digest(), md5);
    expect(() => check('ETSI.RFC3161', token)).toThrow(/^is not well formed: unsupported hash in the message imprint/);
  });

  describe('without CMS', () => {
    const refused = (certificateKey: KeyObject, signingKey = certificateKey): (() => unknown) => {
      const { certificate } = signerWith(certificateKey, 'raw');
      const value = octetString(sign('sha1', covered, signingKey));
      return () => check('adbe.x509.rsa_sha1', value, { Cert: new PdfString(certificate.der) });
    };

    it('is by an RSA key that is long enough, and has a sound exponent', () => {
      expect(refused(generateKeyPairSync('rsa', { modulusLength: 1016 }).privateKey)).toThrow('is by a key of 1016 bits, fewer than 1024');
      expect(refused(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey)()).toBe('uses SHA-1 and a key of 1024 bits');
      expect(refused(generateKeyPairSync('rsa', { modulusLength: 1024, publicExponent: 3 }).privateKey)).toThrow(
        'has a value that does not verify',
      );
    });

    it('is by no key that is for PSS alone', () => {
      const { privateKey } = generateKeyPairSync('rsa-pss', { modulusLength: 2048 });
      const [, , inner] = children(readAll(privateKey.export({ type: 'pkcs8', format: 'der' })));
      const same = createPrivateKey({ key: Buffer.from(inner?.content ?? []), format: 'der', type: 'pkcs1' });
      expect(refused(same)()).toBe('uses SHA-1');
      expect(refused(privateKey, same)).toThrow('has a value that does not verify');
    });

    it('is not by a key that this service refuses, and says why', () => {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-192' });
      expect(refused(privateKey)).toThrow('cannot be verified: the key of its signer is on a curve that this service does not know');
    });
  });
});
