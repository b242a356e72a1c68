import { randomInt, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operations } from '../../../src/operations/table.ts';
import { OwnService } from '../../support/own-service.ts';
import { ScratchPostgresql } from '../../support/postgresql.ts';
import { moveToPostgresql, startGateways } from '../../support/quickstart-postgresql.ts';
import { repetitions } from '../../support/repetitions.ts';
import { privateKeysOnToken } from '../../support/token-listing.ts';
import { outcomeOf, Requests, type Answer, type PreparedRequest } from './prepared-requests.ts';

/** Of a request while the database does not answer: connecting, a statement, and the question for the outcome of a commit wait one second. */
const longestSeconds = 30;
/** What a request may leave behind where its commit broke is undone after this time. */
const abandonedStepSeconds = 5;
const timeoutMs = 300_000;
const crashes = 8;
/** All requests are answered within this time if nothing happens. */
const crashWithinMs = 150;
const awayMs = 3000;
/** What comes of a repetition where no Idempotency-Key is taken, once the request was carried out. */
const repeated: Readonly<Record<string, string>> = {
  ...{ 'pki/changePassword': '2/202', 'pki/removeKey': '2/204', 'files/DELETE': '404' },
  // Activation data is used up.
  ...Object.fromEntries(
    [
      'v1/credentials/extendTransaction',
      'v2/credentials/extendTransaction',
      'v1/signatures/signHash',
      'v2/signatures/signHash',
      'v2/signatures/signDoc',
    ].map((method) => [`csc/${method}`, '400']),
  ),
};

const pooledKeys = 4;
const pooledTypes = ['P-256', 'P-384', 'RSA-2048'];

/** Tables that requests change, with those of their columns that name the rows. */
const tables = {
  keys: 'reference, key_id, state, encode(secret_mac, $$hex$$) as secret_mac, failures_since_success',
  certificates: 'sha1',
  otps: 'reference, otp_id, attempts_left',
  revocations: '*',
  signature_sessions: 'id',
  transfer_files: 'id',
  kept_answers: '*',
  key_journal: 'key_id, intent',
  publications: '*',
} as const;

let postgresql: ScratchPostgresql;
let database: string;
let service: OwnService;
let requests: Requests;
/** On the token before the service had its database. */
let keysBefore: Set<string>;

beforeAll(async () => {
  postgresql = await ScratchPostgresql.start();
  service = await OwnService.start(async (environment) => {
    const settings = { connectTimeoutSeconds: 1, statementTimeoutSeconds: 1, abandonedStepSeconds };
    database = await moveToPostgresql(environment, postgresql, { settings, more: { keyPool: { keys: pooledKeys } } });
    await startGateways(environment);
    keysBefore = new Set(privateKeysOnToken(environment.directory));
  });
  requests = new Requests(service);
});

afterAll(async () => {
  requests.close();
  await service.remove();
  await postgresql.remove();
});

const nameOf = ({ operation, how }: PreparedRequest): string => `${operation} ${how}`.trim();

async function stateNow(): Promise<Record<string, unknown>> {
  const entries = Object.entries(tables).map(async ([table, columns]) => {
    const rows = await postgresql.query(database, `select ${columns} from ${table}`);
    return [table, rows.map((row) => JSON.stringify(row)).toSorted()] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

async function keysMadeAhead(): Promise<[type: string, keys: number][]> {
  const rows = await postgresql.query(database, 'select key_type, count(*)::int as keys from key_pool group by key_type order by key_type');
  return rows.map(({ key_type: type, keys }) => [String(type), Number(keys)]);
}

const messagesNow = (): string[] => readdirSync(join(service.environment.directory, 'outbox')).toSorted();

/** Unfinished steps on the token, keys of callers on it without a record, and keys of records that are not on it. */
async function strayKeys(): Promise<{ unfinished: string[]; orphaned: string[]; lost: string[] }> {
  const idsIn = async (rows: string): Promise<string[]> =>
    (await postgresql.query(database, `select key_id from ${rows}`)).map(({ key_id: id }) => String(id));
  const audit = join(service.environment.directory, 'audit-shared');
  const recordsOf = (id: string): string[] =>
    readdirSync(audit).flatMap((name) =>
      readFileSync(join(audit, name), 'utf8')
        .split('\n')
        .filter((line) => line.includes(id)),
    );
  const unfinished = await idsIn('key_journal');
  const present = privateKeysOnToken(service.environment.directory).filter((id) => id.startsWith('43') && !keysBefore.has(id));
  const inPool = await idsIn('key_pool');
  const recorded = [...(await idsIn("keys where state not in ('REMOVED', 'CONSUMED')")), ...inPool];
  return {
    unfinished,
    orphaned: present.filter((id) => !recorded.includes(id)),
    lost: recorded
      .filter((id) => !present.includes(id))
      .map(
        (id) =>
          `${id}, ${inPool.includes(id) ? 'made ahead' : 'of a caller'}, ${keysBefore.has(id) ? '' : 'not '}from before; audited: ${recordsOf(id).join(' ')}`,
      ),
  };
}

const noStrayKeys = { unfinished: [], orphaned: [], lost: [] };

async function sendAll(prepared: readonly PreparedRequest[], withKey: boolean): Promise<Map<string, Answer>> {
  const answers = await Promise.all(
    prepared.map(async (sent) => {
      const answer = await requests.send(sent, { seconds: longestSeconds, ...(withKey ? { idempotencyKey: randomUUID() } : {}) });
      return [nameOf(sent), answer] as const;
    }),
  );
  return new Map(answers);
}

/** The database is taken away, and given back. */
interface Outage {
  readonly away: () => Promise<void> | void;
  readonly back: () => Promise<void> | void;
}

const outages: Readonly<Record<string, Outage>> = {
  'is stopped': { away: async () => postgresql.stop(), back: async () => postgresql.restart() },
  'does not answer': {
    away: () => {
      postgresql.pause();
    },
    back: () => {
      postgresql.resume();
    },
  },
};

const middle: typeof outages = {
  ...outages,
  crashes: { away: async () => postgresql.stop('immediate'), back: async () => postgresql.restart() },
  'loses its connections': {
    away: async () => {
      await postgresql.query('postgres', "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'signetd'");
    },
    back: () => undefined,
  },
};

describe('every operation while the database', () => {
  it('is tried here', async () => {
    const prepared = await requests.prepare();
    const tried = new Set(prepared.map(({ operation }) => operation).filter((operation) => !operation.startsWith('files/')));
    expect(tried).toEqual(new Set(operations.map(({ path }) => path)));
  });

  it.each(Object.entries(outages))(
    '%s is refused with 503 and Retry-After, changes nothing, and works again when the database is back',
    async (what, { away, back }) => {
      const prepared = await requests.prepare();
      // A key that is being made ahead is announced in the state.
      await expect.poll(keysMadeAhead).toEqual(pooledTypes.map((type) => [type, pooledKeys]));
      await expect.poll(strayKeys).toEqual(noStrayKeys);
      const before = { state: await stateNow(), messages: messagesNow() };
      await away();
      const begunMs = performance.now();
      for (const withKey of [false, true])
        for (const [name, { status, retryAfter, mediaType, text }] of await sendAll(prepared, withKey)) {
          const form = name.startsWith('csc/') ? 'application/json' : 'application/problem+json';
          expect([name, status, retryAfter, mediaType]).toEqual([name, 503, '1', expect.stringContaining(form)]);
          if (!name.startsWith('files/HEAD')) expect(text).toContain('the state store is not available');
        }
      process.stdout.write(`the database ${what}: all answered within ${Math.round(performance.now() - begunMs)} ms\n`);
      await back();
      await service.daemon.ready();
      await expect.poll(stateNow).toEqual(before.state);
      expect(messagesNow()).toEqual(before.messages);
      await expect.poll(strayKeys).toEqual(noStrayKeys);
      const answers = await sendAll(prepared, false);
      // A statement may take a second here: on a busy machine, all of them at once may be too much.
      const isLate = (sent: PreparedRequest): boolean => {
        const { status, text = '' } = answers.get(nameOf(sent)) ?? {};
        return status === 503 && text.includes('the state store is not available');
      };
      const again = await sendAll(prepared.filter(isLate), false);
      for (const [name, answer] of new Map([...answers, ...again])) expect([name, outcomeOf(answer)], answer.text).toEqual([name, '0/0']);
      await expect.poll(strayKeys).toEqual(noStrayKeys);
    },
    timeoutMs,
  );

  it('crashes in the middle is done or refused with 503, never by half, and a repetition has the outcome', async () => {
    const kinds = Object.entries(middle) as [[string, Outage], ...[string, Outage][]];
    const counted = new Map<string, number>();
    for (let round = 0; round < repetitions(crashes); round += 1) {
      const prepared = (await requests.prepare()).map((sent) => ({ sent, idempotencyKey: randomUUID() }));
      const send = async ({ sent, idempotencyKey }: (typeof prepared)[number]): Promise<[string, string]> => [
        nameOf(sent),
        outcomeOf(await requests.send(sent, { idempotencyKey, seconds: longestSeconds })),
      ];
      const sending = Promise.all(prepared.map(send));
      await delay(randomInt(crashWithinMs));
      const [what, { away, back }] = kinds[round % kinds.length] ?? kinds[0];
      await away();
      await delay(randomInt(awayMs));
      await back();
      const first = new Map(await sending);
      await service.daemon.ready();
      for (const [name, outcome] of await Promise.all(prepared.map(send))) {
        const before = first.get(name) ?? '';
        counted.set(before, (counted.get(before) ?? 0) + 1);
        expect(['0/0', '503'], `${name} while the database ${what}`).toContain(before);
        const [operation = ''] = name.split(' ');
        const again = repeated[operation];
        // The first request was carried out: it was answered so, or its answer was lost.
        const outcomes = again === undefined ? ['0/0'] : before === '0/0' ? [again] : ['0/0', again];
        expect(outcomes, `${name} again, after ${before} while the database ${what}`).toContain(outcome);
      }
      await expect.poll(strayKeys).toEqual(noStrayKeys);
    }
    process.stdout.write(`crashes: ${JSON.stringify(Object.fromEntries(counted))}\n`);
    expect(counted.get('0/0')).toBeGreaterThan(0);
    expect(counted.get('503')).toBeGreaterThan(0);
  });
});
