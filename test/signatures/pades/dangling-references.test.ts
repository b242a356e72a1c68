import { expect, it } from 'vitest';
import { Refusal } from '../../../src/result-codes.ts';
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
