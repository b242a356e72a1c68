import { createHmac, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { KeptAnswers, OtherRequest, type Repeatable } from '../../src/idempotency/kept-answers.ts';
import { RequestSecrets, type RepeatableRequest } from '../../src/idempotency/request-secrets.ts';
import { readAnswer } from '../../src/idempotency/answer-parts.ts';
import { Refusal } from '../../src/result-codes.ts';
import type { TokenMac } from '../../src/sealed-parts/part-cipher.ts';
import type { RepositoryName } from '../../src/state/repository-functions.ts';
import { outcomeSteps, settlingWith, type SettledOutcome, type SettlementParty } from '../../src/state/settlement.ts';
import type { KeptBytes } from '../../src/state/repositories/kept-bytes.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { step } from '../../src/state/step.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { DyingStore } from './dying-store.ts';
import { StoreHere } from '../support/store-here.ts';
import { oneKey, sealingKey } from '../support/sealing-keys.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-settling-'));
const threads = new WorkThreads();
/** A key in memory stands for the one on the token. */
const tokenMac: TokenMac = async (message) => Promise.resolve(createHmac('sha256', 'a key').update(message).digest());
const opened: KeptAnswers[] = [];
let store: StateStore;

beforeAll(async () => {
  store = await StoreHere.open(join(directory, 'state.sqlite'));
});
afterEach(() => {
  for (const one of opened.splice(0, Infinity)) one.stop();
});
afterAll(async () => {
  await store.close();
  await threads.stop();
  rmSync(directory, { recursive: true, force: true });
});

/** What a process has of its own; a new one on the same store ends the claims of those before. */
async function instance(of: StateStore = store, times: { readonly keepMs?: number } = {}): Promise<KeptAnswers> {
  const limits = (): KeptBytes => ({ client: 1e9, tenant: 1e9, all: 1e9 });
  const answers = await KeptAnswers.open({ store: of, keys: oneKey(tokenMac), threads, limits, ...times });
  opened.push(answers);
  return answers;
}

const newRequest = (): RepeatableRequest => ({
  ...{ client: 'c', tenant: 'demo', operation: 'pki/test', idempotencyKey: randomUUID(), body: { a: 1 }, bodyBytes: 10 },
});

const repeatable = (run: () => Promise<string>): Repeatable<string> => ({
  run,
  isKept: (ending) => !ending.startsWith('passing'),
  endingOf: (kept) => z.string().parse(kept),
  settled: (outcome: SettledOutcome) => ('answer' in outcome ? JSON.stringify(outcome.answer) : outcome.refusal.code),
});
const notAgain = repeatable(async () => Promise.reject(new Error('it is not run again')));
const answered = (text: string): Repeatable<string> => repeatable(async () => Promise.resolve(text));

const records = async (id: string): Promise<readonly string[]> =>
  (await store.run('listAuditRecords', { limit: 1000, idPrefix: id })).map((one) => one.id);
const recordStep = (id: string) => step('addAuditRecord', { id, created_at: 1, record: '{}' });

describe('the commit that settles a request', () => {
  /** Makes a change under a name, with two parties nested in the request, each of which records something. */
  const settling =
    (of: StateStore, name: string, answer: object): (() => Promise<string>) =>
    async () => {
      const party = (what: string): SettlementParty => ({
        needsCommit: true,
        steps: async () => Promise.resolve([recordStep(`${name} ${what}`)]),
      });
      await settlingWith(party('party 1'), async () =>
        settlingWith(party('party 2'), async () => of.commit([recordStep(`${name} change`), ...(await outcomeSteps({ answer }))])),
      );
      return JSON.stringify(answer);
    };
  const moments: readonly (readonly [RepositoryName, 'before' | 'after'])[] = [
    ['addAuditRecord', 'before'],
    ['addAuditRecord', 'after'],
    ['keepAnswer', 'before'],
    ['keepAnswer', 'after'],
  ];

  it.each(moments)(
    'has the change, the answer and the steps of every party, or nothing, where the process dies: %s, %s',
    async (at, when) => {
      const request = newRequest();
      const name = randomUUID();
      const dying = new DyingStore(store, at, when);
      await expect((await instance(dying)).once(request, repeatable(settling(dying, name, { made: 1 })))).rejects.toThrow('dead');
      const all = ['change', 'party 1', 'party 2'].map((what) => `${name} ${what}`);
      const next = await instance();
      if (when === 'after') {
        expect(await records(name)).toEqual(all);
        expect(await next.once(request, notAgain)).toEqual({ ending: '{"made":1}', isRepeated: true });
      } else {
        expect(await records(name)).toEqual([]);
        const again = repeatable(settling(store, name, { made: 2 }));
        expect(await next.once(request, again)).toEqual({ ending: '{"made":2}', isRepeated: false });
      }
      expect(await records(name)).toEqual(all);
    },
  );

  it('keeps a refusal as it keeps an answer', async () => {
    const request = newRequest();
    const answers = await instance();
    const run = async (): Promise<string> => {
      await store.commit(await outcomeSteps({ refusal: new Refusal('KEY_LOCKED') }));
      return 'KEY_LOCKED';
    };
    expect(await answers.once(request, repeatable(run))).toEqual({ ending: 'KEY_LOCKED', isRepeated: false });
    expect(await answers.once(request, notAgain)).toEqual({ ending: 'KEY_LOCKED', isRepeated: true });
  });

  it('keeps the answer that it was told: a request that ends otherwise answers with that all the same', async () => {
    const request = newRequest();
    const run = async (): Promise<string> => {
      await store.commit(await outcomeSteps({ answer: { told: 1 } }));
      return 'another ending';
    };
    expect((await (await instance()).once(request, repeatable(run))).ending).toBe('{"told":1}');
  });

  it('keeps nothing of an outcome that is not to be kept', async () => {
    const request = newRequest();
    const passing: Repeatable<string> = {
      ...repeatable(async () => {
        expect(await outcomeSteps({ answer: {} })).toEqual([]);
        return 'passing';
      }),
      settled: () => 'passing',
    };
    const answers = await instance();
    expect(await answers.once(request, passing)).toEqual({ ending: 'passing', isRepeated: false });
    expect(await answers.once(request, answered('kept'))).toEqual({ ending: 'kept', isRepeated: false });
  });

  it('keeps an answer until it is worthless, and no longer than answers are kept', async () => {
    const keepMs = 1_000_000;
    const endOf = async (until: number | undefined): Promise<number> => {
      let ends = 0;
      const run = async (): Promise<string> => {
        const steps = await outcomeSteps({ answer: {}, ...(until === undefined ? {} : { until }) });
        ends = z.object({ until: z.number() }).parse(steps[0]?.argument).until;
        await store.commit(steps);
        return '{}';
      };
      await (await instance(store, { keepMs })).once(newRequest(), repeatable(run));
      return ends;
    };
    const now = Date.now();
    expect(await endOf(now + 500_000)).toBe(now + 500_000);
    for (const until of [undefined, now + 3 * keepMs]) {
      const ends = await endOf(until);
      expect(ends).toBeGreaterThanOrEqual(now + keepMs);
      expect(ends).toBeLessThan(now + 2 * keepMs);
    }
  });
});

describe('a repeated request', () => {
  it('with another body is refused while the first one runs, and after it', async () => {
    const answers = await instance();
    const request = newRequest();
    const other = { ...request, body: { a: 2 } };
    const gate = Promise.withResolvers<string>();
    const begun = Promise.withResolvers<undefined>();
    const running = answers.once(
      request,
      repeatable(async () => {
        begun.resolve(undefined);
        return gate.promise;
      }),
    );
    await begun.promise;
    await expect(answers.once(other, notAgain)).rejects.toThrow(OtherRequest);
    const second = answers.once(request, notAgain);
    gate.resolve('first');
    expect([await running, await second]).toEqual([
      { ending: 'first', isRepeated: false },
      { ending: 'first', isRepeated: true },
    ]);
    await expect(answers.once(other, notAgain)).rejects.toThrow(OtherRequest);
  });

  it('is answered for a day unless another time is said', async () => {
    const answers = await instance();
    const before = store.now();
    const request = newRequest();
    await answers.once(request, answered('kept'));
    const { id } = await RequestSecrets.of(request, sealingKey(tokenMac), threads);
    const claim = {
      id,
      fingerprint: Uint8Array.of(1),
      claim: 'x',
      until: 0,
      client: 'c',
      ...{ counter: 'x', sealedBy: '4d00', formerIds: [] },
      room: { client: 1e9, tenant: 1e9, all: 1e9 },
    };
    const row = await store.run('claimAnswer', { ...claim, now: store.now() });
    expect(row).toMatchObject({ claim: null });
    const endsAt = z.object({ ends_at: z.number() }).parse(row).ends_at;
    expect(endsAt).toBeGreaterThanOrEqual(before + 86_400_000);
    expect(endsAt).toBeLessThan(before + 90_000_000);
  });

  it('is needed to read its answer, down to its body', async () => {
    const answers = await instance();
    const request = newRequest();
    await answers.once(request, answered('secret'));
    const secrets = await RequestSecrets.of(request, sealingKey(tokenMac), threads);
    const other = await RequestSecrets.of({ ...request, body: { a: 2 } }, sealingKey(tokenMac), threads);
    expect(other.id).toBe(secrets.id);
    expect(other.fingerprint).not.toEqual(secrets.fingerprint);
    expect(secrets.fingerprint).toHaveLength(32);
    const room = { client: 1e9, tenant: 1e9, all: 1e9 };
    const claim = {
      id: secrets.id,
      fingerprint: secrets.fingerprint,
      claim: 'x',
      until: 0,
      client: 'c',
      counter: 'x',
      room,
      sealedBy: '4d00',
      formerIds: [],
    };
    const row = await store.run('claimAnswer', { ...claim, now: store.now() });
    if (typeof row === 'string' || 'full' in row) throw new Error('it is kept');
    expect(Buffer.from(row.answer ?? []).includes('secret')).toBe(false);
    expect((await readAnswer(store, secrets, row)).value).toEqual(['secret']);
    await expect(readAnswer(store, other, row)).rejects.toThrow();
    await expect(readAnswer(store, secrets, { answer: null, parts: null })).rejects.toThrow('no contents');
  });
});
