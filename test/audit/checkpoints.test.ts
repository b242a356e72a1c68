import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { signCheckpoint, type CheckpointSigner, keyDigest } from '../../src/audit/checkpoint.ts';
import { beginning, chainedLine, entryBody, lineHash } from '../../src/audit/line.ts';
import type { Checkpoint, CheckpointEntry } from '../../src/audit/checkpoint-entry.ts';
import type { Entry, Place } from '../../src/audit/record.ts';
import { verifyAuditLog, type VerifyOptions, type VerifyResult } from '../../src/audit/verify.ts';
import { requestEntry, softwareSigner, writeFiles, type Files } from './scratch-log.ts';

const time = '2026-01-02T03:04:05.678Z';
const first = 'audit-00000001.jsonl';
const second = 'audit-00000002.jsonl';

/** A log that is chained rightly, with whatever it is told to say: what somebody can write who has the key for checkpoints. */
class WrittenLog {
  readonly signer: CheckpointSigner = softwareSigner();
  readonly files = new Map<string, string[]>();
  readonly places: Place[] = [beginning];
  name = 'signetd';
  #file = first;

  get last(): Place {
    return this.places.at(-1) ?? beginning;
  }

  put(entry: Entry): void {
    const line = chainedLine(this.last, time, entryBody(entry));
    this.files.set(this.#file, [...(this.files.get(this.#file) ?? []), line]);
    this.places.push({ n: this.last.n + 1, hash: lineHash(line) });
  }

  open(more: { readonly file?: number; readonly log?: string; readonly gap?: string } = {}, signer = this.signer): void {
    const file = this.#file === first ? 1 : 2;
    this.put({ kind: 'open', log: this.name, file, publicKey: Buffer.from(signer.publicKey).toString('base64'), ...more });
  }

  requests(count: number): void {
    for (let number = 0; number < count; number += 1) this.put(requestEntry(number));
  }

  /** Of what is there, or of whatever is said. */
  async checkpoint(more: Partial<Checkpoint> = {}, signer = this.signer): Promise<void> {
    this.put(await this.signed(more, signer));
  }

  async signed(more: Partial<Checkpoint> = {}, signer = this.signer): Promise<CheckpointEntry> {
    return signCheckpoint({ log: this.name, records: this.last.n, hash: this.last.hash, time, ...more }, 0, signer);
  }

  nextFile(): void {
    this.put({ kind: 'close', next: second });
    this.#file = second;
  }
}

let directory: string;
let log: WrittenLog;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-audit-'));
  log = new WrittenLog();
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

async function verified(settings: Partial<VerifyOptions> = {}, files: Files = log.files): Promise<VerifyResult> {
  writeFiles(directory, files);
  return verifyAuditLog(directory, { publicKeys: [log.signer.publicKey], ...settings });
}

const bad = async (settings: Partial<VerifyOptions> = {}, files: Files = log.files): Promise<object | undefined> =>
  (await verified(settings, files)).bad;

describe('a checkpoint', () => {
  it('covers the records before it', async () => {
    log.open();
    log.requests(3);
    await log.checkpoint();
    log.requests(2);
    await log.checkpoint();
    expect(await verified()).toEqual({
      bad: undefined,
      files: 1,
      records: 8,
      checkpoints: 2,
      covered: { log: 'signetd', records: 7, hash: log.places[7]?.hash, time },
      keys: [{ sha256: keyDigest(log.signer.publicKey), checkpoints: 2, from: 1, to: 7 }],
      first: 1,
      last: log.last,
    });
  });

  it.each([
    ['that is not there yet', 99],
    ['that it is itself', 5],
    ['before the first', 0],
  ])('is wrong where it names a record %s', async (_name, records) => {
    log.open();
    log.requests(3);
    await log.checkpoint({ records });
    log.requests(1);
    const why = `the record ${records} that it covers is not the one in the log`;
    expect(await bad()).toEqual({ file: first, line: 5, why });
  });

  it('is wrong if it names a record before the one that an earlier checkpoint covers', async () => {
    log.open();
    log.requests(3);
    await log.checkpoint();
    log.requests(1);
    await log.checkpoint({ records: 2, hash: log.places[2]?.hash ?? '' });
    expect(await bad()).toEqual({ file: first, line: 7, why: 'the record 2 that it covers is not the one in the log' });
  });

  it('may name the record that the one before it has named', async () => {
    log.open();
    log.requests(3);
    const { n: records, hash } = log.last;
    await log.checkpoint();
    await log.checkpoint({ records, hash });
    expect(await verified()).toMatchObject({ bad: undefined, checkpoints: 2, covered: { records } });
  });

  it('is wrong if it names another hash or another log, or is signed by another key', async () => {
    for (const [more, signer, why] of [
      [{ hash: 'a'.repeat(64) }, log.signer, 'the record 2 that it covers is not the one in the log'],
      [{ log: 'other' }, log.signer, 'it is a checkpoint of another log, other'],
      [{}, softwareSigner(), 'its signature is wrong'],
    ] as const) {
      const one = new WrittenLog();
      one.open({}, log.signer);
      one.requests(1);
      await one.checkpoint(more, signer);
      expect(await bad({}, one.files)).toEqual({ file: first, line: 3, why });
    }
  });

  it('is wrong where its signature is of something else, or is written in another way', async () => {
    for (const change of [
      (entry: CheckpointEntry) => ({ ...entry, checkpoint: { ...entry.checkpoint, time: '2026-01-02T03:04:05.679Z' } }),
      (entry: CheckpointEntry) => ({ ...entry, signature: `${entry.signature.slice(0, 4)}\n${entry.signature.slice(4)}` }),
    ]) {
      const one = new WrittenLog();
      one.open({}, log.signer);
      one.put(change(await one.signed({}, log.signer)));
      expect(await bad({}, one.files)).toMatchObject({ file: first, line: 2 });
    }
  });

  it('of the first file that is still here may cover a record of the archived ones, and one of the files here may not be another', async () => {
    log.open();
    log.requests(2);
    await log.checkpoint();
    const { n: records, hash } = log.last;
    log.nextFile();
    log.open();
    await log.checkpoint({ records, hash });
    log.requests(1);
    await log.checkpoint();
    const later = new Map([[second, log.files.get(second) ?? []]]);
    expect(await verified({ from: second }, later)).toMatchObject({ bad: undefined, checkpoints: 2, covered: { records: 8 } });
    // Where all files are there, the record that it names is read.
    expect(await bad()).toBeUndefined();
  });

  it('of archived records is believed of the first checkpoint alone', async () => {
    log.open();
    log.requests(2);
    const { n: records, hash } = log.last;
    log.nextFile();
    log.open();
    await log.checkpoint();
    await log.checkpoint({ records, hash });
    const later = new Map([[second, log.files.get(second) ?? []]]);
    rmSync(join(directory, first), { force: true });
    expect(await bad({ from: second }, later)).toEqual({
      file: second,
      line: 3,
      why: `the record ${records} that it covers is not the one in the log`,
    });
  });

  it('is required: a log without one proves nothing', async () => {
    log.open();
    log.requests(2);
    expect(await bad()).toEqual({ file: first, line: 4, why: 'the log has no checkpoint: it proves nothing' });
  });
});

describe('a file of a log', () => {
  it('begins with its first record, and has no second one', async () => {
    log.requests(1);
    log.open();
    const why = 'a file must begin with an opening record and have no other';
    expect(await bad()).toEqual({ file: first, line: 1, why });
    const two = new WrittenLog();
    two.open({}, log.signer);
    two.open({}, log.signer);
    expect(await bad({}, two.files)).toEqual({ file: first, line: 2, why });
  });

  it('has its own number, in its own log, with a key that is trusted', async () => {
    log.open({ file: 2 });
    expect(await bad()).toEqual({ file: first, line: 1, why: 'it is the first record of audit-00000002.jsonl' });
    for (const [more, signer, why] of [
      [{ log: 'other' }, log.signer, 'it belongs to another log, other'],
      [{}, softwareSigner(), 'its checkpoint key is not trusted'],
      [{ gap: 'a file was missing' }, log.signer, 'the service found a gap here: a file was missing'],
    ] as const) {
      const one = new WrittenLog();
      one.open({}, log.signer);
      await one.checkpoint({}, log.signer);
      one.nextFile();
      one.open(more, signer);
      expect(await bad({}, one.files)).toEqual({ file: second, line: 1, why });
    }
  });

  it('that is the first still here may follow a gap that is known', async () => {
    log.open();
    await log.checkpoint();
    log.nextFile();
    log.open({ gap: 'a file was missing' });
    await log.checkpoint();
    const later = new Map([[second, log.files.get(second) ?? []]]);
    expect(await bad({ from: second }, later)).toBeUndefined();
  });

  it('has the keys of checkpoints changed by its first record alone, and both are trusted', async () => {
    const other = softwareSigner();
    log.open();
    await log.checkpoint();
    log.nextFile();
    log.open({}, other);
    await log.checkpoint({}, other);
    const publicKeys = [log.signer.publicKey, other.publicKey];
    expect(await verified({ publicKeys })).toMatchObject({ bad: undefined, checkpoints: 2 });
    await log.checkpoint();
    expect(await bad({ publicKeys })).toEqual({ file: second, line: 3, why: 'its signature is wrong' });
  });
});

describe('a place that is known', () => {
  it('has to be in the log as it was', async () => {
    log.open();
    log.requests(2);
    await log.checkpoint();
    const known = log.places[2] ?? beginning;
    expect(await bad({ heads: [known, log.last] })).toBeUndefined();
    expect(await bad({ heads: [{ ...known, hash: 'b'.repeat(64) }] })).toEqual({
      file: first,
      line: 2,
      why: 'it is not the record that was here',
    });
    expect(await bad({ heads: [known, { n: 5, hash: 'b'.repeat(64) }] })).toEqual({
      file: first,
      line: 5,
      why: 'the log ends here, but is known to have reached record 5',
    });
  });
});
