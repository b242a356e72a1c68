import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Gauge, Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { checkAdmission } from '../../src/console/admission.ts';
import { endsOf } from '../../src/console/ends.ts';
import { bucketsOf, quantileBetween } from '../../src/console/histogram-delta.ts';
import { Problem } from '../../src/http/problem.ts';
import { Refusal } from '../../src/result-codes.ts';
import { StoreUnavailable } from '../../src/state/store-unavailable.ts';
import { closeConsoles, consoleWith, reference, user } from './console-here.ts';

afterEach(closeConsoles);

describe('a request to the console is admitted', () => {
  const status = (host: string | undefined, listenerHost = '127.0.0.1', address: string | undefined = '127.0.0.1'): number => {
    const socket = new Socket();
    Object.defineProperty(socket, 'remoteAddress', { value: address });
    const request = new IncomingMessage(socket);
    if (host !== undefined) request.headers.host = host;
    try {
      checkAdmission(request, listenerHost);
      return 200;
    } catch (error) {
      return error instanceof Problem ? error.status : 0;
    }
  };

  it.each([
    ['localhost', '127.0.0.1'],
    ['localhost:9443', '127.0.0.1'],
    ['LocalHost:1', '0.0.0.0'],
    ['127.0.0.1', '::'],
    ['[::1]:9443', 'localhost'],
    ['192.0.2.1', '192.0.2.1'],
    ['[2001:db8::1]:80', '2001:db8::1'],
    ['Ops.Example', 'OPS.example'],
  ])('under %s if the listener is at %s', (host, listenerHost) => {
    expect(status(host, listenerHost)).toBe(200);
  });

  it.each([
    [undefined, '127.0.0.1'],
    ['', '127.0.0.1'],
    ['attacker.example', '127.0.0.1'],
    ['localhost.', '127.0.0.1'],
    ['localhost:', '127.0.0.1'],
    ['localhost:123456', '127.0.0.1'],
    ['localhost:1:2', '127.0.0.1'],
    ['a localhost@b', '127.0.0.1'],
    ['localhost/x', '127.0.0.1'],
    ['0.0.0.0', '0.0.0.0'],
    ['[::]', '::'],
    ['192.0.2.1', '127.0.0.1'],
    ['2001:db8::1', '2001:db8::1'],
  ])('but not under %s if it is at %s', (host, listenerHost) => {
    expect(status(host, listenerHost)).toBe(403);
  });

  it.each(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', undefined])('from this machine: %s', (address) => {
    expect(status('localhost', '127.0.0.1', address)).toBe(200);
  });

  it.each(['192.0.2.1', '::ffff:192.0.2.1', '2001:db8::1', '::2', '12.7.0.1'])('but not from another one: %s', (address) => {
    expect(status('localhost', '127.0.0.1', address)).toBe(403);
  });
});

describe('the console answers', () => {
  it('with its page and the files of that, and with nothing else', async () => {
    const { ask } = await consoleWith();
    const types = { '/': 'text/html', '/console.js': 'text/javascript', '/narrow.css': 'text/css', '/icon.svg': 'image/svg+xml' };
    for (const [path, type] of Object.entries(types)) {
      const { status, headers, body } = await ask(path);
      expect([status, headers['content-type']?.split(';')[0], body.length > 100]).toEqual([200, type, true]);
      expect(headers).toMatchObject({
        ...{
          'cache-control': 'no-store',
          'referrer-policy': 'no-referrer',
          'x-frame-options': 'DENY',
          'x-content-type-options': 'nosniff',
        },
        'permissions-policy': 'camera=(), geolocation=(), microphone=()',
      });
      const policy = headers['content-security-policy'];
      for (const rule of [
        ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'", "base-uri 'none'"],
        ...["form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'"],
      ])
        expect(`${String(policy)};`).toContain(`${rule};`);
    }
    for (const path of ['/console.ts', '/answers.js', '/..%2fconsole.js', '/x', '/a/b']) expect((await ask(path)).status).toBe(404);
    const { status, headers } = await ask('');
    expect([status, headers.location]).toEqual([308, '/console/']);
    expect((await ask('/%ff')).status).toBe(400);
  });

  it('with what everybody may know', async () => {
    const health = { ready: async () => Promise.resolve({ token: 'gone' }), warnings: () => ({ clock: 'late' }) };
    const { ask } = await consoleWith('operate', { health });
    const { headers, body } = await ask('/api/overview');
    expect(headers['cache-control']).toBe('no-store');
    expect(JSON.parse(body)).toEqual({
      ...{ version: expect.any(String) as unknown, now: expect.stringMatching(/Z$/) as unknown, started: '1970-01-01T00:00:00.000Z' },
      ...{ isReady: false, faults: { token: 'gone' }, warnings: { clock: 'late' } },
    });
    expect(JSON.parse((await (await consoleWith()).ask('/api/overview')).body)).toMatchObject({ isReady: true, faults: {} });
  });

  it.each(['?after=x', '?after=-1', '?after=1&after=2'])('to no request for the history with %s', async (query) => {
    const { ask } = await consoleWith();
    expect((await ask('/api/history')).status).toBe(200);
    expect((await ask('/api/history?after=5')).status).toBe(200);
    expect((await ask(`/api/history${query}`)).status).toBe(400);
  });

  it.each([
    '?state=BROKEN',
    '?after=x',
    `?after=${'A'.repeat(40)}`,
    `?text=${'x'.repeat(257)}`,
    '?text=a&text=b',
    '?tenant=',
    `?tenant=${'x'.repeat(65)}`,
  ])('to no search with %s', async (query) => {
    const { ask, signedIn, recorded } = await consoleWith();
    expect((await ask(`/api/keys${query}`, await signedIn())).status).toBe(400);
    expect(recorded).toHaveLength(1);
  });

  it.each(['x', 'A'.repeat(40), '0'.repeat(39), '0'.repeat(41), `${'0'.repeat(39)}g`])('to no request for the key %s', async (other) => {
    const { ask, signedIn } = await consoleWith();
    const operator = await signedIn();
    expect((await ask(`/api/keys/${other}`, operator)).status).toBe(404);
    expect((await ask(`/api/keys/${other}/unlock`, operator, 'POST')).status).toBe(404);
  });

  it('with a cookie of its own port, which scripts and other sites do not get, and which ends with signing out', async () => {
    const { ask, signIns, url } = await consoleWith();
    const { port } = new URL(url);
    const enter = async (headers: Readonly<Record<string, string>>): Promise<readonly string[] | undefined> =>
      (await ask('/api/sign-in', { 'X-Console-Code': signIns.code(user).code, ...headers }, 'POST')).headers['set-cookie'];
    expect(await enter({})).toEqual([
      expect.stringMatching(new RegExp(`^signetd_console_${port}=[\\w-]{43}; Path=/console; HttpOnly; SameSite=Strict$`)) as unknown,
    ]);
    expect(await enter({ Host: 'localhost' })).toEqual([expect.stringMatching(/^signetd_console_80=/) as unknown]);
    expect((await ask('/api/sign-out', {}, 'POST')).headers['set-cookie']).toEqual([
      `signetd_console_${port}=; Path=/console; HttpOnly; SameSite=Strict; Max-Age=0`,
    ]);
    expect((await ask('/api/sign-in', { 'X-Console-Code': 'short' }, 'POST')).status).toBe(401);
    const answer = JSON.parse((await ask('/api/sign-in', { 'X-Console-Code': signIns.code(user).code }, 'POST')).body) as unknown;
    expect(answer).toEqual({
      ...{ token: expect.stringMatching(/^[\w-]{43}$/) as unknown, operator: `user ${user}`, access: 'operate' },
      endsAt: '1970-01-01T08:00:00.000Z',
    });
  });

  it('to the cookie of its own port, among others', async () => {
    const { ask, signedIn } = await consoleWith();
    const { Cookie = '', ...token } = await signedIn();
    const status = async (cookie: string): Promise<number> => (await ask('/api/configuration', { ...token, Cookie: cookie })).status;
    expect(await status(`a=b; ${Cookie};c=d`)).toBe(200);
    expect(await status(Cookie.replace(/_\d+=/, '_1='))).toBe(401);
    expect(await status(`x${Cookie}`)).toBe(401);
    expect(await status(Cookie.replace('=', '=x'))).toBe(401);
  });

  it('with the lines of the audit log, the newest first, and a damaged one as it is', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'signetd-console-'));
    try {
      const { ask, signedIn } = await consoleWith('operate', { config: () => ({ audit: { enabled: true, directory } }) });
      const operator = await signedIn();
      const records = async (): Promise<unknown> => JSON.parse((await ask('/api/audit', operator)).body);
      expect(await records()).toEqual({ records: [] });
      const path = join(directory, 'audit-00000001.jsonl');
      writeFileSync(path, '{"n":1}\n{"n":\n5\nnull\n["a"]\n');
      expect(await records()).toEqual({ records: [{ 0: 'a' }, { damaged: 'null' }, { damaged: '5' }, { damaged: '{"n":' }, { n: 1 }] });
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it('with the records of the audit log that are searched for, one search at a time', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'signetd-console-'));
    try {
      const { ask, signedIn } = await consoleWith('operate', { config: () => ({ audit: { enabled: true, directory } }) });
      const operator = await signedIn();
      const lines = [1, 2, 3].map((n) => ({
        ...{ n, time: `2026-03-0${n}T10:00:00.000Z`, kind: 'request', request: `r${n}`, client: 'app' },
        ...(n === 2 ? { major: 2, minor: 202, reason: 'activation failed' } : { major: 0, minor: 0 }),
      }));
      writeFileSync(join(directory, 'audit-00000001.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
      const found = async (query: string): Promise<unknown> => JSON.parse((await ask(`/api/audit?${query}`, operator)).body);
      expect(await found('outcome=refused')).toEqual({ records: [lines[1]] });
      expect(await found('client=app&since=2026-03-02T00:00:00Z&until=2026-03-03T00:00:00Z')).toEqual({ records: [lines[1]] });
      expect(await found('request=r3')).toEqual({ records: [lines[2]] });
      expect(await found('client=app&before=3')).toEqual({ records: [lines[1], lines[0]] });
      expect(await found('client=other')).toEqual({ records: [] });
      for (const wrong of ['outcome=x', 'since=yesterday', 'before=0', `client=${'a'.repeat(257)}`, 'client=a&client=b'])
        expect((await ask(`/api/audit?${wrong}`, operator)).status).toBe(400);
      const answers = await Promise.all(['r1', 'r2', 'r3'].map(async (id) => ask(`/api/audit?request=${id}`, operator)));
      expect(answers.some(({ status }) => status === 200)).toBe(true);
      expect(answers.every(({ status }) => status === 200 || status === 429)).toBe(true);
      expect((await ask('/api/audit?request=r1', operator)).status).toBe(200);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it.each([
    [new Refusal('STORE_FULL'), 503],
    [new StoreUnavailable('no answer'), 503],
    [new Problem(418, 'tea'), 418],
    [new Error('secret detail'), 500],
  ])('with a status for %s', async (error, expected) => {
    const config = (): never => {
      throw error;
    };
    const { ask, signedIn } = await consoleWith('operate', { config });
    const { status, body } = await ask('/api/configuration', await signedIn());
    expect(status).toBe(expected);
    expect(body).not.toContain('secret detail');
  });

  it('that nothing is known of a key without a store', async () => {
    const { ask, signedIn } = await consoleWith('operate', {
      store: { now: () => 0, run: async () => Promise.resolve(undefined) },
    });
    expect((await ask(`/api/keys/${reference}`, await signedIn())).status).toBe(409);
  });
});

describe('what ends', () => {
  it('is named with its authority, the first to end first', async () => {
    const registry = new Registry();
    const gauge = (name: string, labelNames: string[] = []): Gauge =>
      new Gauge({ name: `signetd_${name}`, help: name, labelNames, registers: [registry] });
    gauge('api_certificate_expiry_seconds').set(100);
    gauge('client_crl_expiry_seconds').set(Number.POSITIVE_INFINITY);
    const ofAuthority = gauge('authority_certificate_expiry_seconds', ['authority']);
    ofAuthority.set({ authority: 'root' }, 200);
    ofAuthority.set({ authority: 'issuing' }, -50);
    gauge('crl_expiry_seconds', ['authority']).set({ authority: 'root' }, 10);
    gauge('ocsp_responder_certificate_expiry_seconds', ['authority']).set({ authority: 'root' }, 20);
    gauge('time_stamp_authority_certificate_expiry_seconds').set(30);
    const at = (seconds: number): string => new Date(1_000_000 + seconds * 1000).toISOString();
    expect(await endsOf(registry, 1_000_000)).toEqual([
      { what: 'CA certificate', name: 'issuing', at: at(-50) },
      { what: 'CRL', name: 'root', at: at(10) },
      { what: 'OCSP responder', name: 'root', at: at(20) },
      { what: 'time-stamp authority', name: '', at: at(30) },
      { what: 'API certificate', name: '', at: at(100) },
      { what: 'CA certificate', name: 'root', at: at(200) },
    ]);
  });
});

describe('a quantile between two readings', () => {
  const buckets = (counts: readonly number[]): ReadonlyMap<number, number> =>
    new Map([1, 2, 4, Number.POSITIVE_INFINITY].map((bound, index) => [bound, counts[index] ?? 0]));

  it.each<[readonly number[], readonly number[], number, number | null]>([
    [[0, 0, 0, 0], [0, 0, 0, 0], 0.5, null],
    [[5, 5, 5, 5], [5, 5, 5, 5], 0.5, null],
    [[0, 0, 0, 0], [4, 4, 4, 4], 0.5, 0.5],
    [[0, 0, 0, 0], [0, 4, 4, 4], 0.5, 1.5],
    [[0, 0, 0, 0], [2, 4, 4, 4], 0.75, 1.5],
    [[0, 0, 0, 0], [2, 4, 4, 4], 0.5, 1],
    [[0, 0, 0, 0], [0, 0, 4, 4], 1, 4],
    [[1, 1, 1, 1], [1, 1, 5, 5], 0.25, 2.5],
    // Nothing is known of what is beyond the last bound.
    [[0, 0, 0, 0], [0, 0, 0, 4], 0.5, 4],
    // A service that has started anew counts from the beginning.
    [[9, 9, 9, 9], [1, 1, 1, 1], 0.5, null],
  ])('of %j and %j at %d is %d', (before, after, quantile, expected) => {
    expect(quantileBetween(buckets(before), buckets(after), quantile)).toBe(expected);
  });

  it('adds up the buckets of a histogram over its other labels, and nothing else of it', () => {
    const metricName = 'h_bucket';
    const values = [
      { labels: { le: 1, operation: 'a' }, value: 2, metricName },
      { labels: { le: 1, operation: 'b' }, value: 3, metricName },
      { labels: { le: '+Inf', operation: 'a' }, value: 4, metricName },
      { labels: { operation: 'a' }, value: 100, metricName: 'h_sum' },
      { labels: { le: 1 }, value: 100, metricName: 'h_count' },
      { labels: { le: 1 }, value: 100 },
      { labels: {}, value: 100, metricName },
    ];
    expect([...bucketsOf(values)]).toEqual([
      [1, 5],
      [Number.POSITIVE_INFINITY, 4],
    ]);
  });
});
