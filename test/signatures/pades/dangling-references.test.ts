import { expect, it } from 'vitest';
import { Refusal } from '../../../src/result-codes.ts';
import { madePdf, usualObjects } from '../../pdf/made-pdf.ts';
import { pdfSignatures, qpdfFindings } from '../../support/pdf-judges.ts';
import { smallPdf } from '../../support/small-pdf.ts';
import { signPdf } from './sign-pdf.ts';

/** Signs a document that refers to an object that does not exist, twice. */
function outcomeWith(number: number): string {
  const page = smallPdf({ page: `/Unread << /Deep [${number} 0 R] >>` });
  try {
    signPdf(signPdf(page));
    return 'signed';
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return `${error.code} ${error.text}`;
  }
}

it('gives no object a number to which a signed document refers already, or refuses the document', () => {
  const outcomes = Array.from({ length: 40 }, (_, index) => outcomeWith(6 + index));
  const refused = outcomes.filter((outcome) => outcome !== 'signed');
  for (const outcome of refused) expect(outcome).toMatch(/^DOCUMENT_INVALID .*an earlier signature of the document does not allow/);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThan(outcomes.length);
});

it('makes a new form where that of the catalog leads to nothing, which is named as something else as well', () => {
  const pdf = madePdf(
    { ...usualObjects(), 1: '<</Type /Catalog /Pages 2 0 R /AcroForm 30 0 R>>' },
    { trailer: '/Encrypt 30 0 R /ID [<00112233445566778899aabbccddeeff> <00112233445566778899aabbccddeeff>]' },
  );
  const signed = signPdf(pdf);
  expect(pdfSignatures(signed).map(({ validation }) => validation)).toEqual(['Signature is Valid.']);
  expect(qpdfFindings(signed)).toEqual(qpdfFindings(pdf));
});

it('adds a field once to an array that is both the fields of the form and the annotations of the page', () => {
  const pdf = madePdf({
    ...usualObjects(),
    3: '<</Type /Page /Parent 2 0 R /Contents 7 0 R /Annots 13 0 R>>',
    5: '<</Type /Page /Parent 4 0 R /Contents [7 0 R]>>',
    9: '<</Fields 13 0 R>>',
    13: '[10 0 R]',
  });
  const signed = signPdf(pdf);
  expect(pdfSignatures(signed).map(({ validation }) => validation)).toEqual(['Signature is Valid.']);
  expect(qpdfFindings(signed)).toEqual(qpdfFindings(pdf));
});
