import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cscOperations } from '../../../src/operations/csc/csc-table.ts';
import { parseParameters } from '../../../src/operations/csc/parse-parameters.ts';
import { Refusal } from '../../../src/result-codes.ts';
import { repetitions } from '../../support/repetitions.ts';
import { changes, mutated } from './mutated-request.ts';

/** Nothing of a request is repeated at length. */
const descriptionMaxCharacters = 300;

describe.each(cscOperations)('parameters of $path', ({ request, example }) => {
  it('are taken as the example has them', () => {
    expect(() => parseParameters(request, example as Record<string, unknown>)).not.toThrow();
  });

  it('are taken or refused in the words of the standard, whatever JSON comes', () => {
    const texts = fc.oneof(
      changes.map((asked) => mutated(example, asked)),
      fc.object({ maxDepth: 3 }).map((body) => JSON.stringify(body)),
    );
    let refusals = 0;
    const property = fc.property(texts, (text) => {
      try {
        parseParameters(request, JSON.parse(text) as Record<string, unknown>);
      } catch (error) {
        expect(error).toBeInstanceOf(Refusal);
        const { code, answer } = error as Refusal;
        expect(['FIELD_MISSING', 'FIELD_INVALID']).toContain(code);
        expect(answer).toEqual({
          ...{ status: 400, error: 'invalid_request' },
          error_description: expect.stringMatching(/^(?:Missing \(or invalid type\) |Invalid |Empty |Unknown parameter )/) as string,
        });
        expect(JSON.stringify(answer).length).toBeLessThan(descriptionMaxCharacters);
        refusals += 1;
      }
    });
    fc.assert(property, { numRuns: repetitions(3000, 400) });
    expect(refusals).toBeGreaterThan(20);
  });
});
