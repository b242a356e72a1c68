import { afterEach, describe, expect, it } from 'vitest';
import { closeConsoles, consoleWith, group, reference, user } from './console-here.ts';

const hourMs = 3600_000;
afterEach(closeConsoles);

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
