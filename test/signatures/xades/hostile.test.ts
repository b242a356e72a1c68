import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Refusal } from '../../../src/result-codes.ts';
import { askedFormat } from '../../../src/signatures/formats.ts';
import { SignatureParameters } from '../../../src/signatures/request/parameters.ts';
import { prepareSignatures } from '../../../src/signatures/prepare-signatures.ts';
import { completeSignatures, signerPlan } from '../../../src/signatures/signatures.ts';
import type { WorkThreads } from '../../../src/threads/work-threads.ts';
import type { SignatureAlgorithm } from '../../../src/token/signature-algorithm.ts';
import { repetitions } from '../../support/repetitions.ts';
import { chainOf, joined, noLevels, valueOf } from '../software-signer.ts';
import { randomRequest, type RandomRequest } from './random-request.ts';
import { signer } from './xades-signer.ts';
import { requestRules } from '../../support/request-rules.ts';

/** Work that the service does in threads is done here: a crash would end the test. */
const here = {
  run: async <Result>({ module, name }: { module: URL; name: string }, task: object): Promise<Result> => {
    const exported = (await import(module.href.replace(/\.js$/, '.ts'))) as Record<string, (task: object) => Result>;
    const run = exported[name];
    if (run === undefined) throw new Error(`no function ${name}`);
    return run(structuredClone(task));
  },
};

/** What a caller gets: evidence, or the code of the refusal. Any other error is thrown. */
async function outcomeOf({ parameters, contents }: RandomRequest): Promise<string> {
  const parsed = SignatureParameters.safeParse(parameters);
  if (!parsed.success) return 'FIELD_INVALID';
  try {
    const documents = contents.map((content, index) => ({ id: `d${index}`, fileName: `document-${index}.xml`, source: { content } }));
    const plan = signerPlan(
      askedFormat(parsed.data, requestRules),
      documents.map(() => ({ digestHash: undefined })),
      {
        key: { type: 'P-256' },
        chain: chainOf(signer),
      },
    );
    const prepared = await prepareSignatures(plan, documents, here);
    const algorithm: SignatureAlgorithm = plan.algorithm;
    const values = new Map(prepared.prepared.map((one) => [one.id, valueOf(signer, one, algorithm)]));
    const evidence = await completeSignatures(prepared, values, { threads: here as unknown as WorkThreads, levels: noLevels });
    for (const { evidence: one } of evidence) if (joined(one.content).length === 0) throw new Error('evidence without bytes');
    return 'SIGNED';
  } catch (error) {
    if (error instanceof Refusal && error.code !== 'INTERNAL') return error.code;
    throw error;
  }
}

const requests = repetitions(10_000, 2000);
/** Far more than a request takes, also beside a busy machine. */
const eachMs = 60;
/** Engines of libxml2 come and go, so the memory of the process is not the same at any two moments. */
const growthMaxBytes = 256 * 1024 * 1024;

describe('random documents and parameters', () => {
  it(
    'are signed or refused with a code, and nothing else happens: memory does not grow, either',
    async () => {
      const outcomes = new Map<string, number>();
      let done = 0;
      let early = 0;
      await fc.assert(
        fc.asyncProperty(randomRequest, async (request) => {
          const outcome = await outcomeOf(request);
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
          done += 1;
          if (done === requests / 10) early = process.memoryUsage.rss();
        }),
        { numRuns: requests, endOnFailure: true },
      );
      // Both happen often enough to say something.
      expect(outcomes.get('SIGNED') ?? 0).toBeGreaterThan(100);
      expect(outcomes.get('DOCUMENT_INVALID') ?? 0).toBeGreaterThan(100);
      expect(process.memoryUsage.rss() - early).toBeLessThan(growthMaxBytes);
    },
    requests * eachMs,
  );
});
