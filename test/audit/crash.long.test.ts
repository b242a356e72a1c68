import { spawn } from 'node:child_process';
import { generateKeyPairSync, randomInt } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compareState } from '../../src/audit/compare-state.ts';
import { verifyAuditLog, type VerifyResult } from '../../src/audit/verify.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { isLongRun, repetitions } from '../support/repetitions.ts';
import { StoreHere } from '../support/store-here.ts';

const crashes = repetitions(20, 4);
/** After how many records the first test kills: soon, and when a file of the log is full. */
const kills = isLongRun ? [3, 40, 150, 1, 77] : [3, 150];

let directory: string;
let logDirectory: string;
let keyFile: string;
let publicKey: Buffer;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-audit-crash-'));
  logDirectory = join(directory, 'audit');
  keyFile = join(directory, 'key.pem');
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writeFileSync(keyFile, pair.privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  publicKey = pair.publicKey.export({ type: 'spki', format: 'der' });
});

afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

const program = fileURLToPath(new URL('writing-process.ts', import.meta.url));
const statePath = (): string => join(directory, 'state.sqlite');

/** Lets the process write, kills it after so many records, and answers the requests that it had said to be recorded. */
async function killedAfter(records: number, work = 'write'): Promise<string[]> {
  const child = spawn(
    process.execPath,
    ['--disable-sigusr1', '--disable-warning=ExperimentalWarning', program, logDirectory, statePath(), keyFile, work],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    if (said.split('\n').length > records) child.kill('SIGKILL');
  });
  await new Promise((resolve) => {
    child.on('close', resolve);
  });
  return said.split('\n').slice(0, -1);
}

interface RequestRecord {
  readonly kind: string;
  readonly request: string;
  readonly replayed?: string;
}

function requestRecords(wanted = 'request'): RequestRecord[] {
  return readdirSync(logDirectory)
    .filter((name) => name.endsWith('.jsonl'))
    .toSorted()
    .flatMap((name) => readFileSync(join(logDirectory, name), 'utf8').split('\n').slice(0, -1))
    .map((line) => JSON.parse(line) as RequestRecord)
    .filter(({ kind }) => kind === wanted);
}

async function withStore<T>(use: (store: StateStore) => Promise<T>): Promise<T> {
  const store = await StoreHere.open(statePath());
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

async function verified(): Promise<VerifyResult> {
  const head = await withStore(async (store) => store.run('auditHead', 'signetd'));
  return verifyAuditLog(logDirectory, { publicKeys: [publicKey], heads: head === undefined ? [] : [{ n: head.records, hash: head.hash }] });
}

describe('a crash', () => {
  it('loses no acknowledged record, and leaves a chain that continues', async () => {
    const said: string[] = [];
    for (const records of kills) said.push(...(await killedAfter(records)));
    // The last process's own end: a start cuts what it left half-written.
    said.push(...(await killedAfter(1)));
    const recorded = requestRecords().map(({ request }) => request);
    expect(new Set(recorded).size).toBe(recorded.length);
    expect(recorded).toEqual(expect.arrayContaining(said));
    const { bad } = await verified();
    // What the last kill cut short may be half a line.
    expect(bad === undefined || bad.why === 'it is cut off').toBe(true);
  });

  it(
    'never makes the state store look older than the log, wherever it comes',
    async () => {
      for (let round = 0; round < crashes; round += 1) {
        await killedAfter(randomInt(1, 100) * (round % 4 === 3 ? 10 : 1));
        const comparison = await withStore(async (store) => compareState(store, { directory: logDirectory, name: 'signetd' }));
        expect(comparison).toMatchObject({ isOlder: false, lacking: [], untold: 0 });
        expect(comparison.last).toBeGreaterThan(round);
      }
    },
    60_000 + 20_000 * crashes,
  );

  it('between a commit and its record is repaired at the next start, once', async () => {
    await killedAfter(1000, 'die-between');
    const rows = await withStore(async (store) => store.run('listAuditRecords', { limit: 100 }));
    const settled = rows.map(({ id }) => id.split(':')[1] ?? '');
    expect(settled.length).toBeGreaterThan(0);
    expect(requestRecords()).toEqual([]);
    await killedAfter(1);
    await killedAfter(1);
    const replayed = requestRecords().filter((record) => record.replayed !== undefined && settled.includes(record.request));
    expect(new Set(replayed.map(({ request }) => request))).toEqual(new Set(settled));
    expect(replayed).toHaveLength(settled.length);
    expect(replayed[0]).toEqual(expect.objectContaining({ replayed: 'a key was made', client: 'app', operation: 'pki/createCertificate' }));
  });

  it("between an operator's change and its record is repaired too, once", async () => {
    await killedAfter(1000, 'die-in-command');
    await killedAfter(1);
    await killedAfter(1);
    expect(requestRecords('administration')).toEqual([
      expect.objectContaining({ command: 'client revoke', client: 'app', uid: 0, spki: '0123456789abcdef', replayed: 'client revoke' }),
    ]);
  });
});
