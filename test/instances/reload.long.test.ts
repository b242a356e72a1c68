import { randomUUID, X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { exitCodes } from '../../src/cli/exit-codes.ts';
import { signing } from '../idempotency/callers.ts';
import { newCertificate } from '../support/own-service.ts';
import { noSeveralInstances, SeveralInstances, type FullInstance } from '../support/several-instances.ts';
import { signetctl } from '../support/signetctl.ts';
import { skipNote } from '../support/skip-note.ts';
import { BalancedCaller, codeOf } from './balanced-caller.ts';

/** A command that ends well. */
const done = [exitCodes.ok, ''];
/** Certificates that are issued by each instance on either side of a reload. */
const settled = 3;
const [minutesBefore, minutesAfter] = [60, 30] as const;
const checking = { keyReference: { reference: 'f'.repeat(40) } };

interface Issued {
  readonly instance: string;
  readonly minutes: number;
  readonly begunMs: number;
  readonly endedMs: number;
}

interface Tenants {
  readonly tenants: Record<string, { readonly profile: object }>;
}

const configOf = ({ configPath }: FullInstance): Tenants => parse(readFileSync(configPath, 'utf8')) as Tenants;

function configure(instance: FullInstance, change: (tenants: Tenants['tenants']) => object): void {
  const config = configOf(instance);
  writeFileSync(instance.configPath, stringify({ ...config, tenants: change(config.tenants) }), { mode: 0o600 });
}

const withMinutes =
  (minutes: number) =>
  ({ other, ...tenants }: Tenants['tenants']): object => ({
    ...tenants,
    other: { ...other, profile: { ...other?.profile, defaultValidityMinutes: minutes } },
  });

describe.skipIf(noSeveralInstances !== undefined)(`a reload of two instances, one after the other${skipNote(noSeveralInstances)}`, () => {
  let several: SeveralInstances;

  beforeAll(async () => {
    several = await SeveralInstances.start();
  });
  afterAll(async () => several.stop());

  /** Returns the exit code, and what the command says of a fault. */
  const ctl = async ({ configPath }: FullInstance, ...args: string[]): Promise<readonly [status: number | null, stderr: string]> => {
    const { status, stderr } = await signetctl(['--config', configPath, ...args]);
    return [status, stderr];
  };

  /** Has each instance issue certificates and sign, and both over the balancer, while something happens. Nothing else than success is right. */
  async function underLoad(what: string, happens: (issued: readonly Issued[]) => Promise<void>): Promise<Issued[]> {
    const issued: Issued[] = [];
    const wrong: string[] = [];
    const progress = { answered: 0, longestGapMs: 0, lastMs: performance.now(), isOver: false };
    const targets = [...several.instances.map(({ name, baseUrl }) => ({ name, baseUrl })), { name: 'balancer', baseUrl: several.baseUrl }];
    const work = async ({ name, baseUrl }: (typeof targets)[number]): Promise<void> => {
      const caller = new BalancedCaller(several.environment, { keepAlive: true });
      const ask = async (
        operation: string,
        body: object,
      ): Promise<{ keyReference?: object | undefined; certificate?: string | undefined }> => {
        const answer = await caller.ask(baseUrl, operation, body);
        const nowMs = performance.now();
        progress.longestGapMs = Math.max(progress.longestGapMs, nowMs - progress.lastMs);
        progress.lastMs = nowMs;
        progress.answered += 1;
        if (codeOf(answer) !== '0/0') wrong.push(`${name}, ${operation}: ${answer.status} ${answer.text}`);
        return answer.body;
      };
      while (!progress.isOver) {
        const begunMs = performance.now();
        const { keyReference = {}, certificate = '' } = await ask('pki/createCertificate', newCertificate());
        const { validFromDate, validToDate } = new X509Certificate(Buffer.from(certificate, 'base64'));
        const minutes = Math.round((validToDate.getTime() - validFromDate.getTime()) / 60_000);
        issued.push({ instance: name, minutes, begunMs, endedMs: performance.now() });
        await ask('signature/sign', signing(keyReference));
      }
      caller.close();
    };
    const working = Promise.all(targets.map(work));
    try {
      await more(issued);
      await happens(issued);
      await more(issued);
    } finally {
      progress.isOver = true;
      await working;
    }
    process.stdout.write(
      `${what}: ${progress.answered} requests answered, ${wrong.length} wrong; longest time without an answer ${Math.round(progress.longestGapMs)} ms\n`,
    );
    expect(wrong).toEqual([]);
    return issued;
  }

  /** Waits until each instance has issued more certificates. */
  async function more(issued: readonly Issued[]): Promise<void> {
    const before = issued.length;
    const counts = (): number[] =>
      several.instances.map(({ name }) => issued.slice(before).filter(({ instance }) => instance === name).length);
    await expect.poll(() => Math.min(...counts()), { timeout: 100_000 }).toBeGreaterThan(settled);
  }

  it.each([
    ['signetctl reload', minutesBefore, minutesAfter],
    ['signetctl reload, back', minutesAfter, minutesBefore],
  ])(
    '%s: each request is served by the configuration of its instance when it arrived',
    async (what, old, next) => {
      const reloads = new Map<string, { begunMs: number; endedMs: number }>();
      const issued = await underLoad(what, async (soFar) => {
        for (const instance of several.instances) {
          configure(instance, withMinutes(next));
          await more(soFar);
          const begunMs = performance.now();
          expect(await ctl(instance, 'reload')).toEqual(done);
          reloads.set(instance.name, { begunMs, endedMs: performance.now() });
          await more(soFar);
        }
      });
      for (const { instance, minutes, begunMs, endedMs } of issued) {
        const reload = reloads.get(instance);
        if (reload === undefined) expect([old, next]).toContain(minutes);
        else if (endedMs < reload.begunMs) expect([instance, minutes]).toEqual([instance, old]);
        else if (begunMs > reload.endedMs) expect([instance, minutes]).toEqual([instance, next]);
      }
    },
    300_000,
  );

  it('a file that cannot be used is refused by both, which go on with what they have', async () => {
    const issued = await underLoad('a reload that is refused', async () => {
      for (const instance of several.instances) {
        const text = readFileSync(instance.configPath);
        configure(instance, ({ other, ...tenants }) => ({ ...tenants, other: { ...other, certificateAuthority: 'nowhere' } }));
        expect(await ctl(instance, 'reload')).toEqual([exitCodes.refused, expect.stringContaining('nowhere')]);
        writeFileSync(instance.configPath, text, { mode: 0o600 });
      }
    });
    expect(new Set(issued.map(({ minutes }) => minutes))).toEqual(new Set([minutesBefore]));
  }, 300_000);

  it('a tenant that is left out is refused by an instance from its reload on, and served with its keys when it is back', async () => {
    const app = new BalancedCaller(several.environment, { client: 'app' });
    const [first, second] = several.instances;
    const outcomes = async (ask: (baseUrl: string) => Promise<string>): Promise<string[]> =>
      Promise.all(several.instances.map(async ({ baseUrl }) => ask(baseUrl)));
    const { body } = await app.ask(first.baseUrl, 'pki/createCertificate', newCertificate());
    const sign = async (baseUrl: string): Promise<string> =>
      codeOf(await app.ask(baseUrl, 'signature/sign', signing(body.keyReference ?? {})));
    expect(await outcomes(sign)).toEqual(['0/0', '0/0']);
    const { demo } = configOf(first).tenants;
    await underLoad('a tenant is left out, and is back', async () => {
      for (const instance of several.instances)
        configure(instance, (tenants) => Object.fromEntries(Object.entries(tenants).filter(([name]) => name !== 'demo')));
      expect(await ctl(first, 'reload')).toEqual(done);
      expect(await outcomes(sign)).toEqual(['403', '0/0']);
      second.daemon.signal('SIGHUP');
      await expect.poll(async () => outcomes(sign)).toEqual(['403', '403']);
      for (const instance of several.instances) {
        configure(instance, (tenants) => ({ ...tenants, demo }));
        instance.daemon.signal('SIGHUP');
      }
      await expect.poll(async () => outcomes(sign)).toEqual(['0/0', '0/0']);
    });
    app.close();
  }, 300_000);

  it('a client that is registered and revoked at one instance is served and refused by both, without a reload', async () => {
    const { certificate = '' } = several.environment.description().clients['p384'] ?? {};
    const [first, second] = several.instances;
    const client = new BalancedCaller(several.environment, { client: 'p384', keepAlive: true });
    const outcome = async (baseUrl: string): Promise<string> =>
      client.ask(baseUrl, 'pki/checkKey', checking, randomUUID()).then(codeOf, () => 'closed');
    await underLoad('a client comes and goes', async () => {
      for (const [at, other] of [
        [first, second],
        [second, first],
      ] as const) {
        expect(await outcome(other.baseUrl)).toMatch(/^(403|closed)$/);
        const registration = ['--certificate', certificate, '--name', 'p384', '--tenant', 'p384', '--roles', 'keys', '--again'];
        expect(await ctl(at, 'client', 'add', ...registration)).toEqual(done);
        for (const { baseUrl } of [other, at]) expect(await outcome(baseUrl)).toBe('2/201');
        expect(await ctl(at, 'client', 'revoke', 'p384')).toEqual(done);
        for (const { baseUrl } of [other, at]) expect(await outcome(baseUrl)).toMatch(/^(403|closed)$/);
      }
    });
    client.close();
  }, 300_000);
});
