import { describe, expect, it } from 'vitest';
import { Problem } from '../../src/http/problem.ts';
import type { Ending } from '../../src/http/recorded.ts';
import { RequestRuns } from '../../src/http/request-runs.ts';
import { recordingLog } from '../support/silent-log.ts';

const success = (answer: object): Ending => ({ result: { major: 0, minor: 0, message: '' }, answer, echo: {} });
const failure: Ending = { result: { major: 2, minor: 243, message: '' }, answer: {}, echo: {} };

/** Lets a run deliver something; tells afterwards what became of it. */
async function delivering(runs: RequestRuns, answer: object, fate: string[]): Promise<void> {
  await runs.run(async (deliveries) => {
    deliveries.add({
      undo: async () => Promise.resolve(void fate.push('undone')),
      close: async () => Promise.resolve(void fate.push('closed')),
    });
    return Promise.resolve(answer);
  });
}

describe('what a request delivered outside of its answer', () => {
  it.each<[string, Ending | Problem | undefined, Ending | Problem | undefined, boolean, string[]]>([
    ['stays where it is answered', success({ file: 1 }), success({ file: 1 }), false, ['closed']],
    ['goes where the record could not be written', success({ file: 1 }), failure, false, ['undone', 'closed']],
    ['stays then, where a repetition is answered by it', success({ file: 1 }), failure, true, ['closed']],
    ['goes where the request failed', failure, failure, true, ['undone', 'closed']],
    ['goes where the client was revoked', new Problem(403, ''), new Problem(403, ''), false, ['undone', 'closed']],
    ['goes where another run is the one that counts', success({ file: 2 }), success({ file: 2 }), true, ['undone', 'closed']],
    ['goes where nobody knows how it ended', undefined, undefined, false, ['undone', 'closed']],
    ['goes where the state store went away', new Problem(503, ''), new Problem(503, ''), false, ['undone', 'closed']],
    ['stays then, where a repetition may be answered by it', new Problem(503, ''), new Problem(503, ''), true, ['closed']],
  ])('%s', async (_what, ending, answered, outlivesAnswer, expected) => {
    const runs = new RequestRuns();
    const fate: string[] = [];
    await delivering(runs, { file: 1 }, fate);
    if (ending !== undefined) runs.ends(ending, outlivesAnswer);
    await runs.settle(answered, recordingLog());
    expect(fate).toEqual(expected);
  });

  it('goes where the run itself failed', async () => {
    const runs = new RequestRuns();
    const fate: string[] = [];
    const failing = runs.run(async (deliveries) => {
      deliveries.add({ undo: async () => Promise.resolve(void fate.push('undone')), close: async () => Promise.resolve() });
      return Promise.reject(new Error('the token is away'));
    });
    await expect(failing).rejects.toThrow('the token is away');
    await runs.settle(failure, recordingLog());
    expect(fate).toEqual(['undone']);
  });
});
