import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { description, directory } from '../support/api.ts';
import { askConsole, codeIn, consoleLink, signedIn, type ConsoleAnswer } from './console-request.ts';
import { lockedKey } from './named-key.ts';

const { opsUrl, configFile } = description;
const { host } = new URL(opsUrl);
let operator: Readonly<Record<string, string>>;

const ask = async (path: string, headers: Readonly<Record<string, string>> = operator, method = 'GET'): Promise<ConsoleAnswer> =>
  askConsole(opsUrl, path, { method, headers });
const bodyOf = ({ body }: ConsoleAnswer): unknown => JSON.parse(body);
const operatorPaths = ['/api/service', '/api/keys', `/api/keys/${'0'.repeat(40)}`, '/api/audit', '/api/configuration'];
const Keys = z.object({
  keys: z.array(z.object({ reference: z.string(), tenant: z.string(), state: z.string() })),
  next: z.string().nullable(),
});

function auditLog(): string {
  const audit = join(directory, 'audit');
  return readdirSync(audit)
    .map((name) => readFileSync(join(audit, name), 'utf8'))
    .join('');
}

beforeAll(async () => {
  operator = await signedIn(opsUrl, configFile);
});

describe('the console, for everybody on the machine', () => {
  it('shows health and graphs, and nothing else', async () => {
    expect(bodyOf(await ask('/api/overview', {}))).toMatchObject({ isReady: true, faults: {} });
    expect(bodyOf(await ask('/api/history', {}))).toMatchObject({ intervalSeconds: 5, spanSeconds: 3600 });
    for (const path of operatorPaths) expect((await ask(path, {})).status).toBe(401);
    expect((await ask(`/api/keys/${'0'.repeat(40)}/unlock`, {}, 'POST')).status).toBe(401);
  });

  it('sends its page under a policy that allows nothing but its own files, and lets no cache keep it', async () => {
    const { status, headers } = await ask('/', {});
    expect(status).toBe(200);
    const policy = headers['content-security-policy'] ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-frame-options': 'DENY', 'referrer-policy': 'no-referrer' });
    expect((await ask('/api/overview', {})).headers['cache-control']).toBe('no-store');
    expect((await ask('', {})).headers['location']).toBe('/console/');
    const root = await fetch(opsUrl, { redirect: 'manual' });
    expect([root.status, root.headers.get('location')]).toEqual([302, '/console/']);
    expect((await ask('/element.js', {})).headers['content-type']).toContain('text/javascript');
  });

  it('sends every file that its page names, and every module that one of these imports', async () => {
    const wanted = ['/'];
    for (const path of wanted) {
      const { status, body } = await ask(path, {});
      expect([path, status]).toEqual([path, 200]);
      const named = [...body.matchAll(/(?:from|import|src=|href=)\s*["'](?:\.\/)?([a-z]+\.(?:js|css|svg))["']/g)].map(
        ([, name]) => `/${name}`,
      );
      wanted.push(...new Set(named.filter((name) => !wanted.includes(name))));
    }
    expect(wanted.length).toBeGreaterThan(10);
    expect(wanted).toContain('/graph.js');
  });

  it.each(['/../package.json', '/%2e%2e/package.json', '/tsconfig.json', '/api/nothing', '/%', '/console.ts'])(
    'has no %s',
    async (path) => {
      expect([400, 404]).toContain((await ask(path, {})).status);
    },
  );

  it.each([
    'attacker.example',
    `attacker.example:9443`,
    'localhost.attacker.example',
    '127.0.0.1.attacker.example',
    'localhost@attacker.example',
  ])('refuses the host %j, which a name server may lead here', async (name) => {
    expect((await ask('/', { Host: name })).status).toBe(403);
    expect((await ask('/api/overview', { Host: name })).status).toBe(403);
  });

  it.each(['localhost:9443', 'LOCALHOST', '127.0.0.1', '[::1]:9443'])('answers under %s', async (name) => {
    expect((await ask('/api/overview', { Host: name })).status).toBe(200);
  });
});

describe('signing in to the console', () => {
  it('takes the code of signetctl console, once, and is recorded with the user', async () => {
    const url = await consoleLink(configFile);
    expect(url.startsWith(`${opsUrl}/console/#code=`)).toBe(true);
    const headers = { 'X-Console-Code': codeIn(url) };
    const first = await ask('/api/sign-in', headers, 'POST');
    expect(first.status).toBe(200);
    const [cookie] = first.headers['set-cookie'] ?? [];
    expect(cookie).toMatch(new RegExp(`^signetd_console_${new URL(opsUrl).port}=[\\w-]{43}; Path=/console; HttpOnly; SameSite=Strict$`));
    expect((await ask('/api/sign-in', headers, 'POST')).status).toBe(401);
    expect(auditLog()).toMatch(new RegExp(`"uid":${process.getuid?.()},"command":"console"`));
    const signIns = (): number => auditLog().split('"via":"console","command":"console sign-in"').length - 1;
    const before = signIns();
    await signedIn(opsUrl, configFile);
    expect(signIns()).toBe(before + 1);
  });

  it('opens nothing with the cookie alone, nor with the token alone', async () => {
    const { Cookie = '', 'X-Console-Token': token = '' } = operator;
    expect((await ask('/api/service')).status).toBe(200);
    expect((await ask('/api/service', { Cookie })).status).toBe(401);
    expect((await ask('/api/service', { 'X-Console-Token': token })).status).toBe(401);
  });

  it('ends with signing out', async () => {
    const mine = await signedIn(opsUrl, configFile);
    expect((await ask('/api/sign-out', mine, 'POST')).status).toBe(200);
    expect((await ask('/api/service', mine)).status).toBe(401);
  });

  it.each([
    ['Origin', { Origin: 'http://attacker.example' }],
    ['Origin of another port', { Origin: `http://${host.replace(/\d+$/, '1')}` }],
    ['Origin of a sandbox', { Origin: 'null' }],
    ['Sec-Fetch-Site', { 'Sec-Fetch-Site': 'cross-site' }],
    ['Sec-Fetch-Site of another port', { 'Sec-Fetch-Site': 'same-site' }],
  ])('counts for no request of another page: %s', async (_header, headers) => {
    const reference = await lockedKey('Camille Martin');
    expect((await ask(`/api/keys/${reference}/unlock`, { ...operator, ...headers }, 'POST')).status).toBe(403);
    expect((await ask('/api/service', { ...operator, ...headers })).status).toBe(403);
    expect(bodyOf(await ask(`/api/keys/${reference}`))).toMatchObject({ state: 'LOCKED' });
  });
});

describe('the console, for an operator', () => {
  it('shows the service, with what ends and the sessions', async () => {
    const service = bodyOf(await ask('/api/service'));
    expect(service).toMatchObject({ access: 'operate', token: { isReady: true, profile: 'softhsm2' }, audit: { writable: true } });
    const { ends } = z
      .object({ ends: z.array(z.object({ what: z.string(), at: z.iso.datetime() })), sessions: z.array(z.unknown()) })
      .parse(service);
    expect(new Set(ends.map(({ what }) => what))).toEqual(
      new Set(['API certificate', 'client CRL', 'CA certificate', 'CRL', 'OCSP responder', 'time-stamp authority']),
    );
    expect(ends.map(({ at }) => at)).toEqual(ends.map(({ at }) => at).toSorted());
  });

  it('unlocks a key, which the audit log records with the user and the console', async () => {
    const reference = await lockedKey('Camille Martin');
    const unlocked = await ask(`/api/keys/${reference}/unlock`, { ...operator, Origin: opsUrl, 'Sec-Fetch-Site': 'same-origin' }, 'POST');
    expect([unlocked.status, bodyOf(unlocked)]).toMatchObject([200, { reference, state: 'ACTIVE', remainingAttempts: 5 }]);
    expect(auditLog()).toMatch(new RegExp(`"uid":${process.getuid?.()},"via":"console","command":"key unlock".*${reference}`));
  });

  it('refuses to unlock a key that is not there, and does so by POST only', async () => {
    expect((await ask(`/api/keys/${'0'.repeat(40)}/unlock`, operator, 'POST')).status).toBe(409);
    expect((await ask(`/api/keys/${'0'.repeat(40)}/unlock`)).status).toBe(404);
    expect((await ask('/api/keys/x/unlock', operator, 'POST')).status).toBe(404);
  });

  it('finds keys by the beginning of the reference, by name, tenant and state', async () => {
    const reference = await lockedKey('Camille Martin');
    const search = async (query: Record<string, string>): Promise<string[]> => {
      const found: string[] = [];
      for (let next: string | null = ''; next !== null;) {
        const after: Record<string, string> = next === '' ? {} : { after: next };
        const page = Keys.parse(bodyOf(await ask(`/api/keys?${new URLSearchParams({ ...query, ...after }).toString()}`)));
        found.push(...page.keys.map((key) => key.reference));
        next = page.next;
      }
      return found;
    };
    expect(await search({ text: reference.slice(0, 12).toUpperCase() })).toEqual([reference]);
    expect(await search({ text: reference, tenant: 'demo' })).toEqual([]);
    expect(await search({ text: reference, state: 'ACTIVE' })).toEqual([]);
    expect(await search({ text: 'camille MARTIN', tenant: 'other', state: 'LOCKED' })).toContain(reference);
    expect(await search({ text: 'nobody has this name' })).toEqual([]);
    const all = await search({});
    expect(all).toEqual([...new Set(all)].toSorted());
  });

  it.each(['?state=BROKEN', '?after=x', `?text=${'x'.repeat(300)}`, '?text=a&text=b'])('refuses the search %s', async (query) => {
    expect((await ask(`/api/keys${query}`)).status).toBe(400);
  });

  it('shows the last audit records, the newest first', async () => {
    await ask(`/api/keys?text=${'f'.repeat(40)}`);
    const { records } = z.object({ records: z.array(z.looseObject({ n: z.number() })) }).parse(bodyOf(await ask('/api/audit')));
    expect(records.length).toBeGreaterThan(1);
    expect(records.map(({ n }) => n)).toEqual(records.map(({ n }) => n).toSorted((a, b) => b - a));
    expect(records.slice(0, 50)).toContainEqual(expect.objectContaining({ command: 'key list', via: 'console' }));
  });

  it('has its reads of the audit log and of the configuration recorded, once while a page is refreshed', async () => {
    const mine = await signedIn(opsUrl, configFile);
    const views = (): number[] =>
      ['audit view', 'configuration view'].map((command) => auditLog().split(`"via":"console","command":"${command}"`).length - 1);
    const before = views();
    for (let round = 0; round < 3; round += 1)
      for (const path of ['/api/audit', '/api/configuration']) expect((await ask(path, mine)).status).toBe(200);
    expect(views()).toEqual(before.map((count) => count + 1));
  });

  it('shows the configuration without secrets', async () => {
    const { body } = await ask('/api/configuration');
    expect(JSON.parse(body)).toMatchObject({ sections: { token: { label: 'signetd', pin: expect.stringContaining('file:') as unknown } } });
    expect(body).toContain('(hidden)');
  });
});
