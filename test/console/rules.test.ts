import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:http';
import express from 'express';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { noAudit, type Audit } from '../../src/audit/audit.ts';
import { consoleRouter, type ConsoleParts } from '../../src/console/console.ts';
import { MetricsHistory } from '../../src/console/history.ts';
import { OperatorGroup } from '../../src/console/operator-group.ts';
import { PageFiles } from '../../src/console/page-files.ts';
import { SignIns } from '../../src/console/sign-ins.ts';
import { Refusal } from '../../src/result-codes.ts';
import { recordingLog } from '../support/silent-log.ts';
import { askConsole, type ConsoleAnswer } from './console-request.ts';

const [user, group] = [64_007, 64_001];
const reference = '0'.repeat(40);
const hourMs = 3600_000;
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

interface Consoles {
  readonly url: string;
  readonly signIns: SignIns;
  readonly recorded: string[];
  readonly now: { groups: readonly number[]; ms: number; isFull: boolean };
  readonly ask: (path: string, headers?: Readonly<Record<string, string>>, method?: string) => Promise<ConsoleAnswer>;
  /** Headers of an operator who has signed in. */
  readonly signedIn: () => Promise<Readonly<Record<string, string>>>;
}

/** The console of a service of which nothing may be used but what is here. */
async function consoleWith(access: 'operate' | 'read' = 'operate'): Promise<Consoles> {
  const now: Consoles['now'] = { groups: [user, group], ms: 0, isFull: false };
  const recorded: string[] = [];
  const audit: Audit = {
    ...noAudit,
    administer: async (entry, work) => {
      if (now.isFull) throw new Refusal('STORE_FULL');
      const { value } = await work(() => []);
      recorded.push(`${entry.command} by ${entry.uid} via ${entry.via}`);
      return value;
    },
  };
  const signIns = new SignIns(() => now.ms);
  const log = recordingLog();
  const known = {
    ...{ audit, log, config: () => ({ audit: { enabled: false, directory: '' } }), configPath: '/signetd.yaml', startedAt: new Date() },
    token: { ready: true },
    health: { ready: async () => Promise.resolve({}), warnings: () => [] },
  };
  const administration = new Proxy(known, {
    get(parts, name, receiver) {
      if (!(name in parts)) throw new Error(`${String(name)} is used`);
      return Reflect.get(parts, name, receiver) as unknown;
    },
  }) as unknown as ConsoleParts['administration'];
  const operatorGroup = new OperatorGroup(
    group,
    log,
    async () => Promise.resolve(now.groups),
    () => now.ms,
  );
  const router = consoleRouter({
    ...{ administration, signIns, access, host: '127.0.0.1', operatorGroup },
    history: new MetricsHistory(new Registry()),
    files: new PageFiles(),
  });
  const server = createServer(express().use('/console', router));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ask: Consoles['ask'] = async (path, headers = {}, method = 'GET') => askConsole(url, path, { method, headers });
  const signedIn = async (): Promise<Readonly<Record<string, string>>> => {
    const answer = await ask('/api/sign-in', { 'X-Console-Code': signIns.code(user).code }, 'POST');
    const { token } = z.object({ token: z.string() }).parse(JSON.parse(answer.body));
    return { Cookie: (answer.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '', 'X-Console-Token': token };
  };
  return { url, signIns, recorded, now, ask, signedIn };
}

/** All that only operators may ask for. */
const operatorPaths = [
  ...['/api/service', '/api/keys', `/api/keys/${reference}`, '/api/audit', '/api/configuration'].map((path) => ['GET', path] as const),
  ['POST', `/api/keys/${reference}/unlock`] as const,
];

describe('an operator of the console', () => {
  it.each(operatorPaths)('who has left the group is signed out: %s %s', async (method, path) => {
    const { ask, signedIn, now, recorded } = await consoleWith();
    const operator = await signedIn();
    now.groups = [user];
    now.ms = 60_000;
    expect((await ask(path, operator, method)).status).toBe(401);
    // For good: who comes back needs a new link.
    now.groups = [user, group];
    now.ms = 120_000;
    expect((await ask('/api/configuration', operator)).status).toBe(401);
    expect(recorded).toEqual(['console sign-in', 'console end'].map((command) => `${command} by ${user} via console`));
  });

  it.each(operatorPaths)('is signed out after eight hours: %s %s', async (method, path) => {
    const { ask, signedIn, now } = await consoleWith();
    const operator = await signedIn();
    now.ms = 8 * hourMs - 1;
    expect((await ask('/api/configuration', operator)).status).toBe(200);
    now.ms = 8 * hourMs;
    expect((await ask(path, operator, method)).status).toBe(401);
  });

  it('who has left the group does not sign in with a link of before', async () => {
    const { ask, signIns, now, recorded } = await consoleWith();
    const { code } = signIns.code(user);
    now.groups = [user];
    const answer = await ask('/api/sign-in', { 'X-Console-Code': code }, 'POST');
    expect([answer.status, recorded]).toEqual([401, [`console end by ${user} via console`]]);
    expect(answer.headers['set-cookie']).toBeUndefined();
  });

  it('unlocks nothing where the console may only read', async () => {
    const { ask, signedIn, recorded } = await consoleWith('read');
    const operator = await signedIn();
    const answer = await ask(`/api/keys/${reference}/unlock`, operator, 'POST');
    expect([answer.status, answer.body]).toEqual([403, expect.stringContaining('listeners.operations.console')]);
    expect(recorded).toEqual([`console sign-in by ${user} via console`]);
  });

  it.each(['/api/audit', '/api/configuration'])('reads %s only if that is recorded', async (path) => {
    const { ask, signedIn, now, recorded } = await consoleWith();
    const operator = await signedIn();
    now.isFull = true;
    expect((await ask(path, operator)).status).toBe(503);
    now.isFull = false;
    expect((await ask(path, operator)).status).toBe(200);
    expect(recorded.slice(1)).toEqual([`${path.replace('/api/', '')} view by ${user} via console`]);
    // Refreshing the page needs no further record.
    now.isFull = true;
    expect((await ask(path, operator)).status).toBe(200);
  });
});

describe('the console', () => {
  it.each(operatorPaths)('answers nobody else: %s %s', async (method, path) => {
    const { ask, signedIn } = await consoleWith();
    const { Cookie = '', 'X-Console-Token': token = '' } = await signedIn();
    const other = await signedIn();
    for (const headers of [
      {},
      { Cookie },
      { 'X-Console-Token': token },
      { ...other, Cookie },
      { Cookie, 'X-Console-Token': 'x'.repeat(43) },
    ])
      expect((await ask(path, headers, method)).status).toBe(401);
  });

  it.each([
    ...[{ Origin: 'http://attacker.example' }, { Origin: 'null' }, { Origin: 'https://127.0.0.1' }, { Origin: '' }],
    ...[{ 'Sec-Fetch-Site': 'cross-site' }, { 'Sec-Fetch-Site': 'same-site' }, { 'Sec-Fetch-Site': 'none' }],
    ...[{ Host: 'attacker.example' }, { Host: '127.0.0.1.attacker.example' }, { Host: 'x@localhost' }, { Host: 'localhost:123456' }],
  ])('answers no request for data with %j', async (headers) => {
    const { ask, signedIn } = await consoleWith();
    const operator = await signedIn();
    for (const path of ['/api/overview', '/api/history', '/api/configuration'])
      expect((await ask(path, { ...operator, ...headers })).status).toBe(403);
    for (const path of ['/api/sign-in', '/api/sign-out']) expect((await ask(path, { ...operator, ...headers }, 'POST')).status).toBe(403);
    expect((await ask('/api/configuration', operator)).status).toBe(200);
  });

  it('answers a request of its own page', async () => {
    const { ask, signedIn, url } = await consoleWith();
    const operator = await signedIn();
    expect((await ask('/api/configuration', { ...operator, Origin: url, 'Sec-Fetch-Site': 'same-origin' })).status).toBe(200);
  });

  it.each(['GET', 'PUT'])('signs in and out, and unlocks, by no %s', async (method) => {
    const { ask, signIns, signedIn } = await consoleWith();
    const { code } = signIns.code(user);
    const operator = await signedIn();
    for (const path of ['/api/sign-in', '/api/sign-out', `/api/keys/${reference}/unlock`])
      expect((await ask(path, { ...operator, 'X-Console-Code': code }, method)).status).toBe(404);
    expect((await ask('/api/configuration', operator)).status).toBe(200);
    expect(signIns.signIn(code)?.operator.uid).toBe(user);
  });
});
