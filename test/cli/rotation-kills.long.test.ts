import { spawn } from 'node:child_process';
import { randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { Created, PersistentCaller, signing } from '../idempotency/callers.ts';
import type { DaemonProcess } from '../support/daemon-process.ts';
import { newCertificate, OwnService } from '../support/own-service.ts';
import { quickstartEnvironment } from '../support/quickstart-environment.ts';
import { rounds } from '../support/repetitions.ts';
import { jsonOf, signetctl } from '../support/signetctl.ts';
import { TwoDaemons } from '../support/two-daemons.ts';

/** What is rotated: one service, or several that share a state store and a token. */
interface Subject {
  readonly caller: PersistentCaller;
  /** The first is the one that is given the commands. */
  readonly instances: readonly { readonly daemon: DaemonProcess; readonly baseUrl: string; readonly configPath: string }[];
  query(sql: string): Promise<readonly Record<string, unknown>[]>;
  remove(): Promise<void>;
}

async function oneService(): Promise<Subject> {
  const service = await OwnService.start();
  const { configFile } = service.description;
  const { state } = z.looseObject({ state: z.looseObject({ path: z.string() }) }).parse(parse(readFileSync(configFile, 'utf8')));
  const rows = new DatabaseSync(state.path, { readOnly: true });
  return {
    caller: new PersistentCaller(service.environment),
    instances: [{ daemon: service.daemon, baseUrl: service.baseUrl, configPath: configFile }],
    query: async (sql) => Promise.resolve(rows.prepare(sql).all()),
    remove: async () => {
      rows.close();
      await service.remove();
    },
  };
}

async function twoInstances(): Promise<Subject> {
  const environment = quickstartEnvironment();
  const daemons = await TwoDaemons.start(environment);
  const paths = ['a', 'b'].map((name) => join(environment.directory, `${name}.yaml`));
  return {
    caller: new PersistentCaller(environment),
    instances: daemons.instances.map((instance, index) => ({ ...instance, configPath: paths[index] ?? '' })),
    query: async (sql) => daemons.postgresql.query(daemons.database, sql),
    remove: async () => {
      await daemons.stop();
      environment.remove();
    },
  };
}

interface Rotation {
  readonly command: readonly string[];
  /** Queries whose answer changes when a step has been done. */
  readonly steps: Readonly<Record<string, string>>;
}
const rotations: readonly Rotation[] = [
  {
    command: ['mac', 'rotate'],
    steps: {
      'the key is in force': 'select count(*) as value from mac_key',
      'the first row is sealed anew': 'select seal_mac as value from keys order by reference limit 1',
    },
  },
  {
    command: ['mac', 'destroy-former'],
    steps: { 'the end of the key is noted': 'select count(destroyed_at) as value from mac_key' },
  },
  {
    command: ['answers', 'rotate'],
    steps: {
      'a key is announced': "select count(*) as value from key_journal where key_id like '4d%'",
      'the key is in force': "select key_id as value from service_keys where purpose = 'kept answers'",
    },
  },
  {
    command: ['audit', 'rotate-key'],
    steps: {
      'a key is announced': "select count(*) as value from key_journal where key_id like '41%'",
      'the key is in force': 'select count(*) as value from audit_keys',
      'the log has a new file': 'select max(file) as value from audit_heads',
    },
  },
];
const cases = rotations.flatMap(({ command, steps }) =>
  [...Object.entries(steps), ['at any moment', undefined] as const].flatMap(([step, query]) =>
    (['daemon', 'command'] as const).map((victim) => ({ name: command.join(' '), command, step, query, victim })),
  ),
);

const Answers = z.looseObject({ current: z.looseObject({ keyId: z.string() }), former: z.array(z.looseObject({ keyId: z.string() })) });
const Inventory = z.looseObject({ objects: z.array(z.looseObject({ id: z.string() })) });

describe.each([
  ['one service with SQLite', oneService],
  ['two instances with PostgreSQL', twoInstances],
] as const)('%s', (_name, start) => {
  let subject: Subject;
  let key: { readonly reference: string; readonly password: string };

  /** Keys of kept answers of an earlier state store on the same token, and all keys of checkpoints, which are replaced. */
  let foreign: readonly string[];

  beforeAll(async () => {
    subject = await start();
    const used = new Set(await answerKeys());
    foreign = [...(await keysOnToken('4d')), ...(await keysOnToken('41'))].filter((id) => !used.has(id));
  }, 300_000);
  // The token host counts wrong passwords of a key, and each of these tests gives one.
  beforeEach(async () => {
    key = Created.parse(JSON.parse(await ask('pki/createCertificate', newCertificate(), randomUUID()))).keyReference;
  }, 60_000);
  afterAll(async () => {
    await subject.remove();
  });

  const ask = async (operation: string, body: object, idempotencyKey: string): Promise<string> => {
    const { instances, caller } = subject;
    let tries = randomInt(instances.length);
    return caller.ask(() => instances[tries++ % instances.length]?.baseUrl ?? '', operation, body, idempotencyKey);
  };
  const ctl = async (...command: readonly string[]): ReturnType<typeof signetctl> =>
    signetctl(['--config', subject.instances[0]?.configPath ?? '', '--json', ...command]);
  async function done(...command: readonly string[]): Promise<unknown> {
    const run = await ctl(...command);
    expect(run.status, `${command.join(' ')}: ${run.stderr}`).toBe(0);
    return jsonOf(run);
  }

  async function answerKeys(): Promise<string[]> {
    const { current, former } = Answers.parse(await done('answers', 'status'));
    return [current, ...former].map(({ keyId }) => keyId);
  }
  async function keysOnToken(kind: string): Promise<string[]> {
    return Inventory.parse(await done('token', 'inventory')).objects.flatMap(({ id }) => (id.startsWith(kind) ? [id] : []));
  }

  /** Signs all the time, every signature with an Idempotency-Key. Answers what was asked and answered. */
  function busy(): { readonly end: () => Promise<ReadonlyMap<string, string>> } {
    const answers = new Map<string, string>();
    const seen = { isOver: false };
    const working = Promise.all(
      [1, 2].map(async () => {
        while (!seen.isOver) {
          const idempotencyKey = randomUUID();
          answers.set(idempotencyKey, await ask('signature/sign', signing(key), idempotencyKey));
        }
      }),
    );
    return {
      end: async () => {
        seen.isOver = true;
        await working;
        return answers;
      },
    };
  }

  /** Kills the instance that has the command, or the command, once a step has been done. */
  async function killedAt({ command, query, victim }: (typeof cases)[number]): Promise<void> {
    const [{ daemon, configPath } = { daemon: undefined, configPath: '' }] = subject.instances;
    const valueOf = async (sql: string): Promise<string> => {
      const [row] = await subject.query(sql);
      const value = row?.['value'];
      return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value);
    };
    const before = query === undefined ? '' : await valueOf(query);
    const child = spawn(process.execPath, ['--disable-sigusr1', 'dist/cli.js', '--config', configPath, ...command], { stdio: 'ignore' });
    const ended = once(child, 'exit');
    if (query === undefined) await delay(randomInt(1500));
    else while (child.exitCode === null && (await valueOf(query)) === before) await delay(0);
    if (victim === 'command') {
      child.kill('SIGKILL');
      await ended;
      return;
    }
    await daemon?.kill();
    await ended;
    await daemon?.start();
  }

  // In one run of all checks, of each step either the daemon or the command is killed.
  const isEach = rounds !== 1;
  const tried = cases.filter((_, index) => isEach || index % 4 === 0 || index % 4 === 3);

  it.each(Array.from({ length: rounds ?? 2 }, (_, round) => round + 1).flatMap((time) => tried.map((one) => ({ ...one, time }))))(
    '$name: the $victim is killed when $step; nothing is lost or refused, and the command given again ends well, time $time',
    async (one) => {
      if (one.name === 'mac destroy-former') {
        await done('mac', 'rotate');
        // Each secret is made anew at its next use.
        await ask('signature/sign', signing(key), randomUUID());
      }
      const before = randomUUID();
      const answerBefore = await ask('signature/sign', signing(key), before);
      const load = busy();
      await killedAt(one);
      const again = await ctl(...one.command, ...(one.name === 'mac destroy-former' ? ['--force'] : []));
      // The first one may have ended.
      if (again.status !== 0) expect(again.stderr).toContain('there is no former MAC key');
      const answers = await load.end();
      answers.forEach((answer) => expect(answer).toContain('"resultMajor":0'));
      expect(await ask('signature/sign', signing(key), before)).toBe(answerBefore);
      for (const [idempotencyKey, answer] of [...answers].slice(-20))
        expect(await ask('signature/sign', signing(key), idempotencyKey)).toBe(answer);
      // The state of before: wrong is wrong.
      expect(await ask('signature/sign', signing({ ...key, password: 'not the password of it' }), randomUUID())).toContain(
        '"resultMinor":202',
      );
      expect(await ask('signature/sign', signing(key), randomUUID())).toContain('"resultMajor":0');
      for (const { configPath } of subject.instances) {
        const verified = await signetctl(['--config', configPath, '--json', 'audit', 'verify', '--no-account']);
        expect(verified.status, verified.stderr).toBe(0);
      }
    },
    200_000,
  );

  it('in the end, the token has the keys in force and no other', async () => {
    for (const { daemon } of subject.instances) {
      await daemon.stop();
      await daemon.start();
    }
    const announced = new Set((await subject.query('select key_id as id from key_journal')).map(({ id }) => String(id)));
    const settled = async (kind: string): Promise<string[]> =>
      (await keysOnToken(kind)).filter((id) => !announced.has(id) && !foreign.includes(id));
    expect((await settled('4d')).toSorted()).toEqual((await answerKeys()).toSorted());
    expect(await settled('41')).toHaveLength(1);
  });
});
