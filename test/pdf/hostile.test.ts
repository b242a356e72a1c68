import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Refusal } from '../../src/result-codes.ts';
import { signPdfWith } from '../signatures/pades/sign-pdf.ts';
import { repetitions } from '../support/repetitions.ts';
import { changed, changes, noise, soundPdfs, type GivenPdf } from './mutated-pdf.ts';

/** What a caller gets: a signed document, or the code of a refusal with a message. Any other error is thrown. */
function outcomeOf({ bytes, password }: GivenPdf, parameters: Readonly<Record<string, unknown>> = {}): string {
  try {
    const signed = signPdfWith(bytes, parameters, password === undefined ? {} : { password });
    if (!signed.subarray(0, bytes.length).equals(bytes)) throw new Error('the document is not a prefix of its signed form');
    return 'SIGNED';
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === 'INTERNAL') throw error;
    if (error.message === '') throw new Error('a refusal without a message', { cause: error });
    return error.code;
  }
}

/** Ways to sign that read and change different parts of a document. */
const manyParameters: readonly Readonly<Record<string, unknown>>[] = [
  {},
  { visibleSignature: { paging: 'LAST_PAGE', fontSize: 8 } },
  { visibleSignature: { signatureField: 'seals.1' } },
  { docMDPLevel: 'LEVEL_2', fieldsLock: 'ALL' },
];

const documents = repetitions(10_000, 2000);
/** Far more than a document takes, also beside a busy machine. */
const eachMs = 60;
const growthMaxBytes = 256 * 1024 * 1024;

describe('PDF files that were changed anyhow', () => {
  it('are signed as long as they were not', () => {
    const sound = soundPdfs();
    expect(sound.map((given, index) => outcomeOf(given, manyParameters[index % 2]))).toEqual(sound.map(() => 'SIGNED'));
  });

  it(
    'are signed or refused with a code and a message, and nothing else happens: memory does not grow, either',
    () => {
      const sound = soundPdfs();
      const outcomes = new Map<string, number>();
      let done = 0;
      let early = 0;
      fc.assert(
        fc.property(fc.nat({ max: sound.length - 1 }), changes, fc.constantFrom(...manyParameters), (index, made, parameters) => {
          const given = sound[index];
          if (given === undefined) return;
          const outcome = outcomeOf({ ...given, bytes: changed(given, made) }, parameters);
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
          done += 1;
          if (done === documents / 10) early = process.memoryUsage.rss();
        }),
        { numRuns: documents, endOnFailure: true },
      );
      // Both happen often enough to say something.
      expect(outcomes.get('SIGNED') ?? 0).toBeGreaterThan(documents / 20);
      expect(outcomes.get('DOCUMENT_INVALID') ?? 0).toBeGreaterThan(documents / 20);
      const known = ['SIGNED', 'DOCUMENT_INVALID', 'NOT_PERMITTED_BY_DOCUMENT', 'FIELDS_INCONSISTENT'];
      expect([...outcomes.keys()].filter((outcome) => !known.includes(outcome))).toEqual([]);
      expect(process.memoryUsage.rss() - early).toBeLessThan(growthMaxBytes);
    },
    documents * eachMs,
  );

  it('are refused if only their ends are those of a PDF', () => {
    for (let count = 0; count < 100; count += 1) expect(outcomeOf({ bytes: noise() })).toBe('DOCUMENT_INVALID');
  });
});
