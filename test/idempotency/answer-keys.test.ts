import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AnswerKeys } from '../../src/idempotency/answer-keys.ts';
import { KeptAnswers, OtherRequest, type Repetition } from '../../src/idempotency/kept-answers.ts';
import type { RepeatableRequest } from '../../src/idempotency/request-secrets.ts';
import type { MessageToken } from '../../src/token/service-keys.ts';
import { KeyGone } from '../../src/token/token.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { recordingLog } from '../support/silent-log.ts';
import { StoreHere } from '../support/store-here.ts';

/** HMAC keys as a token has them, in memory. */
class MemoryToken {
  readonly keys = new Map<string, Buffer>();
  readonly messages: MessageToken = {
    createMessageKey: async (id) => {
      this.keys.set(id, randomBytes(32));
      return Promise.resolve(new Uint8Array());
    },
    signMessage: async (id, _algorithm, message) => {
      const key = this.keys.get(id);
      if (key === undefined) throw new KeyGone(`no key ${id}`);
      return Promise.resolve(createHmac('sha256', key).update(message).digest());
    },
    verifyMac: async () => Promise.reject(new Error('not asked')),
  };

  async destroyKey(id: string): Promise<void> {
    this.keys.delete(id);
    return Promise.resolve();
  }
}

const threads = new WorkThreads();
let directory: string;
let store: StoreHere;
let token: MemoryToken;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-answer-keys-'));
  store = await StoreHere.open(join(directory, 'state.sqlite'));
  token = new MemoryToken();
});
afterEach(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});
afterAll(async () => {
  await threads.stop();
});

interface Instance {
  readonly keys: AnswerKeys;
  readonly answers: KeptAnswers;
}

/** A process with what it knows of the keys: no change of the store is told to it. */
async function instance(): Promise<Instance> {
  const keys = await AnswerKeys.open(store, token, recordingLog());
  keys.stop();
  const limits = (): { client: number; tenant: number; all: number } => ({ client: 1e9, tenant: 1e9, all: 1e9 });
  const answers = await KeptAnswers.open({ store, keys, threads, limits });
  answers.stop();
  return { keys, answers };
}

const newRequest = (body: Record<string, unknown> = { a: 1 }): RepeatableRequest => ({
  ...{ client: 'c', tenant: 'demo', operation: 'pki/test', idempotencyKey: randomUUID(), body, bodyBytes: 10 },
});
/** Runs that count: their ending is their number. */
function counted(): { run: () => Promise<string>; runs: number } {
  const counter = { runs: 0, run: async () => Promise.resolve(String((counter.runs += 1))) };
  return counter;
}
const ask = async ({ answers }: Instance, request: RepeatableRequest, run: () => Promise<string>): Promise<Repetition<string>> =>
  answers.once(request, { run, isKept: () => true, endingOf: String, settled: () => '' });
const formerOf = async ({ keys }: Instance): Promise<string[]> => (await keys.views()).slice(1).map(({ keyId }) => keyId);
const currentOf = async ({ keys }: Instance): Promise<string> => keys.using(async ({ current }) => Promise.resolve(current.id));

describe('a new key of kept answers', () => {
  it('does not have a request run again that was answered before, after one change and after another', async () => {
    const one = await instance();
    const [request, work] = [newRequest(), counted()];
    await ask(one, request, work.run);
    for (const time of [1, 2]) {
      await one.keys.rotate();
      expect(await ask(one, request, work.run)).toEqual({ ending: '1', isRepeated: true });
      await expect(ask(one, { ...request, body: { a: 2 } }, work.run)).rejects.toThrow(OtherRequest);
      expect([work.runs, (await formerOf(one)).length]).toEqual([1, time]);
    }
  });

  it('is taken by an instance that was told nothing, before it runs anything', async () => {
    const [a, b] = [await instance(), await instance()];
    for (const time of [1, 2]) {
      await a.keys.rotate();
      expect(await currentOf(b)).not.toBe(await currentOf(a));
      const [request, work] = [newRequest({ time }), counted()];
      expect(await ask(a, request, work.run)).toMatchObject({ isRepeated: false });
      expect(await ask(b, request, work.run)).toEqual({ ending: '1', isRepeated: true });
      expect([work.runs, await currentOf(b)]).toEqual([1, await currentOf(a)]);
    }
  });

  it('that comes while a request runs leaves it one: duplicates wait for it at each instance, and another body is refused', async () => {
    const [a, b] = [await instance(), await instance()];
    const gate = Promise.withResolvers<string>();
    const begun = Promise.withResolvers<undefined>();
    const request = newRequest();
    const again = counted();
    const first = ask(a, request, async () => {
      begun.resolve(undefined);
      return gate.promise;
    });
    await begun.promise;
    await a.keys.rotate();
    await expect(ask(a, { ...request, body: { a: 2 } }, again.run)).rejects.toThrow(OtherRequest);
    await expect(ask(b, { ...request, body: { a: 2 } }, again.run)).rejects.toThrow(OtherRequest);
    const others = [ask(a, request, again.run), ask(b, request, again.run)];
    gate.resolve('the one');
    expect((await Promise.all([first, ...others])).map(({ ending }) => ending)).toEqual(['the one', 'the one', 'the one']);
    expect(again.runs).toBe(0);
  });

  it('leaves the former one while something of it is kept, and no longer', async () => {
    const one = await instance();
    const former = await currentOf(one);
    const request = newRequest();
    await ask(one, request, counted().run);
    await one.keys.rotate();
    await one.keys.destroyEnded();
    expect([await formerOf(one), token.keys.has(former)]).toEqual([[former], true]);
    const { lastEnds = 0, answers } = (await one.keys.views())[1] ?? {};
    expect(answers).toBeGreaterThan(0);
    await store.run('deleteEndedAnswers', { now: lastEnds - 1, limit: 1000, counter: 'x' });
    await one.keys.destroyEnded();
    expect(token.keys.has(former)).toBe(true);
    await store.run('deleteEndedAnswers', { now: lastEnds, limit: 1000, counter: 'x' });
    await one.keys.destroyEnded();
    expect([await formerOf(one), token.keys.has(former), await store.run('journal')]).toEqual([[], false, []]);
    // It still knows of the former one, which is gone.
    expect(await ask(one, request, counted().run)).toMatchObject({ isRepeated: false });
  });

  it('that a kill leaves unused is announced, for the next start to destroy', async () => {
    const one = await instance();
    const before = await currentOf(one);
    const dying = await AnswerKeys.open(
      store,
      {
        destroyKey: async () => Promise.reject(new Error('killed')),
        // The key is made, and nobody is told.
        messages: {
          ...token.messages,
          createMessageKey: async (id, type) => {
            await token.messages.createMessageKey(id, type);
            throw new Error('killed');
          },
        },
      },
      recordingLog(),
    );
    dying.stop();
    await expect(dying.rotate()).rejects.toThrow('killed');
    const [left] = await store.run('journal');
    expect(left).toMatchObject({ intent: 'CREATE' });
    expect([await currentOf(await instance()), token.keys.has(left?.key_id ?? '')]).toEqual([before, true]);
    await store.run('finishStep', left?.key_id ?? '');
    await one.keys.rotate();
    expect(await currentOf(one)).not.toBe(before);
  });

  it('of two that are made at once, one is taken, and the other destroyed', async () => {
    const [a, b] = [await instance(), await instance()];
    const before = await currentOf(a);
    await Promise.all([a.keys.rotate(), b.keys.rotate()]);
    expect(await currentOf(a)).toBe(await currentOf(b));
    expect([...token.keys.keys()].toSorted()).toEqual([before, await currentOf(a)].toSorted());
    expect(await store.run('journal')).toEqual([]);
  });
});
