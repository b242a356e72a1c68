import { appendFileSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { chainedLine, entryBody, lineHash } from '../../src/audit/line.ts';
import { requestEntry, ScratchLog } from '../audit/scratch-log.ts';
import { signetctlHere } from '../support/signetctl-here.ts';
import type { CommandRun } from '../support/signetctl.ts';

const reason = '/keyReference/reference: this field is required';
const day = (number: number): string => `2026-03-0${number}`;

let log: ScratchLog;
beforeAll(async () => {
  log = new ScratchLog();
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    for (const number of [1, 2, 3]) {
      vi.setSystemTime(new Date(`${day(number)}T12:00:00Z`));
      const audit = await log.open({ rotateBytes: 4096 });
      for (let count = 1; count <= 12; count += 1) {
        const refused = count % 6 === 0 ? { major: 1, minor: 101, reason, client: 'billing' } : { major: 0, minor: 0 };
        await audit.record({ ...requestEntry(count), request: `${number}-${count}`, requestID: `order ${count}`, ...refused });
      }
      await audit.record({ ...requestEntry(99), request: `${number}-problem`, major: undefined, minor: undefined, status: 503 });
      await audit.stop();
    }
  } finally {
    vi.useRealTimers();
  }
});
afterAll(() => {
  log.remove();
});

const audit = async (command: string, ...args: string[]): Promise<CommandRun> =>
  signetctlHere(['--config', '/nowhere', 'audit', command, '--directory', log.directory, ...args]);
const find = async (...args: string[]): Promise<CommandRun> => audit('find', ...args);
async function requests(...args: string[]): Promise<unknown[]> {
  const { status, stdout } = await signetctlHere(['--json', 'audit', 'find', '--directory', log.directory, ...args]);
  expect(status).toBe(0);
  return (JSON.parse(stdout) as Record<string, unknown>[]).map(({ request }) => request);
}

describe('audit find', () => {
  it('shows all of one request, with the reason', async () => {
    const { status, stdout, stderr } = await find('2-6');
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('who:       billing@demo\n');
    expect(stdout).toContain('outcome:   1/101\n');
    expect(stdout).toContain(`reason:    ${reason}\n`);
  });

  it("finds the caller's own identifier as well, in all files", async () => {
    expect(await requests('order 6')).toEqual(['1-6', '2-6', '3-6']);
    expect((await find('order 6')).stdout).toMatch(
      /^TIME +RECORD +REQUEST +WHO +WHAT +OUTCOME +REASON\n(?:.*this field is required\n){3}$/,
    );
  });

  it('chooses by time, client, key and outcome', async () => {
    expect(await requests('--since', day(2), '--until', day(3), '--outcome', 'refused')).toEqual(['2-6', '2-12', '2-problem']);
    expect(await requests('--client', 'billing', '--since', `${day(3)}T00:00:00Z`)).toEqual(['3-6', '3-12']);
    expect(await requests('--outcome', '1/101', '--until', day(2))).toEqual(['1-6', '1-12']);
    expect(await requests('--outcome', '503')).toEqual(['1-problem', '2-problem', '3-problem']);
    expect(await requests('--key', 'A'.repeat(40), '--outcome', 'success', '--lines', '99')).toHaveLength(30);
    expect(await requests('--key', 'b'.repeat(40))).toEqual([]);
  });

  it('prints the newest records, and says that there are more', async () => {
    const { stdout, stderr } = await find('--client', 'app', '--lines', '2');
    expect(stdout).toContain('3-11');
    expect(stdout).toContain('3-problem');
    expect(stdout.split('\n')).toHaveLength(4);
    expect(stderr).toBe('signetctl: note: the newest 2 of 33 records; --lines prints more\n');
  });

  it('finds refusals that have no request, and says of which client, and what a refusal has changed', async () => {
    const own = new ScratchLog();
    try {
      const opened = await own.open();
      const wrong = { major: 2, minor: 202, reason: 'activation failed', effects: [{ effect: 'a failed attempt is counted' }] };
      for (const request of ['wrong', 'again']) await opened.record({ ...requestEntry(1), request, ...wrong });
      for (const client of ['signer', 'reader'])
        opened.refuseClient('the role keys is missing', '192.0.2.1', { client, tenant: 'demo', spki: client });
      await opened.stop();
      const file = join(own.directory, [...own.files().keys()].at(-1) ?? '');
      const last = readFileSync(file, 'utf8').trimEnd().split('\n').at(-1) ?? '';
      const { n } = JSON.parse(last) as { n: number };
      const outage = entryBody({ kind: 'outage', since: `${day(1)}T00:00:00.000Z`, reason: 'ENOSPC', refused: 7 });
      appendFileSync(file, `${chainedLine({ n, hash: lineHash(last) }, `${day(1)}T00:01:00.000Z`, outage)}\n`);
      const findIn = async (...args: string[]): Promise<string> =>
        (await signetctlHere(['--config', '/nowhere', 'audit', 'find', '--directory', own.directory, ...args])).stdout;
      expect(await findIn('wrong')).toContain('effects: a failed attempt is counted\n');
      expect(await findIn('--outcome', '2/202')).toMatch(/(?:activation failed; a failed attempt is counted\n[^]*){2}/);
      expect(await findIn('--client', 'reader', '--outcome', 'refused')).toMatch(/^who: +reader@demo$/m);
      for (const outcome of ['refused', '2/243'])
        expect(await findIn('--outcome', outcome)).toMatch(/outage.*7 refused.*ENOSPC|what: +outage\n/);
      expect(await findIn('--outcome', '1/243')).toBe('No record was found.\n');
      expect(await findIn('--outcome', 'success')).toBe('No record was found.\n');
    } finally {
      own.remove();
    }
  });

  it('says so if there is none', async () => {
    expect(await find('absent')).toMatchObject({ status: 0, stdout: 'No record was found.\n' });
  });

  it.each([
    [[]],
    [['--outcome', '7']],
    [['--outcome', 'bad']],
    [['--since', 'yesterday']],
    [['--since', day(3), '--until', day(2)]],
    [['x', '--lines', '0']],
    [['x', '--lines', '100000']],
  ])('refuses %j', async (args) => {
    expect((await find(...args)).status).toBe(2);
  });

  it('has the same options in audit export', async () => {
    const { stdout } = await audit('export', '--format', 'csv', '--request', '1-6', '--outcome', 'refused');
    const [heading = '', row = '', rest] = stdout.split('\r\n');
    expect(row.split(',')[heading.split(',').indexOf('reason')]).toBe(reason);
    expect(rest).toBe('');
    expect((await audit('export', '--format', 'bundle', '--output', join(log.directory, 'b.tar'), '--key', 'x')).status).toBe(2);
  });

  it('reads what is left, and an archive of removed files', async () => {
    const archive = join(log.directory, 'archive');
    mkdirSync(archive);
    const [oldest = ''] = [...log.files().keys()];
    renameSync(join(log.directory, oldest), join(archive, oldest));
    expect(readFileSync(join(archive, oldest), 'utf8')).toContain('"order 1"');
    expect(await requests('order 1')).toEqual(['2-1', '3-1']);
    const { stdout } = await signetctlHere(['--config', '/nowhere', 'audit', 'find', '--directory', archive, 'order 1']);
    expect(stdout).toContain('request:   1-1\n');
  });

  it('names a damaged line that may be wanted, and passes over a half-written one', async () => {
    const newest = [...log.files().keys()].at(-1) ?? '';
    appendFileSync(join(log.directory, newest), '{"request":"damaged\n"damaged" {\n{"n":999,"request":"damaged"');
    const { status, stderr } = await find('damaged');
    expect(status).toBe(1);
    expect(stderr).toMatch(/^signetctl: audit-\d{8}\.jsonl, line \d+: it is not a record\n$/);
    // It may hide records, as no half-written one does.
    appendFileSync(join(log.directory, newest), `"damaged" ${'x'.repeat(2 * 1024 * 1024)}`);
    expect((await find('damaged')).stderr).toMatch(/^(?:signetctl: audit-\d{8}\.jsonl, line \d+: it is not a record\n){2}$/);
  });
});
