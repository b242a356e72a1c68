import { assert, asyncProperty, constantFrom, nat, subarray } from 'fast-check';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AccountComparison, type AccountVerdict } from '../../src/audit/compare-account.ts';
import type { Line } from '../../src/audit/line.ts';
import { accountHash, accountHeads, type AccountHead } from '../../src/token/account-files.ts';
import { UseAccount } from '../../src/token/host/use-account.ts';
import { newKeyId, type KeyPurpose } from '../../src/token/key-id.ts';
import { macUse, messageUse, signUse } from '../../src/token/uses.ts';
import { repetitions } from '../support/repetitions.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-account-'));
const original = join(directory, 'original');
const changed = join(directory, 'changed');
const id = newKeyId('caller');
const uses = Array.from({ length: 60 }, (_, n) => signUse(id, { scheme: 'ECDSA', hash: 'sha256' }, Buffer.alloc(32, n)));
let heads: readonly AccountHead[];

const failed = (reason: string): void => {
  throw new Error(reason);
};

beforeAll(() => {
  cpSync(mkdtempSync(join(directory, 'empty-')), original, { recursive: true });
  for (const chain of [0, 1]) {
    // Three hosts, one after the other.
    for (let host = 0; host < 3; host += 1) {
      const account = new UseAccount({ directory: original, chain, rotateBytes: 1500, failed });
      for (const use of uses.slice(chain * 30 + host * 10, chain * 30 + host * 10 + 10)) {
        account.add(use);
        account.flush();
      }
    }
  }
  heads = accountHeads(original);
});

afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

async function judged(account: string, recorded: readonly string[] = uses, pins = heads): Promise<AccountVerdict> {
  const comparison = new AccountComparison(account, {
    explained: new Set(),
    recentFrom: Date.now() + 1000,
  });
  const place = { time: new Date().toISOString(), previous: '0'.repeat(64) };
  const checkpoint = { log: 'signetd', records: 1, hash: '0'.repeat(64), time: place.time };
  const records: Line[] = [
    { ...place, n: 1, kind: 'request', uses: [...recorded] },
    { ...place, n: 2, kind: 'checkpoint', checkpoint, signature: '', account: [...pins] },
  ];
  for (const record of records) await comparison.take(record);
  return comparison.end();
}

function copied(): string {
  rmSync(changed, { recursive: true, force: true });
  cpSync(original, changed, { recursive: true });
  return changed;
}

describe('an account that was changed', () => {
  it('is as it was written before, in several files for each thread', async () => {
    expect(readdirSync(original).length).toBeGreaterThan(6);
    const verdict = await judged(original);
    expect(verdict).toMatchObject({ bad: [], recorded: 60, unrecordedCount: 0, lines: 60 + 6 });
  });

  it('counts the signatures of keys of the service that have no record each, and names those of authorities and of whoever else', async () => {
    const account = mkdtempSync(join(directory, 'purposes-'));
    const kinds = ['audit', 'ocsp', 'timeStamps', 'mac', 'general', 'authority', 'root', 'caller'] as const;
    const ids = new Map(kinds.map((kind) => [kind, newKeyId(kind)]));
    const host = new UseAccount({ directory: account, chain: 0, rotateBytes: 1500, failed });
    for (const key of ids.values()) host.add(signUse(key, { scheme: 'ECDSA', hash: 'sha256' }, Buffer.alloc(32)));
    host.add(`sign 53${'01'.repeat(16)} ECDSA sha256:00`);
    host.add('sign nothing ECDSA sha256:00');
    host.flush();
    const { services, unrecorded } = await judged(account, [], accountHeads(account));
    const counted = kinds.slice(0, 5).map((kind) => ids.get(kind) ?? '');
    expect(services).toEqual(Object.fromEntries([...counted, `53${'01'.repeat(16)}`].map((key) => [key, 1])));
    const named = [...kinds.slice(5).map((kind) => ids.get(kind) ?? ''), 'nothing'];
    expect(unrecorded.map(({ use }) => use.split(' ')[1] ?? '').toSorted()).toEqual(named.toSorted());
  });

  it('names exactly the uses that no record has', async () => {
    await assert(
      asyncProperty(subarray(uses), async (recorded) => {
        const { unrecorded } = await judged(original, recorded);
        expect(unrecorded.map(({ use }) => use).toSorted()).toEqual(uses.filter((use) => !recorded.includes(use)).toSorted());
      }),
      { numRuns: repetitions(30) },
    );
  });

  it('is detected, wherever a line was changed, removed, duplicated or moved, and wherever it was cut', async () => {
    // The newest of a chain may have no line yet.
    const files = readdirSync(original).filter((name) => statSync(join(original, name)).size > 0);
    const kinds = ['byte', 'remove', 'double', 'swap', 'cut', 'file'] as const;
    await assert(
      asyncProperty(constantFrom(...files), constantFrom(...kinds), nat(), nat(), async (name, kind, first, second) => {
        const path = join(copied(), name);
        const bytes = readFileSync(path);
        const lines = bytes.toString('latin1').trimEnd().split('\n');
        const [here, there] = [first % lines.length, second % lines.length];
        const written = (those: readonly string[]): void => {
          writeFileSync(path, those.length === 0 ? '' : `${those.join('\n')}\n`, 'latin1');
        };
        if (kind === 'byte') bytes[first % bytes.length] = ((bytes[first % bytes.length] ?? 0) + 1 + (second % 255)) % 256;
        if (kind === 'byte') writeFileSync(path, bytes);
        if (kind === 'remove') written(lines.filter((_, index) => index !== here));
        if (kind === 'double') written(lines.flatMap((line, index) => (index === here ? [line, line] : [line])));
        if (kind === 'swap')
          written(lines.map((line, index) => (index === here ? (lines[there] ?? line) : index === there ? (lines[here] ?? line) : line)));
        if (kind === 'cut') writeFileSync(path, bytes.subarray(0, first % bytes.length));
        if (kind === 'file') rmSync(path);
        const isAsBefore = kind === 'swap' && here === there;
        // The oldest files of a chain may be archived.
        const isOldest = name.endsWith('-00000001.jsonl') && kind === 'file';
        const { bad } = await judged(changed);
        if (isAsBefore || isOldest) expect(bad).toEqual([]);
        else expect(bad).not.toEqual([]);
      }),
      { numRuns: repetitions(300) },
    );
  });

  it('continues after a line that a crash cut, and reports it', async () => {
    await assert(
      asyncProperty(nat(), async (at) => {
        const [newest = ''] = readdirSync(copied())
          .filter((name) => name.startsWith('account-0-'))
          .toSorted()
          .toReversed();
        const path = join(changed, newest);
        const bytes = readFileSync(path);
        const line = Buffer.from('{"n":34,"time":"2026-03-02T10:15:30.123Z","previous":"0a2d872a2fc158647e9701a18bf2542f');
        const half = line.subarray(0, 1 + (at % (line.length - 1)));
        writeFileSync(path, Buffer.concat([bytes, half]));
        const account = new UseAccount({ directory: changed, chain: 0, rotateBytes: 1500, failed });
        account.add(uses[0] ?? '');
        account.flush();
        expect(readFileSync(path, 'latin1')).toContain(`"start":{"cutBytes":${half.length}}`);
        expect((await judged(changed)).bad).toEqual([]);
      }),
      { numRuns: repetitions(30) },
    );
  });

  it('is not read further back than to its last line, however many files it has', () => {
    const account = mkdtempSync(join(directory, 'many-'));
    // What is no file cannot be read.
    mkdirSync(join(account, 'account-0-00000001.jsonl'));
    const [line = ''] = readFileSync(join(original, 'account-0-00000001.jsonl'), 'utf8').split('\n');
    writeFileSync(join(account, 'account-0-00000002.jsonl'), `${line}\n`);
    writeFileSync(join(account, 'account-0-00000003.jsonl'), '');
    expect(accountHeads(account)).toEqual([{ chain: 0, n: 1, hash: accountHash(line) }]);
  });

  it('is not written through a link', () => {
    const account = mkdtempSync(join(directory, 'link-'));
    const other = join(directory, 'of somebody else');
    writeFileSync(other, '');
    symlinkSync(other, join(account, 'account-0-00000001.jsonl'));
    expect(() => new UseAccount({ directory: account, chain: 0, rotateBytes: 1500, failed })).toThrow('ELOOP');
    expect(readFileSync(other, 'utf8')).toBe('');
  });

  it('begins a new file after a foreign last line, and the gap stays', async () => {
    const [newest = ''] = readdirSync(copied())
      .filter((name) => name.startsWith('account-1-'))
      .toSorted()
      .toReversed();
    writeFileSync(join(changed, newest), 'nothing of the kind\n', { flag: 'a' });
    const account = new UseAccount({ directory: changed, chain: 1, rotateBytes: 1500, failed });
    account.add(uses[0] ?? '');
    account.flush();
    expect((await judged(changed)).bad).toEqual([expect.objectContaining({ file: newest, why: 'it is not JSON' })]);
  });
});

describe('uses of keys of the service that no record has', () => {
  const purposes: readonly KeyPurpose[] = ['audit', 'root', 'authority', 'ocsp', 'timeStamps', 'mac', 'general'];
  const keys = purposes.map(newKeyId);
  const [, root = id, authority = id] = keys;
  const digest = Buffer.alloc(32, 7);
  const signatures = keys.map((key) => signUse(key, { scheme: 'ECDSA', hash: 'sha256' }, digest));
  const messages = keys.map((key) => messageUse(key, { scheme: 'HMAC', hash: 'sha256' }, digest));

  /** An account of its own with these uses, each in a line. */
  function accountOf(all: readonly string[]): string {
    const own = mkdtempSync(join(directory, 'service-'));
    const account = new UseAccount({ directory: own, chain: 0, rotateBytes: 1 << 20, failed });
    for (const use of all) {
      account.add(use);
      account.flush();
    }
    return own;
  }

  it('are counted, whatever the key is for; those of authorities are named', async () => {
    const account = accountOf([...signatures, ...messages]);
    const verdict = await judged(account, [], []);
    const named = [signatures, messages].flatMap((list) => list.slice(1, 3)).toSorted();
    expect(verdict.unrecorded.map(({ use }) => use).toSorted()).toEqual(named);
    expect(Object.keys(verdict.services).toSorted()).toEqual(keys.filter((key) => key !== root && key !== authority).toSorted());
  });

  it('are named where they are MACs of secrets: no key of the service has one', async () => {
    const macs = keys.map((key) => macUse(key, 'PASSWORD', digest.subarray(16)));
    const verdict = await judged(accountOf(macs), [], []);
    expect(verdict.unrecorded.map(({ use }) => use).toSorted()).toEqual(macs.toSorted());
  });
});
