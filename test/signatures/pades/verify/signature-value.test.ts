import { describe, expect, it } from 'vitest';
import { PdfDictionary, PdfName, PdfReference, PdfString, type PdfObject } from '../../../../src/pdf/objects.ts';
import { readSignature } from '../../../../src/signatures/pades/verify/signature-value.ts';
import { madePdf, usualObjects } from '../../../pdf/made-pdf.ts';
import { opened } from '../../../pdf/opened.ts';
import { openssl } from '../../../support/openssl.ts';
import { usualSigner } from '../sign-pdf.ts';

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
