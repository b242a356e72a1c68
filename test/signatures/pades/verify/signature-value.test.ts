import { createHash, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { octetString } from '../../../../src/asn1/der.ts';
import { SignatureBroken } from '../../../../src/cms/verify-signer-info.ts';
import { PdfDictionary, PdfName, PdfReference, PdfString, type PdfObject } from '../../../../src/pdf/objects.ts';
import { readSignature } from '../../../../src/signatures/pades/verify/signature-value.ts';
import { madePdf, usualObjects } from '../../../pdf/made-pdf.ts';
import { opened } from '../../../pdf/opened.ts';
import { openssl } from '../../../support/openssl.ts';
import { keyPem, softwareSigner } from '../../software-signer.ts';
import { usualSigner } from '../sign-pdf.ts';
import { tokenFor } from './revised-pdf.ts';

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
  const ofDigest = (): Uint8Array =>
    openssl(
      [
        'cms',
        '-sign',
        '-binary',
        '-nodetach',
        '-md',
        'sha256',
        '-in',
        '{content}',
        '-signer',
        '{pem}',
        '-inkey',
        '{key}',
        '-outform',
        'DER',
        '-out',
        'out',
      ],
      { content: sha1, pem: rsa.pem, key: keyPem(rsa.privateKey) },
      'out',
    );
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
});
