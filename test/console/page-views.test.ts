import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AuditRecords, ConfigurationInForce, FoundKeys, History, Key, Service } from '../../src/console/page/answers.ts';
import { noBrowser } from '../support/browser.ts';
import { skipNote } from '../support/skip-note.ts';
import { ago, day, key, keys, nowMs, overview, PageUnderTest, samples, service } from './page-under-test.ts';

describe.skipIf(noBrowser !== undefined)(`the page of the console${skipNote(noBrowser)}`, () => {
  let operator: PageUnderTest;
  let page: Page;
  beforeAll(async () => {
    operator = await PageUnderTest.start();
    ({ page } = operator);
  });
  afterAll(async () => operator.stop());

  it('signs in with the code of its address, which disappears, and asks with its token from then on', async () => {
    const fresh = await operator.newPage();
    const faults = { token: 'it does not answer' };
    const warnings = { clock: 'it is not set', disk: 'it is full' };
    const refused = {
      '/sign-in': { status: 401, detail: 'this link was used already' },
      '/overview': { ...overview, isReady: false, faults, warnings, started: ago(90) },
      '/history': { intervalSeconds: 5, spanSeconds: 3600, samples },
    };
    await operator.view('#code=abc', 'This link was used already.', refused, fresh);
    await expect(await operator.shown(fresh)).toMatchFileSnapshot('views/not-signed-in.txt');

    await operator.view('#code=abc_-1', 'No session is open', {}, fresh);
    expect(operator.asked[0]).toBe('POST /sign-in code abc_-1 nobody');
    expect(operator.asked.slice(1).filter((one) => !one.endsWith(' token'))).toEqual([]);
    expect(fresh.url()).toBe(`${operator.url}/console/#overview`);

    await fresh.getByRole('button', { name: 'Sign out' }).click();
    await fresh.getByRole('heading', { name: 'Sign in to see more' }).waitFor();
    expect(operator.asked).toContain('POST /sign-out token');
    expect(await fresh.locator('#account').innerText()).toBe('');
    expect(await fresh.getByRole('alert').count()).toBe(0);
    await operator.view('#audit', 'Status 404.', {}, fresh);
    expect(operator.asked).toEqual(['GET /audit nobody']);

    // A token that the service has forgotten is forgotten here, too.
    await operator.view('#code=abc', 'No session is open', {}, fresh);
    await operator.view('#audit', 'Sign in to see more', { '/audit': { status: 401, detail: 'sign in' } }, fresh);
    expect(await fresh.evaluate('sessionStorage.length')).toBe(0);
    await fresh.context().close();
  });

  it('shows a quiet service', async () => {
    await operator.view('#overview', 'No session is open');
    await expect(await operator.shown()).toMatchFileSnapshot('views/overview.txt');
  });

  it('shows all that needs attention', async () => {
    const ends: Service['ends'] = [
      { what: 'API certificate', name: '', at: ago(1) },
      { what: 'CRL', name: 'Root', at: ago(-3 * 3600) },
      { what: 'client CRL', name: '', at: ago(-6 * 3600) },
      { what: 'client CRL', name: 'b', at: ago(-6 * 3600 + 1) },
      { what: 'OCSP responder', name: 'Root', at: ago(-2 * day) },
      { what: 'API certificate', name: 'c', at: ago(-30 * day) },
      { what: 'time-stamp authority', name: '', at: ago(-30 * day + 1) },
      { what: 'CA certificate', name: 'Root', at: ago(-90 * day) },
      { what: 'CA certificate', name: 'Other', at: ago(-90 * day + 1) },
      { what: 'CRL', name: 'Old', at: ago(0) },
    ];
    const busy: Service = {
      ...{ ...service, operator: 'root', notLoaded: ['token', 'state'], tenants: [], ends },
      lastReload: { at: ago(60), faults: ['a is wrong', 'b is missing'] },
      audit: { enabled: true, writable: true, lastCheckpoint: null, recordsSinceCheckpoint: 2000 },
      token: { ...service.token, isReady: false, waiting: 0, pool: {}, keysLeft: [{ tokenId: 'abc', reason: 'no answer' }] },
      sessions: [
        { tenant: 'demo', count: 1200, oldestAgeSeconds: 119, lastEnds: ago(-60) },
        { tenant: 'other', count: 1, oldestAgeSeconds: 120, lastEnds: ago(-61) },
      ],
    };
    const warned = { ...overview, warnings: { crl: 'it ends soon' } };
    const history: History = { intervalSeconds: 5, spanSeconds: 3600, samples };
    await operator.view('#overview', 'should have been destroyed', { '/service': busy, '/overview': warned, '/history': history });
    await expect(await operator.shown()).toMatchFileSnapshot('views/attention.txt');
    expect(await page.locator('#account').innerText()).toBe('root\nSign out');
    expect(await page.locator('#account span').getAttribute('title')).toBe('signed in until 2026-11-25 17:20:00 UTC');
  });

  it('shows the values of the moment that is pointed at', async () => {
    await operator.view('#overview', 'token not connected', { '/history': { intervalSeconds: 5, spanSeconds: 3600, samples } });
    const graph = page.locator('.graph').first();
    const box = await graph.locator('.frame').boundingBox();
    if (box === null) throw new Error('the graph has no frame');
    const readout = async (part: number): Promise<string> => {
      await page.mouse.move(box.x + box.width * part, box.y + box.height / 2);
      return graph.locator('.readout').innerText();
    };
    expect(await readout(0.3)).toBe('16:13:20 · all 12.3 · errors 0.46');
    expect(await readout(0.36)).toBe('16:13:20 · all 12.3 · errors 0.46');
    expect(await graph.locator('.cursor').count()).toBe(1);
    expect(await graph.locator('.cursor').getAttribute('d')).toBe('M200.0 0V150');
    expect(await readout(0.99)).toBe('16:19:50 · all 2 · errors –');
    await page.mouse.move(0, 0);
    expect([await graph.locator('.readout').innerText(), await graph.locator('.cursor').count()]).toEqual(['', 0]);
  });

  it.each<[string, Partial<Service>, readonly string[]]>([
    ['no audit log', { audit: { ...service.audit, enabled: false } }, ['switched off']],
    ['an audit log that cannot be written', { audit: { ...service.audit, writable: false } }, ['not writable']],
    ['a reload that succeeded', { lastReload: { at: ago(60), faults: [] } }, ['2026-11-25 16:19:00 successful']],
    ['a store that does not answer', { sessions: null }, ['The state store does not answer.']],
  ])('shows %s', async (_what, more, texts) => {
    await operator.view('#overview', 'Process', { '/service': { ...service, ...more } });
    const text = await page.locator('.details').innerText();
    for (const one of texts) expect(text).toContain(one);
  });

  it('asks again after a while, for what is new', async () => {
    await operator.view('#overview', 'token not connected', { '/history': { intervalSeconds: 5, spanSeconds: 3600, samples } });
    expect(operator.asked).toContain('GET /history?after=0 token');
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await expect.poll(() => operator.asked).toContain(`GET /history?after=${nowMs - 10_000} token`);
    operator.answer({ '/overview': { status: 500, detail: 'broken' } });
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await page.getByRole('heading', { name: 'No answer' }).waitFor();
    // What is known stays.
    await page.getByText('No session is open').waitFor();
  });

  it('finds keys, by all that is asked for', async () => {
    await operator.view('#keys', '3 keys.', { '/keys': { keys, next: null, looked: 3 } satisfies FoundKeys });
    await expect(await operator.shown()).toMatchFileSnapshot('views/keys.txt');
    expect(operator.lastAsked).toBe('GET /keys?text= token');
    operator.answer({ '/keys': { keys: [], next: null, looked: 9 } satisfies FoundKeys });
    await page.getByLabel('Name or beginning').fill('Ada & Bob');
    await page.getByLabel('Tenant').selectOption('other');
    await page.getByLabel('State').selectOption('on hold');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('No key matches.').waitFor();
    expect(operator.lastAsked).toBe('GET /keys?text=Ada+%26+Bob&tenant=other&state=ON_HOLD token');
    expect(await page.getByRole('status').innerText()).toBe('0 keys.');
    operator.answer({ '/keys': { status: 400, detail: 'the search is not valid' } });
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('alert').getByText('The search is not valid.').waitFor();
  });

  it('goes on with a search that has stopped, and at the first key that is new', async () => {
    const [first, second, third] = keys;
    await operator.view('#keys', 'were looked at', { '/keys': { keys: [first, second], next: 'f'.repeat(40), looked: 1500 } });
    expect(await page.getByRole('status').innerText()).toBe('2 keys so far; 1,500 were looked at.');
    operator.answer({ '/keys': { keys: [], next: 'e'.repeat(40), looked: 500 } });
    await page.getByRole('button', { name: 'Search further' }).click();
    await page.getByText('2,000 were looked at').waitFor();
    expect(operator.lastAsked).toBe(`GET /keys?text=&after=${'f'.repeat(40)} token`);
    operator.answer({ '/keys': { keys: [third], next: null, looked: 1 } });
    await page.getByRole('button', { name: 'Search further' }).click();
    await page.getByText('3 keys.').waitFor();
    expect(operator.lastAsked).toBe(`GET /keys?text=&after=${'e'.repeat(40)} token`);
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Comma, Inc');
    expect(await page.getByRole('button', { name: 'Search further' }).count()).toBe(0);
    // What was found is still there after a key was looked at.
    operator.answer({ [`/keys/${'1'.repeat(40)}`]: first });
    await page.getByRole('link', { name: 'Key 1' }).click();
    await page.getByRole('heading', { name: 'Key 1' }).waitFor();
    const before = operator.asked.length;
    await page.getByRole('link', { name: 'All keys' }).click();
    await page.getByText('3 keys.').waitFor();
    expect(operator.asked.slice(before).filter((one) => one.includes('/keys'))).toEqual([]);
    operator.answer({ '/keys': { keys: [], next: 'd'.repeat(40), looked: 2 } });
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByText('None of these keys matches.').waitFor();
    expect(await page.getByRole('status').innerText()).toBe('0 keys so far; 2 were looked at.');
  });

  it('shows a key, and unlocks it once that is confirmed', async () => {
    const [, locked] = keys;
    const reference = '2'.repeat(40);
    await operator.view(`#keys/${reference}`, 'Unlock …', { [`/keys/${reference}`]: locked });
    await expect(await operator.shown()).toMatchFileSnapshot('views/locked-key.txt');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('O=Nobody');
    await page.getByRole('button', { name: 'Unlock …' }).click();
    await expect(await page.getByRole('dialog').ariaSnapshot()).toMatchFileSnapshot('views/unlock.txt');
    operator.answer({ [`/keys/${reference}/unlock`]: { status: 409, detail: 'the key is gone' } });
    await page.getByRole('button', { name: 'Unlock', exact: true }).click();
    await page.locator('.notice.bad').getByText('The key is gone.').waitFor();
    expect(operator.lastAsked).toBe(`POST /keys/${reference}/unlock token`);
    operator.answer({ [`/keys/${reference}/unlock`]: { ...locked, state: 'ACTIVE', failuresSinceSuccess: 0, lockedUntil: null } });
    await page.getByRole('button', { name: 'Unlock …' }).click();
    await page.getByRole('button', { name: 'Unlock', exact: true }).click();
    await page.getByText('Unlocked. The state of the key is ACTIVE.').waitFor();
    await expect(await operator.shown()).toMatchFileSnapshot('views/unlocked-key.txt');
    // The search of before showed another state.
    operator.answer({ '/keys': { keys, next: null, looked: 3 } });
    await page.getByRole('link', { name: 'All keys' }).click();
    await page.getByText('3 keys.').waitFor();
    expect(operator.lastAsked).toBe('GET /keys?text= token');
  });

  it.each<[string, Partial<Service>, Partial<Key>, string]>([
    ['that has failures', {}, { failuresSinceSuccess: 1 }, 'Reset attempts …'],
    ['that has none', {}, {}, 'there is nothing to unlock'],
    ['that is locked without a failure', {}, { state: 'LOCKED' }, 'Unlock …'],
    ['where it may only read', { access: 'read' }, { state: 'LOCKED' }, `signetctl key unlock ${'1'.repeat(40)} does`],
  ])('lets an operator unlock a key %s', async (_what, who, more, shows) => {
    await operator.view(`#keys/${'1'.repeat(40)}`, shows, {
      '/service': { ...service, ...who },
      [`/keys/${'1'.repeat(40)}`]: key('1', more),
    });
    expect(await page.getByRole('button', { name: /…/ }).count()).toBe(shows.endsWith('…') ? 1 : 0);
  });

  it('says that there is no such key', async () => {
    const path = `/keys/${'9'.repeat(40)}`;
    await operator.view(`#keys/${'9'.repeat(40)}`, 'There is no such key.', { [path]: { status: 404, detail: 'there is no such key' } });
    await expect(await operator.shown()).toMatchFileSnapshot('views/no-key.txt');
  });

  it('shows the audit log, filtered', async () => {
    const records: AuditRecords['records'] = [
      { n: 9, time: ago(1), kind: 'request', client: 'app', tenant: 'demo', operation: 'sign', major: 0, minor: 0, key: 'a'.repeat(40) },
      { n: 8, time: ago(2), kind: 'request', client: 'app', operation: 'sign', major: 2, minor: 202, repeated: true },
      { n: 7, time: ago(3), kind: 'request', client: 'app', tenant: 'demo', operation: 'checkKey', status: 503 },
      { n: 6, time: ago(4), kind: 'administration', uid: 0, command: 'reload', changed: ['a', 'b'] },
      { n: 5, time: ago(5), kind: 'administration', uid: 7, via: 'console', command: 'key unlock', key: 'b'.repeat(40) },
      { n: 4, time: ago(6), kind: 'administration', uid: 7, command: 'key unlock', fault: 'no answer' },
      { n: 3, time: ago(7), kind: 'refused-clients', reason: 'unknown', count: 3 },
      { n: 2, time: ago(8), kind: 'wrong-secrets', client: 'app', tenant: 'demo', count: 9 },
      { n: 1, kind: 'start', gap: 'a file is missing' },
      { n: 0, time: ago(9), kind: 'stop' },
      { damaged: '{"n":' },
    ];
    await operator.view('#audit', 'of the last 11', { '/audit': { records } });
    await expect(await operator.shown()).toMatchFileSnapshot('views/audit.txt');
    const counts: Record<string, string> = {};
    for (const name of ['requests', 'operators', 'not successful', 'all records', 'requests and operators']) {
      await page.getByLabel('Show').selectOption(name);
      const numbers = await page.locator('td[data-column="Record"]').allInnerTexts();
      counts[name] = numbers.join(' ');
    }
    expect(counts).toEqual({
      requests: '9 8 7',
      operators: '6 5 4',
      'not successful': '8 7 4 3 2 1 ',
      'all records': '9 8 7 6 5 4 3 2 1 0 ',
      'requests and operators': '9 8 7 6 5 4 3 2',
    });
    await page.getByLabel('Show').selectOption('all records');
    await expect(await operator.shown()).toMatchFileSnapshot('views/audit-all.txt');
  });

  it('shows a hundred records of the audit log, or says that there is none', async () => {
    const records = Array.from({ length: 101 }, (_, index) => ({
      n: index,
      time: ago(index),
      kind: 'request',
      client: 'a',
      major: 0,
      minor: 0,
    }));
    await operator.view('#audit', '100 records of the last 101, the newest first.', { '/audit': { records } });
    expect(await page.locator('tbody tr').count()).toBe(100);
    await page.getByLabel('Show').selectOption('operators');
    await page.getByText('None of the last records is of this kind.').waitFor();
    await operator.view('#audit', 'The audit log is switched off.', { '/audit': { records: [] } });
  });

  it('searches the audit log by request, client, outcome and time, and goes on', async () => {
    const record = (n: number): AuditRecords['records'][number] => ({
      ...{ n, time: ago(n), kind: 'request', client: 'app', tenant: 'demo', operation: 'signature/sign', major: 1, minor: 101 },
      reason: '/keyReference/reference: this field is required',
    });
    await operator.view('#audit', 'The audit log is switched off.', { '/audit': { records: [] } });
    operator.answer({ '/audit': { records: [record(9)], next: 5000 } });
    await page.getByLabel('Request or key').fill('order 4711');
    await page.getByLabel('Client').fill('app');
    await page.getByLabel('Outcome').fill('refused');
    await page.getByLabel('From (UTC)').fill('2026-03-01T00:00');
    await page.getByLabel('Before (UTC)').fill('2026-03-02T12:30');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByText('1 record so far, the newest first; the log was searched back to record 5,000.').waitFor();
    operator.answer({ '/audit': { records: [record(3)] } });
    await page.getByRole('button', { name: 'Search further' }).click();
    await page.getByText('2 records found, the newest first.').waitFor();
    expect(await page.locator('td[data-column="Outcome"]').allInnerTexts()).toEqual(
      Array.from({ length: 2 }, () => '1/101 /keyReference/reference: this field is required'),
    );
    for (const label of ['Client', 'Outcome', 'From (UTC)', 'Before (UTC)']) await page.getByLabel(label).fill('');
    await page.getByLabel('Request or key').fill('A'.repeat(40));
    operator.answer({ '/audit': { status: 429, detail: 'another search runs' } });
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByText('Another search runs').waitFor();
    const query = 'request=order+4711&client=app&outcome=refused&since=2026-03-01T00%3A00%3A00Z&until=2026-03-02T12%3A30%3A00Z';
    const urls = operator.asked.filter((one) => one.includes('/audit?')).map((one) => one.split(' ')[1]?.split('/audit?')[1]);
    expect(urls).toEqual([query, `${query}&before=5000`, `key=${'a'.repeat(40)}`]);
  });

  it('shows the configuration section by section, in the manner of its file', async () => {
    const sections = {
      ...{ plain: 'text', number: 1, nothing: null, flag: false, empty: {}, list: [], words: ['a', 'b'] },
      listeners: { api: { host: '::', ports: [1, 2] }, names: [{ a: 1, b: { c: 2 } }, 'x', ['y', {}]], none: [] },
    };
    await operator.view('#configuration', 'Configuration in force', {
      '/configuration': { path: '/etc/c.yaml', sections } satisfies ConfigurationInForce,
    });
    await expect(await operator.shown()).toMatchFileSnapshot('views/configuration.txt');
  });

  it('shows the overview for addresses that it does not know', async () => {
    for (const hash of ['#keys/1234', '#other']) await operator.view(hash, 'No session is open');
    expect(await page.title()).toBe('Overview – signetd console');
  });
});
