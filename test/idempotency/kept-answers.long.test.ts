import { randomBytes, randomUUID } from 'node:crypto';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { tenantId } from '../../src/clients/caller.ts';
import type { StateConfig } from '../../src/config/state-config.ts';
import { LongAnswer } from '../../src/documents/long-answer.ts';
import { LongText } from '../../src/documents/long-text.ts';
import { KeptAnswersFull } from '../../src/idempotency/claims.ts';
import { KeptAnswers, OtherRequest, type Repeatable, type Repetition } from '../../src/idempotency/kept-answers.ts';
import type { RepeatableRequest } from '../../src/idempotency/request-secrets.ts';
import { AnswerKeys } from '../../src/idempotency/answer-keys.ts';
import type { SealingKeys } from '../../src/sealed-parts/sealing-keys.ts';
import { parseKeyReferenceId } from '../../src/keys/key-record.ts';
import { Keyring } from '../../src/keys/keyring.ts';
import type { CreatedKey } from '../../src/keys/new-key.ts';
import { Refusal } from '../../src/result-codes.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import { outcomeSteps, type SettledOutcome } from '../../src/state/settlement.ts';
import { StoreUnavailable } from '../../src/state/store-unavailable.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { parseKeyId } from '../../src/token/key-id.ts';
import { databases } from '../state/databases.ts';
import { certificateRow } from '../support/certificate-row.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { recordingLog } from '../support/silent-log.ts';
import { DyingStore } from './dying-store.ts';

const given = (password: string) => ({ member: 'password', bytes: Buffer.from(password), transactionId: undefined }) as const;
const toBeSigned = { algorithm: { scheme: 'ECDSA', hash: 'sha256' }, digests: [new Uint8Array(32)], documents: [] } as const;

const threads = new WorkThreads();
let scratch: ScratchToken;
let token: TokenClient;

beforeAll(async () => {
  scratch = scratchToken({ threads: 2 });
  token = new TokenClient(scratch.config, scratch.configPath, recordingLog());
  await token.start();
});

afterAll(async () => {
  await token.stop();
  await threads.stop();
  scratch.remove();
});

/** An ending as these tests have it: a text, which is kept unless it says otherwise. */
type Ending = string;

function repeatable(run: () => Promise<Ending>): Repeatable<Ending> {
  return {
    run,
    isKept: (ending) => !ending.startsWith('passing'),
    endingOf: (kept) => z.string().parse(kept),
    settled: (outcome: SettledOutcome) => ('answer' in outcome ? JSON.stringify(outcome.answer) : outcome.refusal.code),
  };
}

/** Processor time of this thread in the longest turn of the event loop, or in those of a millisecond: what other programs take does not count. */
async function longestTurnMs(work: () => Promise<void>): Promise<number> {
  const ended = { is: false };
  let longestMicroseconds = 0;
  const watching = (async () => {
    while (!ended.is) {
      const before = process.threadCpuUsage();
      await delay(1);
      const { user, system } = process.threadCpuUsage(before);
      longestMicroseconds = Math.max(longestMicroseconds, user + system);
    }
  })();
  await work().finally(() => {
    ended.is = true;
  });
  await watching;
  return longestMicroseconds / 1000;
}

const newRequest = (body: RepeatableRequest['body'] = { a: 1 }): RepeatableRequest => ({
  client: 'f0',
  tenant: 'demo',
  operation: 'pki/test',
  idempotencyKey: randomUUID(),
  body,
  bodyBytes: 100,
});

describe.each(Object.entries(databases))('kept answers on %s', (name, kind) => {
  const database = kind();
  const claimMs = 400;
  let limits = { client: 1 << 30, tenant: 1 << 30, all: 1 << 30 };
  let config: StateConfig;
  let store: StateStore;
  let answerKeys: AnswerKeys;
  const opened: KeptAnswers[] = [];

  beforeAll(async () => {
    await database.start();
    config = await database.fresh();
    store = await openStateStore(config, recordingLog());
    answerKeys = await AnswerKeys.open(store, token, recordingLog());
  });

  afterAll(async () => {
    for (const one of opened) one.stop();
    await store.close();
    await database.stop();
  });

  /** What a process has of its own. */
  async function instance(of: StateStore = store, times: { keepMs?: number; claimMs?: number } = { claimMs }): Promise<KeptAnswers> {
    const answers = await KeptAnswers.open({ store: of, keys: answerKeys, threads, limits: () => limits, ...times });
    opened.push(answers);
    return answers;
  }

  /** createCertificate's way to a key, with its answer. */
  const makingKey =
    (of: StateStore): (() => Promise<Ending>) =>
    async () => {
      const answer = ({ reference, secret }: CreatedKey): object => ({ reference, password: secret.password });
      const keys = new Keyring(of, token);
      const issue = async (): Promise<{ row: ReturnType<typeof certificateRow> }> => Promise.resolve({ row: certificateRow() });
      try {
        return JSON.stringify(
          await keys.create({ tenant: tenantId('demo'), type: 'P-256', protocol: 'PASSWORD', subscriber: {}, issue }, answer),
        );
      } catch (error) {
        return `passing: ${String(error)}`;
      }
    };
  const keysMade = async (): Promise<number> => (await token.listKeys()).filter(({ id }) => id.startsWith('43')).length;
  const failures = async (outcome: Promise<Repetition<Ending>>): Promise<string> => outcome.then(({ ending }) => ending, String);

  it('carry a duplicate out if the first stopped, since its client was gone', async () => {
    const request = newRequest();
    const answers = await instance();
    const first = Promise.withResolvers<Ending>();
    const begun = Promise.withResolvers<undefined>();
    const run = async (): Promise<Ending> => {
      begun.resolve(undefined);
      return first.promise;
    };
    const stopping = { ...repeatable(run), isStopped: (ending: Ending) => ending === 'passing: gone' };
    const runs: string[] = [];
    const duplicate = (runner: string): Repeatable<Ending> => ({
      ...stopping,
      run: async () => {
        runs.push(runner);
        return Promise.resolve(`done by ${runner}`);
      },
    });
    const gone = answers.once(request, stopping);
    await begun.promise;
    const waiting = ['second', 'third'].map(async (runner) => answers.once(request, duplicate(runner)));
    first.resolve('passing: gone');
    expect(await gone).toEqual({ ending: 'passing: gone', isRepeated: false });
    const [one, other] = await Promise.all(waiting);
    expect(runs.length).toBe(1);
    expect([one?.ending, other?.ending]).toEqual(Array(2).fill(`done by ${runs[0] ?? ''}`));
    expect(new Set([one?.isRepeated, other?.isRepeated])).toEqual(new Set([false, true]));
  });

  it('answer again what was committed by a process that died right after', async () => {
    const request = newRequest();
    const before = await keysMade();
    const dying = new DyingStore(store, 'insertKey', 'after');
    const last = await failures((await instance(dying)).once(request, repeatable(makingKey(dying))));
    expect(last).toContain('dead');
    const { ending, isRepeated } = await (
      await instance()
    ).once(
      request,
      repeatable(async () => Promise.reject(new Error('not again'))),
    );
    expect(isRepeated).toBe(true);
    const { reference, password } = JSON.parse(ending) as { reference: string; password: string };
    const keys = new Keyring(store, token);
    expect(await keys.verifySecret(await keys.find(tenantId('demo'), parseKeyReferenceId(reference)), given(password))).toBe(true);
    expect(await keysMade()).toBe(before + 1);
  });

  it('do not exist for what a process had not committed when it died: the next repetition is carried out', async () => {
    const request = newRequest();
    const dying = new DyingStore(store, 'insertKey', 'before');
    expect(await failures((await instance(dying)).once(request, repeatable(makingKey(dying))))).toContain('dead');
    const { ending, isRepeated } = await (await instance()).once(request, repeatable(makingKey(store)));
    expect([isRepeated, ending]).toEqual([false, expect.stringContaining('password')]);
    await new Keyring(store, token, { abandonedMs: -1 }).recover();
    expect(await store.run('journal')).toEqual([]);
  });

  it('count a wrong password once, though the process died right after it was counted', async () => {
    const made = JSON.parse(await makingKey(store)()) as { reference: string };
    const reference = parseKeyReferenceId(made.reference);
    const signing =
      (of: StateStore): (() => Promise<Ending>) =>
      async () => {
        const keys = new Keyring(of, token);
        const key = await keys.find(tenantId('demo'), reference);
        return keys
          .sign(key, given('wrong'), toBeSigned, async (values) => Promise.resolve(values))
          .then(
            () => 'signed',
            (error: unknown) => (error instanceof Refusal ? error.code : `passing: ${String(error)}`),
          );
      };
    const request = newRequest();
    const dying = new DyingStore(store, 'settleUse', 'after');
    expect(await failures((await instance(dying)).once(request, repeatable(signing(dying))))).toContain('dead');
    const again = await (await instance()).once(request, repeatable(signing(store)));
    expect(again).toEqual({ ending: 'ACTIVATION_FAILED', isRepeated: true });
    expect(await store.run('findKey', reference)).toMatchObject({ failures_in_row: 1, failures_since_success: 1 });
  });

  it('run once for many at once, and all of them end alike, whatever that is', async () => {
    for (const ending of ['kept', 'passing']) {
      // The first runs until the last has come: who comes later than an ending that is not kept runs anew.
      const allCame = Promise.withResolvers<undefined>();
      let came = 0;
      const counting: SealingKeys = {
        using: async (work) => {
          const done = await answerKeys.using(work);
          came += 1;
          if (came === 50) allCame.resolve(undefined);
          return done;
        },
        reread: async () => answerKeys.reread(),
      };
      const answers = await KeptAnswers.open({ store, keys: counting, threads, limits: () => limits, claimMs });
      opened.push(answers);
      const request = newRequest();
      let runs = 0;
      const run = async (): Promise<Ending> => {
        await allCame.promise;
        await nextTurn();
        runs += 1;
        return `${ending} ${runs}`;
      };
      const all = await Promise.all(Array.from({ length: 50 }, async () => answers.once(request, repeatable(run))));
      expect([new Set(all.map((one) => one.ending)), all.filter(({ isRepeated }) => !isRepeated).length]).toEqual([
        new Set([`${ending} 1`]),
        1,
      ]);
      expect((await answers.once(request, repeatable(run))).ending).toBe(ending === 'kept' ? 'kept 1' : 'passing 2');
    }
  });

  it('reject all of them where the one that runs does, and keep nothing', async () => {
    const answers = await instance();
    const request = newRequest();
    const all = Array.from({ length: 3 }, async () =>
      answers.once(
        request,
        repeatable(async () => Promise.reject(new StoreUnavailable('away'))),
      ),
    );
    for (const { status } of await Promise.allSettled(all)) expect(status).toBe('rejected');
    expect(
      await answers.once(
        request,
        repeatable(async () => Promise.resolve('now')),
      ),
    ).toEqual({ ending: 'now', isRepeated: false });
  });

  it('refuse another body, and tell clients, tenants and operations apart', async () => {
    const answers = await instance();
    const request = newRequest();
    const ending = (text: string): Repeatable<Ending> => repeatable(async () => Promise.resolve(text));
    await answers.once(request, ending('first'));
    await expect(answers.once({ ...request, body: { a: 2 } }, ending('second'))).rejects.toThrow(OtherRequest);
    for (const other of [{ client: 'f1' }, { tenant: 'other' }, { operation: 'pki/other' }, { idempotencyKey: randomUUID() }])
      expect((await answers.once({ ...request, ...other }, ending('other'))).ending).toBe('other');
    expect((await answers.once(request, ending('third'))).ending).toBe('first');
  });

  it('expire, or end earlier if they become worthless', async () => {
    const answers = await instance(store, { keepMs: 3_600_000 });
    const request = newRequest();
    const settled = repeatable(async () => {
      await store.commit(await outcomeSteps({ answer: { otp: 1 }, until: store.now() - 1000 }));
      return JSON.stringify({ otp: 1 });
    });
    expect([(await answers.once(request, settled)).isRepeated, (await answers.once(request, settled)).isRepeated]).toEqual([false, false]);
    const short = await instance(store, { keepMs: 0 });
    const other = newRequest();
    for (const text of ['one', 'two'])
      expect(
        (
          await short.once(
            other,
            repeatable(async () => Promise.resolve(text)),
          )
        ).ending,
      ).toBe(text);
    expect(await store.run('deleteEndedAnswers', { now: store.now() + 1000, limit: 1, counter: 'test' })).toBe(1);
  });

  it('hold large answers, and lose their parts with them', async () => {
    const answers = await instance();
    const request = newRequest();
    const text = `${'é'.repeat(3_000_000)}end`;
    await answers.once(
      request,
      repeatable(async () => Promise.resolve(text)),
    );
    const again = async (): Promise<Repetition<Ending>> =>
      answers.once(
        request,
        repeatable(async () => Promise.resolve('again')),
      );
    expect((await again()).ending === text).toBe(true);
    expect(await store.run('deleteLooseParts', { limit: 100 })).toBe(0);
    expect(await store.run('deleteEndedAnswers', { now: Number.MAX_SAFE_INTEGER, limit: 1000, counter: 'test' })).toBeGreaterThan(0);
    const ended = [await store.run('deleteLooseParts', { limit: 4 }), await store.run('deleteLooseParts', { limit: 100 })];
    expect(ended).toEqual([4, Math.ceil(6_000_000 / (1 << 20)) - 4]);
    expect((await again()).ending).toBe('again');
  });

  it('have each long text once, and bytes as bytes', async () => {
    const evidence = { document: { base64: new LongAnswer(Buffer.alloc(3_000_000, 'QUJD')), name: 'é'.repeat(2000) } };
    const answer = { first: evidence, all: [evidence, { name: 'short', more: 'x'.repeat(1024) }], nothing: null };
    const request = newRequest();
    const answers = await instance();
    const objects: Repeatable<object> = {
      run: async () => Promise.resolve(answer),
      isKept: () => true,
      endingOf: (kept) => z.looseObject({}).parse(kept),
      settled: () => answer,
    };
    await answers.once(request, objects);
    const parts = await store.run('deleteLooseParts', { limit: 100 });
    const { ending, isRepeated } = await answers.once(request, objects);
    expect([parts, isRepeated, JSON.stringify(ending) === JSON.stringify(answer)]).toEqual([0, true, true]);
    expect(ending).toMatchObject({ first: { document: { base64: expect.any(LongAnswer) as unknown } } });
    await store.run('deleteEndedAnswers', { now: Number.MAX_SAFE_INTEGER, limit: 1000, counter: 'test' });
    expect(await store.run('deleteLooseParts', { limit: 100 })).toBe(3);
  });

  describe('that have reached their limit', () => {
    const keeping = (text: string): Repeatable<Ending> => repeatable(async () => Promise.resolve(text));
    const all = limits;
    afterEach(() => {
      limits = all;
    });

    it('refuse to carry out more of that client, until some end; what is kept is still answered', async () => {
      const answers = await instance(store, { keepMs: 4000 });
      const request = { ...newRequest(), client: 'full' };
      const run = vi.fn<() => Promise<Ending>>(async () => Promise.resolve('x'.repeat(2_000_000)));
      const before = await store.run('allKeptBytes');
      await answers.once(request, repeatable(run));
      const bytes = (await store.run('allKeptBytes')) - before;
      expect(bytes).toBeGreaterThan(2_000_000);
      expect(bytes).toBeLessThan(2_002_000);
      limits = { ...all, client: 2_000_000 };
      const other = { ...newRequest(), client: 'full' };
      const refused: unknown = await answers.once(other, repeatable(run)).catch((error: unknown) => error);
      expect(refused).toMatchObject({ whose: 'client', fullMs: expect.any(Number) as unknown });
      expect(run).toHaveBeenCalledOnce();
      expect((await answers.once(request, keeping('again'))).isRepeated).toBe(true);
      expect((await answers.once(newRequest(), keeping('another client'))).ending).toBe('another client');
      // Nothing of the refused request stays in anybody's way.
      await delay((refused as KeptAnswersFull).fullMs + 1);
      expect((await answers.once(other, keeping('now'))).ending).toBe('now');
    });

    it('refuse to carry out more of the clients of a tenant, and of no other', async () => {
      const answers = await instance();
      const of = async (tenant: string): Promise<{ readonly client: string; readonly tenant: string }> => {
        const client = randomBytes(32).toString('hex');
        const row = { spki_sha256: client, name: client, tenant, roles: '[]', created_at: 0, not_before: null, not_after: null };
        await store.run('registerClient', row);
        return { client, tenant };
      };
      const [one, two, three, other] = [await of('greedy'), await of('greedy'), await of('greedy'), await of('modest')];
      for (const client of [one, two]) await answers.once({ ...newRequest(), ...client }, keeping('x'.repeat(5000)));
      limits = { ...all, client: 8000, tenant: 10_000 };
      for (const client of [one, three])
        await expect(answers.once({ ...newRequest(), ...client }, keeping('more'))).rejects.toMatchObject({ whose: 'tenant' });
      expect((await answers.once({ ...newRequest(), ...other }, keeping('other'))).ending).toBe('other');
      limits = { ...limits, tenant: 15_000 };
      expect((await answers.once({ ...newRequest(), ...three }, keeping('room'))).ending).toBe('room');
      const late = { ...newRequest(), ...three };
      const coming = answers.once(
        { ...newRequest(), ...two, bodyBytes: 4000 },
        repeatable(async () => {
          await expect(answers.once(late, keeping('late'))).rejects.toMatchObject({ whose: 'tenant' });
          return 'came';
        }),
      );
      expect((await coming).ending).toBe('came');
      expect((await answers.once(late, keeping('late'))).ending).toBe('late');
    });

    it('refuse to carry out more of anybody, where it is all clients together', async () => {
      const answers = await instance();
      await answers.once(newRequest(), keeping('one'));
      limits = { ...all, all: 1 };
      await expect(answers.once({ ...newRequest(), client: 'somebody' }, keeping('two'))).rejects.toMatchObject({ whose: 'all' });
    });

    it('leave room for those that are on their way', async () => {
      const answers = await instance();
      limits = { ...all, client: 1000 };
      const mine = { client: 'busy', bodyBytes: 1000 };
      const first = Promise.withResolvers<Ending>();
      const begun = Promise.withResolvers<undefined>();
      const running = answers.once(
        { ...newRequest(), ...mine },
        repeatable(async () => {
          begun.resolve(undefined);
          return first.promise;
        }),
      );
      await begun.promise;
      await expect(answers.once({ ...newRequest(), ...mine }, keeping('too much'))).rejects.toThrow(KeptAnswersFull);
      first.resolve('passing');
      await running;
      expect((await answers.once({ ...newRequest(), ...mine }, keeping('room'))).ending).toBe('room');
    });

    it('are counted whoever keeps and whoever deletes them, and after a start', async () => {
      await store.run('deleteEndedAnswers', { now: Number.MAX_SAFE_INTEGER, limit: 1000, counter: 'one' });
      expect(await store.run('allKeptBytes')).toBe(0);
      const [one, other] = [await instance(), await instance()];
      await one.once(newRequest(), keeping('x'.repeat(5000)));
      await other.once(newRequest(), keeping('x'.repeat(5000)));
      const bytes = await store.run('allKeptBytes');
      await instance();
      expect(await store.run('allKeptBytes')).toBe(bytes);
      expect(bytes).toBeGreaterThan(10_000);
      await store.run('deleteEndedAnswers', { now: Number.MAX_SAFE_INTEGER, limit: 1000, counter: 'another' });
      expect(await store.run('allKeptBytes')).toBe(0);
    });
  });

  it('block nothing, however large body and answer are', { timeout: 240_000 }, async () => {
    const text = new Uint8Array(new SharedArrayBuffer(24 << 20)).fill(7);
    const request = newRequest({ document: new LongText('base64', text) });
    const evidence = new LongAnswer(new Uint8Array(new SharedArrayBuffer(24 << 20)).fill(65));
    const answers = await instance();
    const objects: Repeatable<object> = {
      run: async () => Promise.resolve({ one: evidence, all: [evidence] }),
      isKept: () => true,
      endingOf: (kept) => z.looseObject({}).parse(kept),
      settled: () => ({}),
    };
    // Threads start with the first work.
    await answers.once(newRequest({ document: new LongText('text', new Uint8Array(2000).fill(65)) }), objects);
    const longestMs = await longestTurnMs(async () => {
      expect((await answers.once(request, objects)).isRepeated).toBe(false);
      expect((await answers.once(request, objects)).isRepeated).toBe(true);
    });
    // Ten times what the documentation promises.
    expect(longestMs).toBeLessThan(100);
  });

  it('keep nothing of a large answer whose commit failed', async () => {
    const request = newRequest();
    const dying = new DyingStore(store, 'keepAnswer', 'before');
    const large = repeatable(async () => Promise.resolve('x'.repeat(3_000_000)));
    await expect((await instance(dying)).once(request, large)).rejects.toThrow('dead');
    expect(
      (
        await (
          await instance()
        ).once(
          request,
          repeatable(async () => Promise.resolve('small')),
        )
      ).ending,
    ).toBe('small');
    expect(await store.run('deleteLooseParts', { limit: 100 })).toBe(3);
  });

  it('keep a claim alive for as long as its request runs', async () => {
    const request = newRequest();
    const other = await instance();
    let second: Promise<Repetition<Ending>> | undefined;
    const first = (await instance()).once(
      request,
      repeatable(async () => {
        second = other.once(
          request,
          repeatable(async () => Promise.resolve('second')),
        );
        await new Promise((resolve) => {
          setTimeout(resolve, 3 * claimMs);
        });
        return 'first';
      }),
    );
    expect([await first, await second]).toEqual([
      { ending: 'first', isRepeated: false },
      { ending: 'first', isRepeated: true },
    ]);
  });

  it('let nobody commit whose claim has ended: both answer what the next one came to', async () => {
    const request = newRequest();
    const before = await keysMade();
    // As an instance that stood still: it renews nothing.
    const slow = await instance();
    slow.stop();
    const next = await instance();
    const overtaken = slow.once(
      request,
      repeatable(async () => {
        await next.once(request, repeatable(makingKey(store)));
        return makingKey(store)();
      }),
    );
    const { ending, isRepeated } = await overtaken;
    expect([isRepeated, ending]).toEqual([true, (await next.once(request, repeatable(makingKey(store)))).ending]);
    expect(await keysMade()).toBe(before + 1);
  });

  it.each(['kept', 'passing'])('let nobody answer whose claim has ended, with an ending that is %s', async (text) => {
    const request = newRequest();
    const slow = await instance();
    slow.stop();
    const next = await instance();
    const run = async (): Promise<Ending> => {
      await next.once(
        request,
        repeatable(async () => Promise.resolve('next')),
      );
      return text;
    };
    expect(await slow.once(request, repeatable(run))).toEqual({ ending: 'next', isRepeated: true });
  });

  it(`${name === 'SQLite' ? 'belong to one process' : 'are one for two instances'}: 50 duplicates at both make one key`, async () => {
    const stores = name === 'SQLite' ? [store, store] : [store, await openStateStore(config, recordingLog())];
    const instances = await Promise.all(stores.map(async (one) => ({ store: one, answers: await instance(one) })));
    const before = await keysMade();
    const request = newRequest();
    const all = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const here = instances[index % 2];
        if (here === undefined) throw new Error('two instances');
        return here.answers.once(request, repeatable(makingKey(here.store)));
      }),
    );
    expect(new Set(all.map(({ ending }) => ending)).size).toBe(1);
    expect(all.filter(({ isRepeated }) => !isRepeated)).toHaveLength(1);
    expect(await keysMade()).toBe(before + 1);
    for (const one of instances) if (one.store !== store) await one.store.close();
  });

  it('follow from one key on the token, however many instances start at once, and from a new one where it is lost', async () => {
    const fresh = await openStateStore(await database.fresh(), recordingLog());
    const serviceKeys = async (): Promise<string[]> =>
      (await token.listKeys()).map(({ id }) => String(id)).filter((id) => id.startsWith('4d'));
    const before = await serviceKeys();
    const open = async (log = recordingLog()): Promise<AnswerKeys> => AnswerKeys.open(fresh, token, log);
    const valueOf = async (of: AnswerKeys): Promise<string> =>
      of.using(async ({ current }) => Buffer.from(await current.mac(Buffer.from('message'))).toString('hex'));
    const all = await Promise.all([1, 2, 3].map(async () => open()));
    const values = await Promise.all(all.map(valueOf));
    expect(new Set(values).size).toBe(1);
    const added = (await serviceKeys()).filter((id) => !before.includes(id));
    expect(added).toHaveLength(1);
    expect(await fresh.run('journal')).toEqual([]);

    await token.destroyKey(parseKeyId(added[0] ?? ''));
    const log = recordingLog();
    const renewed = await open(log);
    expect(log.lines.join('\n')).toContain('making a new one');
    expect(await valueOf(renewed)).not.toBe(values[0]);
    expect(await valueOf(await open(log))).toBe(await valueOf(renewed));
    for (const one of [...all, renewed]) one.stop();
    await fresh.close();
  });
});
