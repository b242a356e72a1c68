import { createHash, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { octetString } from '../../../../src/asn1/der.ts';
import { PdfDictionary, PdfName, PdfString } from '../../../../src/pdf/objects.ts';
import { openssl } from '../../../support/openssl.ts';
import { smallPdf } from '../../../support/small-pdf.ts';
import { keyPem, softwareSigner } from '../../software-signer.ts';
import { signPdf, signPdfWith } from '../sign-pdf.ts';
import { findingOf, refusalOf, signedByHand, stamped, tokenFor } from './revised-pdf.ts';

const rsa = softwareSigner('Robin Petit', 'rsa');

/** A SignedData by OpenSSL. */
function cms(content: Uint8Array, options: readonly string[] = ['-md', 'sha256']): Uint8Array {
  return openssl(
    ['cms', '-sign', '-binary', '-in', '{content}', '-signer', '{pem}', '-inkey', '{key}', '-outform', 'DER', '-out', 'out', ...options],
    { content, pem: rsa.pem, key: keyPem(rsa.privateKey) },
    'out',
  );
}
const sha1 = (bytes: Uint8Array): Buffer => createHash('sha1').update(bytes).digest();
const document = smallPdf();

const sound: readonly (readonly [string, () => Buffer | Promise<Buffer>])[] = [
  [
    'ETSI.CAdES.detached, RSA-PSS',
    () => signedByHand(document, { value: (covered) => cms(covered, ['-md', 'sha512', '-keyopt', 'rsa_padding_mode:pss']) }),
  ],
  ['one that stands in its field', () => signedByHand(document, { isDirect: true, value: cms })],
  ['adbe.pkcs7.detached', () => signedByHand(document, { subFilter: 'adbe.pkcs7.detached', value: cms })],
  [
    'adbe.pkcs7.detached with SHA-1',
    () => signedByHand(document, { subFilter: 'adbe.pkcs7.detached', value: (covered) => cms(covered, ['-md', 'sha1']) }),
  ],
  [
    'adbe.pkcs7.detached without signed attributes',
    () => signedByHand(document, { subFilter: 'adbe.pkcs7.detached', value: (covered) => cms(covered, ['-noattr']) }),
  ],
  [
    'adbe.pkcs7.sha1',
    () => signedByHand(document, { subFilter: 'adbe.pkcs7.sha1', value: (covered) => cms(sha1(covered), ['-nodetach']) }),
  ],
  [
    'adbe.x509.rsa_sha1',
    () =>
      signedByHand(document, {
        subFilter: 'adbe.x509.rsa_sha1',
        entries: { Cert: new PdfString(rsa.certificate.der) },
        value: (covered) => octetString(sign('sha1', covered, rsa.privateKey)),
      }),
  ],
  ['ETSI.RFC3161', () => stamped(document)],
  ['this service, BASIC', () => signPdfWith(document, { signatureFormat: 'BASIC' })],
];

const broken: readonly (readonly [string, string, () => Buffer | Promise<Buffer>])[] = [
  ['a signature of other bytes', 'does not match the content', () => signedByHand(document, { value: () => cms(Buffer.from('other')) })],
  [
    'a time-stamp of other bytes',
    'does not match the bytes that it covers',
    async () => {
      const token = await tokenFor(Buffer.from('other'));
      return signedByHand(document, { subFilter: 'ETSI.RFC3161', value: () => token });
    },
  ],
  ['a signature instead of a time-stamp', 'is no time-stamp', () => signedByHand(document, { subFilter: 'ETSI.RFC3161', value: cms })],
  [
    'a digest of other bytes',
    'does not match the bytes',
    () => signedByHand(document, { subFilter: 'adbe.pkcs7.sha1', value: () => cms(sha1(Buffer.of()), ['-nodetach']) }),
  ],
  [
    'no digest where it should contain one',
    'does not contain the digest of the file',
    () => signedByHand(document, { subFilter: 'adbe.pkcs7.sha1', value: (covered) => cms(sha1(covered)) }),
  ],
  [
    'something behind its encoding',
    'has other bytes than zeros behind its encoding',
    () => signedByHand(document, { value: (covered) => Buffer.concat([cms(covered), Buffer.of(0, 1)]) }),
  ],
  [
    'a raw value without a certificate',
    'comes without the certificate of its signer',
    () =>
      signedByHand(document, { subFilter: 'adbe.x509.rsa_sha1', value: (covered) => octetString(sign('sha1', covered, rsa.privateKey)) }),
  ],
  [
    'a raw value that is no octet string',
    'has a value that is no octet string',
    () =>
      signedByHand(document, {
        subFilter: 'adbe.x509.rsa_sha1',
        entries: { Cert: new PdfString(rsa.certificate.der) },
        value: (covered) => Buffer.concat([Buffer.of(0x03), octetString(sign('sha1', covered, rsa.privateKey)).subarray(1)]),
      }),
  ],
  [
    'a content in a detached signature',
    'contains a content',
    () => signedByHand(document, { value: (covered) => cms(covered, ['-nodetach']) }),
  ],
  ['no certificate', "without its signer's certificate", () => signedByHand(document, { value: (covered) => cms(covered, ['-nocerts']) })],
  ['a hash that is not known', 'unsupported hash', () => signedByHand(document, { value: (covered) => cms(covered, ['-md', 'md5']) })],
  [
    'a format that is not known',
    'a format that this service does not know: "own.format"',
    () => signedByHand(document, { subFilter: 'own.format', value: cms }),
  ],
  [
    'a raw value of other bytes',
    'has a value that does not verify',
    () =>
      signedByHand(document, {
        subFilter: 'adbe.x509.rsa_sha1',
        entries: { Cert: new PdfString(rsa.certificate.der) },
        value: () => octetString(sign('sha1', Buffer.of(), rsa.privateKey)),
      }),
  ],
];

describe('the formats of signatures', () => {
  it.each(sound)('%s holds', async (_, make) => {
    const pdf = await make();
    expect([findingOf(pdf), refusalOf(pdf)]).toEqual([undefined, undefined]);
  });

  it.each(broken)('%s does not hold', async (_, reason, make) => {
    const pdf = await make();
    expect(findingOf(pdf)).toContain(reason);
    expect(refusalOf(pdf)).toBe('EXISTING_SIGNATURE_INVALID');
  });

  it('an earlier signature that is broken is named, after later ones that hold', () => {
    const first = signedByHand(document, { value: () => cms(Buffer.from('other')) });
    expect(findingOf(signPdf(signPdf(first)))).toMatch(/the signature "Hand\d+" of the document does not match the content/);
  });

  it('a visible signature on a certified document is allowed on level 2, and none on level 1', () => {
    const visible = { Rect: [0, 0, 100, 100], AP: new PdfDictionary() };
    const byOther = (docMDPLevel: string): Buffer => signedByHand(signPdfWith(document, { docMDPLevel }), { value: cms, field: visible });
    expect(findingOf(byOther('LEVEL_2'))).toBeUndefined();
    expect(findingOf(byOther('LEVEL_1'))).toContain('(no changes are allowed)');
  });

  it('a new signature that does something else is not allowed', () => {
    const act = { AA: PdfDictionary.of({ E: PdfDictionary.of({ S: new PdfName('JavaScript') }) }) };
    expect(findingOf(signedByHand(signPdf(document), { value: cms, field: act }))).toContain('AA of the new field');
    const hidden = { OC: new PdfDictionary() };
    expect(findingOf(signedByHand(signPdf(document), { value: cms, field: hidden }))).toContain('OC of the new field');
  });

  it('a certification signature counts where only the catalog names it', () => {
    const certified = signPdfWith(document, { docMDPLevel: 'LEVEL_2' });
    const text = certified.toString('latin1');
    // The field names nothing any more, and the catalog still does.
    const value = /\/V (\d+ 0 R)/.exec(text)?.[0] ?? '';
    expect(findingOf(Buffer.from(text.replace(value, value.replace('/V', '/Z')), 'latin1'))).toContain('the certification signature');
  });
});
