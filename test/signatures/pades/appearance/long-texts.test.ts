import { expect, it } from 'vitest';
import { BreakableText } from '../../../../src/typefaces/breakable-text.ts';
import { typefaces } from '../../../../src/typefaces/typeface.ts';
import { softwareSigner } from '../../software-signer.ts';
import { smallPdf } from '../../../support/small-pdf.ts';
import { pdfSignatures } from '../../../support/pdf-judges.ts';
import { signPdf, signPdfWith } from '../sign-pdf.ts';

// Each of these took from seconds to minutes when long words were measured again for each line.
it.each([
  ['a word of 4,000 letters', { freeText: 'x'.repeat(4000) }],
  ['joined letters', { freeText: '\u0639'.repeat(4000) }],
  ['the largest font size', { freeText: 'x'.repeat(200), fontSize: 9_007_199_254_740_991, width: 2, height: 2 }],
  ['a large font in a tiny field', { freeText: 'x'.repeat(200), fontSize: 72, width: 20, height: 10 }],
])('is drawn: %s', (_, visibleSignature) => {
  expect(pdfSignatures(signPdfWith(smallPdf(), { visibleSignature }))).toMatchObject([{ validation: 'Signature is Valid.' }]);
});

it('is drawn: a long reason, and a long name', () => {
  const signer = softwareSigner('A'.repeat(64));
  const visibleSignature = { renderName: true, renderReasonVisible: true, renderIdentifierVisible: true, renderLabelVisible: true };
  const xp7 = { signedProperties: { commitmentText: 'x'.repeat(1000) }, XP7Providers: { PXP7Parameters: { visibleSignature } } };
  expect(pdfSignatures(signPdf(smallPdf(), xp7, { signer }))).toHaveLength(1);
});

it('breaks words only where they have no room', () => {
  const text = new BreakableText('Camille Saint-Exup\u00e9ry', typefaces('SANS', { isBold: false, isItalic: false }));
  expect(text.broken(5000)).toEqual({ lines: ['Camille', 'Saint-', 'Exup\u00e9ry'], isTorn: false });
  expect(text.broken(2000).isTorn).toBe(true);
});
