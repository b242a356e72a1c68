import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { noAudit } from '../../../src/audit/audit.ts';
import { Admission } from '../../../src/clients/admission.ts';
import { Draining } from '../../../src/service/draining.ts';
import { tenantId, type Caller } from '../../../src/clients/caller.ts';
import { LimitsConfig } from '../../../src/config/limits-config.ts';
import { StagedNames } from '../../../src/documents/paths/staged-names.ts';
import { Publications } from '../../../src/documents/publications.ts';
import { createApi } from '../../../src/http/api/api.ts';
import { workTurns } from '../../../src/http/body/work-turns.ts';
import { Guard } from '../../../src/http/api/guard.ts';
import type { RequestServices } from '../../../src/http/api/request-services.ts';
import { operation, type Context } from '../../../src/operations/operation.ts';
import { Refusal, resultCodes } from '../../../src/result-codes.ts';
import type { StateStore } from '../../../src/state/state-store.ts';
import { openSqliteStore } from '../../../src/state/threaded-store.ts';
import { StoreUnavailable } from '../../../src/state/store-unavailable.ts';
import { TokenBusy, TokenUnavailable } from '../../../src/token/token.ts';
import type { Sender } from '../../../src/telemetry/current-request.ts';
import { WorkThreads } from '../../../src/threads/work-threads.ts';
import { limitsInForce } from '../../support/limits.ts';
import { recordingLog } from '../../support/silent-log.ts';

const threads = new WorkThreads();
let server: Server | undefined;
let base: string;
let store: StateStore;
let publications: Publications;
beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'signetd-api-'));
  store = await openSqliteStore(join(base, 'state.sqlite'));
  const log = recordingLog();
  publications = await Publications.open({
    ...{
      store,
      owner: 'test',
      names: new StagedNames('test'),
      transfers: undefined,
      isRecorded: () => true,
      writeDirectories: () => [],
      log,
    },
  });
});
afterAll(async () => {
  await publications.stop();
  await store.close();
  rmSync(base, { recursive: true });
});
afterEach(() => {
  server?.close();
  server?.closeAllConnections();
});

const caller: Caller = { spkiSha256: '0'.repeat(64), name: 'app', tenant: tenantId('demo'), roles: new Set(['keys']) };

let isRegistered = true;
/** A registry in which that caller is registered as long as a test wants. */
const registrations = {
  isAlwaysCurrent: true,
  upToDate: async () => Promise.resolve(),
  holds: () => isRegistered,
  entered: () => undefined,
  left: () => undefined,
};

/** Serves one operation that ends as the test wants, and calls it. */
async function answerTo(
  run: () => Promise<object>,
  {
    draining = new Draining(),
    busySeconds,
    log = recordingLog(),
    signal,
    onAdmission = () => undefined,
  }: {
    draining?: RequestServices['draining'];
    busySeconds?: number;
    log?: ReturnType<typeof recordingLog>;
    signal?: AbortSignal;
    onAdmission?: () => void;
  } = {},
): Promise<{ status: number; headers: Headers; body: unknown }> {
  const limits = LimitsConfig.parse({ jsonBodyMaxBytes: 1000 });
  const services: RequestServices = {
    limits,
    guard: new Guard(
      () => limitsInForce({ jsonBodyMaxBytes: 1000 }),
      threads,
      () => 'client',
      { registered: () => undefined },
    ),
    log,
    draining,
    busySeconds: () => busySeconds,
    callerAtOnce: () => caller,
    callerOf: async () => Promise.resolve(caller),
    admit: (admittedCaller, role, cut) => {
      onAdmission();
      return new Admission(registrations, admittedCaller, role, cut);
    },
    audit: noAudit,
    publications,
    keptAnswers: { once: async () => Promise.reject(new Error('the operation takes no Idempotency-Key')) },
    // The operation of these tests uses nothing of it.
    context: () => ({ caller }) as unknown as Context,
  };
  const paths = {
    operations: [
      operation({
        path: 'pki/test',
        role: 'keys',
        spelling: 'majorCode',
        takesIdempotencyKey: false,
        summary: '',
        example: {},
        answer: z.object({}),
        request: z.strictObject({}),
        run,
      }),
    ],
    ftmRoot: '/ftm',
    signRoot: '/sign',
    doc2dRoot: '/doc2d',
  };
  const api = createApi(paths, () => services);
  const listening = createServer(api);
  server = listening;
  await new Promise<void>((resolve) => {
    listening.listen(0, '127.0.0.1', resolve);
  });
  const { port } = listening.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/sign/pki/test`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{}',
    ...(signal === undefined ? {} : { signal }),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

describe('an operation begins', () => {
  /** How many of 50 large bodies of a sender are begun before a request that comes after them. */
  async function begunBefore(sender: Sender): Promise<number> {
    let [begun, before] = [0, Number.NaN];
    const onAdmission = (): void => {
      for (let one = 0; one < 50; one += 1) void workTurns.turn(sender, 256 * 1024)?.then(() => (begun += 1));
    };
    const run = async (): Promise<object> => {
      before = begun;
      return Promise.resolve({});
    };
    const { status } = await answerTo(run, { onAdmission });
    expect(status).toBe(200);
    // The turns are those of the process: the next test finds none taken.
    for (let turn = 0; turn < 50; turn += 1) await nextTurn();
    expect(begun).toBe(49);
    return before;
  }

  it('behind what its client sent before', async () => {
    // The first begins at once.
    expect(await begunBefore({ tenant: caller.tenant, client: caller.spkiSha256 })).toBe(49);
  });

  it('before what another tenant sent before', async () => {
    expect(await begunBefore({ tenant: 'other', client: '1'.repeat(64) })).toBeLessThan(49);
  });
});

describe('how an operation ends', () => {
  it('403 without its answer if the client was revoked meanwhile', async () => {
    const { status, body } = await answerTo(async () => {
      isRegistered = false;
      return Promise.resolve({ made: 'for nobody' });
    });
    isRegistered = true;
    expect([status, body]).toEqual([403, expect.objectContaining({ detail: expect.stringContaining('no longer registered') as string })]);
    expect(JSON.stringify(body)).not.toContain('made');
  });

  it('after its client has hung up, which a stop waits for', async () => {
    const draining = new Draining();
    const [begun, released] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    const client = new AbortController();
    const answer = answerTo(
      async () => {
        begun.resolve(undefined);
        await released.promise;
        return {};
      },
      { draining, signal: client.signal },
    );
    await begun.promise;
    client.abort();
    await expect(answer).rejects.toThrow('aborted');
    server?.closeAllConnections();
    expect(await draining.end(0.2)).toBe(1);
    released.resolve(undefined);
    expect(await draining.end(20)).toBe(0);
  });

  it('503 with Retry-After before anything else is looked at, while more waits for the token than it serves in time', async () => {
    const { status, headers, body } = await answerTo(async () => Promise.reject(new Error('must not run')), { busySeconds: 7 });
    expect([status, headers.get('retry-after')]).toEqual([503, '7']);
    expect(body).toMatchObject({ status: 503, detail: 'more requests are waiting for the token than it can serve in time' });
  });

  it('503 with Retry-After if the queue filled up after that', async () => {
    const { status, headers } = await answerTo(async () => Promise.reject(new TokenBusy(3)));
    expect([status, headers.get('retry-after')]).toEqual([503, '3']);
  });

  it('503 with Retry-After while the service stops', async () => {
    const { status, headers } = await answerTo(async () => Promise.resolve({}), {
      draining: { refusing: true, during: async (work) => work() },
    });
    expect([status, headers.get('retry-after')]).toEqual([503, '5']);
  });

  it.each(Object.keys(resultCodes).filter((name) => name !== 'INTERNAL') as (keyof typeof resultCodes)[])(
    '%s has its codes of the catalogue',
    async (name) => {
      const { status, body } = await answerTo(async () => Promise.reject(new Refusal(name)));
      const { major, minor, text } = resultCodes[name];
      expect([status, body]).toEqual([200, { result: { majorCode: major, minorCode: minor, message: text } }]);
    },
  );

  it('503 with Retry-After for a state store that does not answer, without its reasons', async () => {
    const { status, headers, body } = await answerTo(async () => Promise.reject(new StoreUnavailable('connect ECONNREFUSED db.internal')));
    expect([status, headers.get('retry-after'), headers.get('content-type')]).toEqual([503, '1', 'application/problem+json']);
    expect(JSON.stringify(body)).not.toContain('db.internal');
  });

  it('2/291 for a token that does not answer, without its reasons', async () => {
    const { body } = await answerTo(async () => Promise.reject(new TokenUnavailable('slot 3 of hsm.internal')));
    expect(body).toEqual({ result: { majorCode: 2, minorCode: 291, message: resultCodes.TOKEN_UNAVAILABLE.text } });
  });

  it('2/299 for a defect, with an incident number alone that the log repeats', async () => {
    const log = recordingLog();
    const { status, body } = await answerTo(async () => Promise.reject(new Error('secret detail')), { log });
    const text = JSON.stringify(body);
    const incident = /incident ([0-9a-f]{12})"/.exec(text)?.[1] ?? 'none';
    expect([status, text]).toEqual([200, expect.stringContaining('"minorCode":299')]);
    expect(text).not.toContain('secret detail');
    expect(log.lines.some((line) => line.includes(incident) && line.includes('secret detail'))).toBe(true);
  });
});
