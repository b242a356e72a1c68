import { execFileSync } from 'node:child_process';
import { createPublicKey, hash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { requestEntry, ScratchLog } from '../audit/scratch-log.ts';
import { openssl } from '../support/openssl.ts';
import { repetitions } from '../support/repetitions.ts';
import { signetctlHere } from '../support/signetctl-here.ts';
import type { CommandRun } from '../support/signetctl.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-export-'));
const inside = (name: string): string => join(directory, name);
const hostile = ['=HYPERLINK("http://evil.example")', 'two\r\nlines', 'a "quoted", b', '@SUM(A1)', '-1', '\u202eabc'];
const day = (number: number): string => `2026-03-0${number}`;

let log: ScratchLog;
let digest: string;
let publicKey: string;
let records: Record<string, unknown>[];

// Three days, each begins with a file of its own.
beforeAll(async () => {
  log = new ScratchLog();
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    for (const number of [1, 2, 3]) {
      vi.setSystemTime(new Date(`${day(number)}T12:00:00Z`));
      const audit = await log.open({ rotateBytes: 4096, checkpointRecords: 5 });
      for (let count = 0; count < 12; count += 1) {
        const requestID = hostile[count % hostile.length];
        await audit.record({ ...requestEntry(count), ...(count % 2 === 0 ? { client: 'billing', tenant: 'other' } : {}), requestID });
      }
      await audit.stop();
    }
  } finally {
    vi.useRealTimers();
  }
  digest = hash('sha256', log.signer.publicKey);
  publicKey = inside('audit-key.pem');
  const key = createPublicKey({ key: Buffer.from(log.signer.publicKey), format: 'der', type: 'spki' });
  writeFileSync(publicKey, key.export({ type: 'spki', format: 'pem' }));
  records = [...log.files().values()].flat().map((line) => JSON.parse(line) as Record<string, unknown>);
});

afterAll(() => {
  log.remove();
  rmSync(directory, { recursive: true, force: true });
});

const audit = async (command: string, ...args: string[]): Promise<CommandRun> =>
  signetctlHere(['--config', '/nowhere', 'audit', command, ...args]);
const exported = async (...args: string[]): Promise<CommandRun> => audit('export', '--directory', log.directory, ...args);

async function bundle(name: string, ...range: string[]): Promise<{ file: string; run: CommandRun }> {
  const file = inside(name);
  return { file, run: await exported('--format', 'bundle', '--output', file, ...range) };
}

describe('audit export of records', () => {
  it('as JSON lines is the lines of the log', async () => {
    const { status, stdout, stderr } = await exported('--format', 'jsonl');
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toBe(
      [...log.files().values()]
        .flat()
        .map((line) => `${line}\n`)
        .join(''),
    );
  });

  it('as CSV is what another program reads, and no cell begins a formula', async () => {
    const file = inside('records.csv');
    const { status } = await exported('--format', 'csv', '--output', file);
    expect([status, statSync(file).mode & 0o777]).toEqual([0, 0o600]);
    const script = 'import csv,json,sys; print(json.dumps(list(csv.DictReader(open(sys.argv[1], newline="")))))';
    const rows = JSON.parse(execFileSync('python3', ['-c', script, file], { encoding: 'utf8' })) as Record<string, string>[];
    expect(rows.length).toBe(records.length);
    for (const [index, row] of rows.entries()) {
      const { n, time, kind, client = '', digests = [], requestID = '', major, minor } = records[index] ?? {};
      expect(row).toMatchObject({ n: String(n), time, kind, client, digests: (digests as string[]).join(' ') });
      expect(row['result']).toBe(major === undefined ? '' : [major, minor].join('/'));
      expect([requestID, `'${String(requestID)}`]).toContain(row['requestID']);
      for (const cell of Object.values(row)) expect(cell).not.toMatch(/^[=+\-@]/);
    }
  });

  it.each([
    ['since a day', ['--since', day(3)], ({ time }: Record<string, unknown>) => String(time) >= day(3)],
    ['until a time', ['--until', `${day(2)}T13:00:00+01:00`], ({ time }: Record<string, unknown>) => String(time) < `${day(2)}T12`],
    ['of a client', ['--client', 'billing'], ({ client }: Record<string, unknown>) => client === 'billing'],
    [
      'of a tenant on a day',
      ['--tenant', 'demo', '--since', day(2), '--until', day(3)],
      (record: Record<string, unknown>) => record['tenant'] === 'demo' && String(record['time']).startsWith(day(2)),
    ],
  ])('has the records %s', async (_name, args, isWanted) => {
    const { stdout } = await exported('--format', 'jsonl', ...args);
    const wanted = records.filter(isWanted);
    expect(wanted.length).toBeGreaterThan(0);
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { n: number }).n),
    ).toEqual(wanted.map(({ n }) => n));
  });

  it('says which lines are no records, and exports the others', async () => {
    const damaged = new ScratchLog();
    try {
      const lines = [...log.files().values()].flat().slice(0, 4);
      writeFileSync(join(damaged.directory, 'audit-00000001.jsonl'), [...lines.slice(0, 2), 'nonsense', ...lines.slice(2), ''].join('\n'));
      const run = await audit('export', '--directory', damaged.directory, '--format', 'jsonl');
      expect(run).toEqual({
        status: 1,
        stdout: `${lines.join('\n')}\n`,
        stderr: 'signetctl: audit-00000001.jsonl, line 3: it is not a record\n',
      });
    } finally {
      damaged.remove();
    }
  });

  it.each([
    [['--format', 'xml'], 2, "option '--format <format>' argument 'xml' is invalid"],
    [['--format', 'csv', '--since', 'yesterday'], 2, '--since takes a date, such as 2026-03-02 (UTC)'],
    [['--format', 'csv', '--since', day(2), '--until', day(1)], 2, '--until must be later than --since'],
    [['--format', 'bundle'], 2, 'a bundle needs --output FILE'],
    [['--format', 'bundle', '--output', '/nowhere/x', '--client', 'billing'], 2, 'a bundle has whole files'],
    [['--format', 'csv', '--output', '/nowhere/x'], 5, '/nowhere/x cannot be written'],
  ])('refuses %j', async (args, code, text) => {
    const { status, stdout, stderr } = await exported(...args);
    expect([status, stdout, stderr]).toEqual([code, '', expect.stringContaining(text)]);
  });

  it('overwrites no file, and leaves nothing of what fails', async () => {
    const file = inside('there.csv');
    writeFileSync(file, 'mine');
    expect((await exported('--format', 'csv', '--output', file)).status).toBe(5);
    expect(readFileSync(file, 'utf8')).toBe('mine');
    const empty = inside('empty-log');
    execFileSync('mkdir', [empty]);
    const { status, stderr } = await audit('export', '--directory', empty, '--format', 'bundle', '--output', inside('none.tar'));
    expect([status, stderr]).toEqual([5, expect.stringContaining('no checkpoint at which a bundle could end')]);
    expect(readdirSync(directory).filter((name) => name.includes('none.tar') || name.endsWith('.part'))).toEqual([]);
  });
});

describe('a bundle', () => {
  it('is verified without the log and its state store, by the digest of the key or by the key', async () => {
    const { file, run } = await bundle('all.tar');
    expect([run.status, run.stdout]).toEqual([0, expect.stringContaining(digest)]);
    const known = /^last: +(\d+:[0-9a-f]{64})$/m.exec(run.stdout)?.[1] ?? '';
    for (const trust of [
      ['--key-sha256', digest.toUpperCase()],
      ['--public-key', publicKey],
    ]) {
      const verified = await audit('verify', '--bundle', file, ...trust, '--known', known);
      expect([verified.status, verified.stdout, verified.stderr]).toEqual([0, expect.stringContaining('the log is intact'), '']);
      expect(verified.stdout).toContain(`${records.length} records in`);
    }
  });

  it('vouches for none of its own keys', async () => {
    const { file } = await bundle('keys.tar');
    const none = await audit('verify', '--bundle', file);
    expect([none.status, none.stderr]).toEqual([2, expect.stringContaining(`(the bundle has ${digest})`)]);
    const other = await audit('verify', '--bundle', file, '--key-sha256', '0'.repeat(64));
    expect([other.status, other.stderr]).toEqual([1, expect.stringContaining('its checkpoint key is not trusted')]);
  });

  it('is what tar reads, and OpenSSL verifies its last checkpoint and all the hashes lead to it', async () => {
    const { file } = await bundle('openssl.tar');
    const out = inside('extracted');
    execFileSync('mkdir', [out]);
    execFileSync('tar', ['-xf', file, '-C', out]);
    const files = readdirSync(out)
      .filter((name) => name.endsWith('.jsonl'))
      .toSorted();
    const lines = files.flatMap((name) => readFileSync(join(out, name), 'utf8').trim().split('\n'));
    let previous = '0'.repeat(64);
    for (const line of lines) {
      expect((JSON.parse(line) as { previous: string }).previous).toBe(previous);
      previous = hash('sha256', line);
    }
    const { checkpoint, signature } = JSON.parse(lines.at(-1) ?? '') as { checkpoint: Record<string, string>; signature: string };
    const { log: name, records: covered, hash: head, time } = checkpoint;
    expect(head).toBe(hash('sha256', lines[Number(covered) - 1] ?? ''));
    const text = `signetd audit checkpoint v1\nlog: ${name}\nrecords: ${covered}\nhash: ${head}\ntime: ${time}\n`;
    const key = readFileSync(join(out, 'keys', `${digest}.pem`));
    const judged = openssl(['dgst', '-sha256', '-verify', '{key}', '-signature', '{value}', '{text}'], {
      ...{ key, text: Buffer.from(text), value: Buffer.from(signature, 'base64') },
    });
    expect(judged).toContain('Verified OK');
    expect(readFileSync(join(out, 'README.txt'), 'utf8')).toContain(digest);
  });

  it('of a range begins with a whole file and ends with a checkpoint', async () => {
    const { file, run } = await bundle('range.tar', '--since', day(2), '--until', day(3));
    const [, first, last] = /^records: +(\d+) to (\d+),/m.exec(run.stdout) ?? [];
    expect(Number(first)).toBeGreaterThan(1);
    expect(records[Number(first) - 1]).toMatchObject({ kind: 'open' });
    expect(records[Number(last) - 1]).toMatchObject({ kind: 'checkpoint' });
    const wanted = records.filter(({ time }) => String(time).startsWith(day(2))).map(({ n }) => Number(n));
    expect(Number(first)).toBeLessThanOrEqual(Math.min(...wanted));
    expect(Number(last)).toBeGreaterThanOrEqual(Math.max(...wanted));
    const verified = await audit('verify', '--bundle', file, '--key-sha256', digest);
    expect([verified.status, verified.stdout]).toEqual([0, expect.stringMatching(new RegExp(`^first: +record ${first}$`, 'm'))]);
  });

  it('that was cut off is known by the record that was noted', async () => {
    const { file } = await bundle('shorter.tar', '--until', day(2));
    expect((await audit('verify', '--bundle', file, '--key-sha256', digest)).status).toBe(0);
    const newest = records.at(-1)?.['n'];
    const { status, stderr } = await audit(
      'verify',
      '--bundle',
      file,
      '--key-sha256',
      digest,
      '--known',
      `${String(newest)}:${'a'.repeat(64)}`,
    );
    expect([status, stderr]).toEqual([1, expect.stringContaining(`is known to have reached record ${String(newest)}`)]);
  });

  it('of a damaged log is written as evidence, and says so', async () => {
    const damaged = new ScratchLog();
    try {
      for (const [name, lines] of log.files())
        writeFileSync(join(damaged.directory, name), `${lines.join('\n')}\n`.replace('billing', 'willing'));
      const file = inside('damaged.tar');
      const { status, stderr } = await audit('export', '--directory', damaged.directory, '--format', 'bundle', '--output', file);
      expect([status, stderr, existsSync(file)]).toEqual([1, expect.stringContaining('the log in the bundle is DAMAGED'), true]);
    } finally {
      damaged.remove();
    }
  });

  it('with any changed, missing or added byte is refused or found damaged', async () => {
    const { file } = await bundle('whole.tar');
    const whole = readFileSync(file);
    const readmeBytes = 512 + Math.ceil(parseInt(whole.toString('latin1', 124, 135), 8) / 512) * 512;
    const changed = inside('changed.tar');
    const contents = contentRanges(whole, readmeBytes);
    const place = fc.nat().map((seed) => {
      const { offset, bytes } = contents[seed % contents.length] ?? { offset: 0, bytes: 1 };
      return offset + (seed % bytes);
    });
    await fc.assert(
      fc.asyncProperty(place, fc.integer({ min: 1, max: 255 }), fc.constantFrom('flip', 'cut', 'grow'), async (at, mask, how) => {
        const bytes = Buffer.from(whole);
        bytes[at] = (bytes[at] ?? 0) ^ mask;
        writeFileSync(
          changed,
          how === 'flip'
            ? bytes
            : how === 'cut'
              ? whole.subarray(0, at)
              : Buffer.concat([whole.subarray(0, at), Buffer.from('x'), whole.subarray(at)]),
        );
        const { status } = await audit('verify', '--bundle', changed, '--key-sha256', digest);
        expect([1, 5]).toContain(status);
      }),
      { numRuns: repetitions(25) },
    );
  });
});

/** Where the contents of the files of the log are in an archive, from an offset on. */
function contentRanges(archive: Buffer, from: number): { offset: number; bytes: number }[] {
  const found: { offset: number; bytes: number }[] = [];
  for (let offset = from; archive[offset] !== 0;) {
    const name = archive.toString('latin1', offset, offset + 100);
    const bytes = parseInt(archive.toString('latin1', offset + 124, offset + 135), 8);
    if (name.startsWith('audit-')) found.push({ offset: offset + 512, bytes });
    offset += 512 + Math.ceil(bytes / 512) * 512;
  }
  return found;
}
