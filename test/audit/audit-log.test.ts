import { appendFileSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AuditLog } from '../../src/audit/audit-log.ts';
import { recordingToken } from '../../src/audit/use-recorder.ts';
import { tellCommitted } from '../../src/state/step.ts';
import { newKeyId } from '../../src/token/key-id.ts';
import { openssl } from '../support/openssl.ts';
import { requestEntry, ScratchLog } from './scratch-log.ts';
import { noSmallDisk, SmallDisk } from './small-disk.ts';
import { skipNote } from '../support/skip-note.ts';

let scratch: ScratchLog;
let audit: AuditLog | undefined;

beforeEach(() => {
  scratch = new ScratchLog();
});

afterEach(async () => {
  await audit?.stop();
  audit = undefined;
  scratch.remove();
});

const firstFile = 'audit-00000001.jsonl';
const pathOf = (name: string): string => join(scratch.directory, name);

interface Written {
  readonly kind: string;
  readonly [member: string]: unknown;
}

/** All records of the log, in order. */
function written(): Written[] {
  return [...scratch.files().values()].flat().map((line) => JSON.parse(line) as Written);
}

const ofKind = (kind: string): Written[] => written().filter((record) => record.kind === kind);

async function stopped(log: AuditLog): Promise<void> {
  await log.stop();
  audit = undefined;
}

describe('the audit log', () => {
  it('acknowledges a record once it is on disk, in the order of the chain', async () => {
    audit = await scratch.open();
    await Promise.all(Array.from({ length: 200 }, async (_, number) => audit?.record(requestEntry(number))));
    expect(ofKind('request')).toHaveLength(200);
    expect(written().map(({ n }) => n)).toEqual(Array.from({ length: 203 }, (_, index) => index + 1));
    expect((await scratch.verify()).bad).toBeUndefined();
  });

  it('records once what was committed and what the token did, even if a request ends twice', async () => {
    audit = await scratch.open();
    const { request, client, tenant, spki, address, operation } = requestEntry(1);
    const asked = audit.begin({ request, client, tenant, spki, address, operation });
    asked.uses.take('sign 43 ECDSA sha256:00');
    tellCommitted([asked.settlement('the key is used up')]);
    await audit.finish(asked, { major: 0, minor: 0 });
    // What it made cannot be published.
    await audit.finish(asked, { major: 2, minor: 243 });
    const [first, second] = ofKind('request');
    expect(first).toMatchObject({ minor: 0, uses: ['sign 43 ECDSA sha256:00'], effects: [{ effect: 'the key is used up' }] });
    expect(second).toMatchObject({ request, minor: 243 });
    expect(second).not.toHaveProperty('uses');
    expect(second).not.toHaveProperty('effects');
    expect(asked.outboxIds).toEqual([]);
  });

  it('signs a checkpoint at the start, every so many records, and two at the stop', async () => {
    audit = await scratch.open({ checkpointRecords: 10 });
    for (let number = 0; number < 25; number += 1) await audit.record(requestEntry(number));
    await stopped(audit);
    const covered = ofKind('checkpoint').map(({ checkpoint }) => (checkpoint as { records: number }).records);
    expect(covered).toHaveLength(5);
    expect(covered.at(-1)).toBe(written().length - 1);
    expect(scratch.memory.kept?.n).toBe(written().length);
  });

  it('signs a checkpoint after a time if there are new records', async () => {
    audit = await scratch.open({ checkpointSeconds: 0.05 });
    await audit.record(requestEntry(1));
    await vi.waitFor(() => {
      expect(audit?.status.recordsSinceCheckpoint).toBe(0);
    }, 60_000);
    expect(ofKind('checkpoint')).toHaveLength(2);
    const { lastCheckpointAt, lagSeconds, writable } = audit.status;
    expect([lagSeconds, writable]).toEqual([0, true]);
    expect(Date.now() - (lastCheckpointAt ?? 0)).toBeLessThan(60_000);
  });

  it('makes a checkpoint for each backup, also at once after another, and no other one meanwhile', async () => {
    audit = await scratch.open({ checkpointRecords: 2 });
    const first = await audit.backupPoint();
    for (let number = 0; number < 6; number += 1) await audit.record(requestEntry(number));
    const second = await audit.backupPoint();
    for (let number = 6; number < 12; number += 1) await audit.record(requestEntry(number));
    expect(ofKind('checkpoint').map(({ n }) => n)).toEqual([3, first.n, second.n]);
    expect(written().at(-1)?.['n']).toBe(second.n + 6);
  });

  it('makes no checkpoint after a backup because another one fails', async () => {
    let tokenIsThere = true;
    const real = scratch.signer;
    const signer = {
      publicKey: real.publicKey,
      sign: async (bytes: Uint8Array) => (tokenIsThere ? real.sign(bytes) : Promise.reject(new Error('no token'))),
    };
    audit = await scratch.open({ signer, checkpointRecords: 2 });
    const { n } = await audit.backupPoint();
    await audit.record(requestEntry(1));
    tokenIsThere = false;
    await expect(audit.backupPoint()).rejects.toThrow('no checkpoint of the audit log can be made');
    tokenIsThere = true;
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
    for (let number = 2; number < 12; number += 1) await audit.record(requestEntry(number));
    vi.useRealTimers();
    expect(ofKind('checkpoint').at(-1)).toMatchObject({ n });
  });

  it('makes checkpoints that OpenSSL verifies', async () => {
    audit = await scratch.open();
    await audit.record(requestEntry(1));
    await stopped(audit);
    const { checkpoint, signature } = ofKind('checkpoint').at(-1) as unknown as {
      checkpoint: { log: string; records: number; hash: string; time: string };
      signature: string;
    };
    const text = `signetd audit checkpoint v1\nlog: ${checkpoint.log}\nrecords: ${checkpoint.records}\nhash: ${checkpoint.hash}\ntime: ${checkpoint.time}\n`;
    const files = { key: scratch.signer.publicKey, signature: Buffer.from(signature, 'base64'), text };
    expect(openssl(['dgst', '-sha256', '-verify', '{key}', '-keyform', 'DER', '-signature', '{signature}', '{text}'], files)).toBe(
      'Verified OK\n',
    );
    const lines = readFileSync(pathOf(firstFile), 'utf8').split('\n');
    const digest = openssl(['dgst', '-sha256', '-r', '{line}'], { line: lines[checkpoint.records - 1] ?? '' });
    expect(digest.slice(0, 64)).toBe(checkpoint.hash);
  });

  it('goes on without a checkpoint while the token does not sign', async () => {
    let tokenIsThere = true;
    const real = scratch.signer;
    const signer = {
      publicKey: real.publicKey,
      sign: async (bytes: Uint8Array) => (tokenIsThere ? real.sign(bytes) : Promise.reject(new Error('no token'))),
    };
    audit = await scratch.open({ signer, checkpointRecords: 5 });
    tokenIsThere = false;
    for (let number = 0; number < 20; number += 1) await audit.record(requestEntry(number));
    expect(scratch.log.lines.filter((line) => line.includes('no token'))).toHaveLength(1);
    tokenIsThere = true;
    await stopped(audit);
    expect((await scratch.verify()).covered?.records).toBe(written().length - 1);
  });

  it('sums up refused clients, one record for each reason', async () => {
    audit = await scratch.open();
    for (let count = 0; count < 1000; count += 1) audit.refuseClient('no client certificate', `192.0.2.${count % 250}`);
    audit.refuseClient('CERT_HAS_EXPIRED', '192.0.2.7');
    await stopped(audit);
    expect(ofKind('refused-clients').map(({ reason, count, address }) => [reason, count, address])).toEqual([
      ['no client certificate', 1000, '192.0.2.0'],
      ['CERT_HAS_EXPIRED', 1, '192.0.2.7'],
    ]);
  });

  it('names a refused client that is registered, in a record of its own and in the log', async () => {
    audit = await scratch.open();
    const reason = 'the role keys is missing';
    const [one, two] = ['billing', 'archive'].map((client, index) => ({ client, tenant: 'demo', spki: `${index}`.repeat(16) }));
    for (const client of [one, two, undefined, one]) audit.refuseClient(reason, '192.0.2.1', client);
    await stopped(audit);
    expect(ofKind('refused-clients')).toEqual([
      expect.objectContaining({ reason, count: 2, ...one }),
      expect.objectContaining({ reason, count: 1, ...two }),
      expect.not.objectContaining({ client: expect.anything() as unknown }),
    ]);
    const told = scratch.log.lines.filter((line) => line.startsWith('a registered client is refused '));
    expect(told.map((line) => (/"client":"(\w+)"/.exec(line) ?? [])[1])).toEqual(['billing', 'archive']);
  });

  it('continues in a new file when one is full, and over restarts', async () => {
    for (let run = 0; run < 3; run += 1) {
      audit = await scratch.open({ rotateBytes: 4096 });
      for (let number = 0; number < 20; number += 1) await audit.record(requestEntry(number));
      await stopped(audit);
    }
    expect(scratch.files().size).toBeGreaterThan(4);
    expect(ofKind('close').map(({ next }) => next)).toEqual([...scratch.files().keys()].slice(1));
    expect((await scratch.verify()).bad).toBeUndefined();
  });

  it('lets nothing begin once it is closed', async () => {
    const log = await scratch.open();
    await log.stop();
    const { request, client, tenant, spki, address, operation } = requestEntry(1);
    let hasBegun = false;
    const work = async (): Promise<void> => {
      hasBegun = true;
      return Promise.resolve();
    };
    const refused = 'the audit log cannot be written';
    await expect(log.carryOut(log.begin({ request, client, tenant, spki, address, operation }), work)).rejects.toThrow(refused);
    await expect(
      log.administer({ kind: 'administration', request, command: 'status' }, async () => ({ value: await work() })),
    ).rejects.toThrow(refused);
    expect(hasBegun).toBe(false);
  });

  it('is written by one process', async () => {
    audit = await scratch.open();
    await expect(scratch.open()).rejects.toThrow('another process is writing the audit log');
  });
});

describe('an audit log that is opened again', () => {
  beforeEach(async () => {
    const log = await scratch.open();
    for (let number = 0; number < 10; number += 1) await log.record(requestEntry(number));
    await log.stop();
  });

  it('removes an incomplete line, and reports it', async () => {
    appendFileSync(pathOf(firstFile), '{"n":14,"time":"20');
    audit = await scratch.open();
    expect(ofKind('start').at(-1)).toEqual(expect.objectContaining({ cutBytes: 18 }));
    expect((await scratch.verify()).bad).toBeUndefined();
  });

  it('restarts a file that a crash left empty', async () => {
    appendFileSync(pathOf('audit-00000002.jsonl'), '');
    audit = await scratch.open();
    await audit.record(requestEntry(1));
    expect((await scratch.verify()).bad).toEqual({
      file: firstFile,
      line: 16,
      why: 'the file ends without its closing record',
    });
  });

  it.each([
    [
      'lost its end',
      () => {
        truncateSync(pathOf(firstFile), readFileSync(pathOf(firstFile)).lastIndexOf('{"n":9,'));
      },
      { file: firstFile, line: 9 },
    ],
    [
      'is gone',
      () => {
        rmSync(pathOf(firstFile));
      },
      { file: firstFile, line: 1 },
    ],
    [
      'was changed in its last record',
      () => {
        const path = pathOf(firstFile);
        const [last = ''] = readFileSync(path, 'utf8').split('\n').slice(-2);
        const text = readFileSync(path, 'utf8').replace(last, last.replace('"signature":"', '"signature":"A'));
        rmSync(path);
        appendFileSync(path, text);
      },
      { file: firstFile, line: 15 },
    ],
  ])('goes on in a new file when it %s, and the gap stays for all to see', async (_name, damage, place) => {
    const before = scratch.memory.kept?.n ?? 0;
    damage();
    audit = await scratch.open();
    expect(scratch.log.lines.some((line) => line.includes('the audit log is damaged or incomplete'))).toBe(true);
    await audit.record(requestEntry(1));
    const opened = ofKind('open').at(-1);
    expect(opened).toEqual(expect.objectContaining({ file: 2, n: before + 1, gap: expect.any(String) as string }));
    expect((await scratch.verify()).bad).toEqual({ ...place, why: expect.any(String) as string });
    expect((await scratch.verify({ from: 'audit-00000002.jsonl' })).bad).toBeUndefined();
  });

  it('leaves damage before the last record known to the state store to verification', async () => {
    const text = readFileSync(pathOf(firstFile), 'utf8');
    writeFileSync(pathOf(firstFile), text.replace('"minor":202', '"minor":201'));
    audit = await scratch.open();
    await audit.record(requestEntry(1));
    expect(scratch.files().size).toBe(1);
    expect((await scratch.verify()).bad).toMatchObject({ file: firstFile, line: 4 });
  });

  it('abandons a file that was removed while it was written', async () => {
    audit = await scratch.open({ checkpointRecords: 5 });
    renameSync(pathOf(firstFile), pathOf('elsewhere'));
    for (let number = 0; number < 10; number += 1) await audit.record(requestEntry(number));
    await stopped(audit);
    expect(scratch.log.lines.some((line) => line.includes('another process changed'))).toBe(true);
    expect((await scratch.verify()).bad).toEqual({ file: firstFile, line: 1, why: 'the file is missing' });
  });
});

describe.skipIf(noSmallDisk !== undefined)(`a full disk${skipNote(noSmallDisk)}`, () => {
  it('refuses every record with 2/243, keeps the chain whole, and recovers by itself', async () => {
    const disk = new SmallDisk(256 * 1024);
    try {
      scratch.remove();
      scratch = new ScratchLog(disk.directory);
      audit = await scratch.open();
      await audit.record(requestEntry(0));
      disk.fill(1);
      let refused = 0;
      for (let number = 0; number < 40; number += 1) {
        await audit.record(requestEntry(number)).catch((error: unknown) => {
          expect(error).toEqual(expect.objectContaining({ code: 'STORE_FULL' }));
          refused += 1;
        });
      }
      expect(refused).toBeGreaterThan(20);
      expect(audit.status.writable).toBe(false);
      disk.empty();
      await vi.waitFor(
        () => {
          expect(audit?.status.writable).toBe(true);
        },
        { timeout: 10_000 },
      );
      await audit.record(requestEntry(41));
      expect(ofKind('outage')).toEqual([
        expect.objectContaining({ refused: expect.any(Number) as number, reason: expect.stringContaining('ENOSPC') as string }),
      ]);
      expect(ofKind('request')).toHaveLength(42 - refused);
      await stopped(audit);
      expect((await scratch.verify()).bad).toBeUndefined();
    } finally {
      await audit?.stop();
      audit = undefined;
      disk.remove();
    }
  });

  it('keeps what the token did for a request and a command until there is room, and says that their outcome is not known', async () => {
    const disk = new SmallDisk(256 * 1024);
    try {
      scratch.remove();
      scratch = new ScratchLog(disk.directory);
      const log = await scratch.open();
      audit = log;
      const { request, client, tenant, spki, address, operation } = requestEntry(1);
      const used = log.begin({ request, client, tenant, spki, address, operation });
      const idle = log.begin({ request: 'idle', client, tenant, spki, address, operation });
      used.uses.take('sign 43 ECDSA sha256:00');
      const command = log.administer({ kind: 'administration', request: 'command', command: 'client add' }, async () => {
        const token = recordingToken(
          { makeMac: async () => Promise.resolve({ salt: Buffer.alloc(16), mac: Buffer.alloc(32) }) } as never,
          () => {
            throw new Error('it belongs to the command');
          },
        );
        await token.makeMac(newKeyId('caller'), 'PASSWORD', Buffer.of(1), Buffer.alloc(32));
        disk.fill();
        while (log.status.writable) await log.record(requestEntry(2)).catch(() => undefined);
        return { value: undefined };
      });
      await expect(command).rejects.toMatchObject({ code: 'STORE_FULL' });
      for (const one of [used, idle]) await expect(log.finish(one, { major: 0, minor: 0 })).rejects.toMatchObject({ code: 'STORE_FULL' });
      disk.empty();
      await vi.waitUntil(() => log.status.writable, { timeout: 10_000 });
      await vi.waitUntil(() => ofKind('administration').length > 0, { timeout: 10_000 });
      await stopped(log);
      const replayed = written().filter((record) => 'replayed' in record);
      expect(replayed).toHaveLength(2);
      expect(replayed).toContainEqual(
        expect.objectContaining({
          request,
          client,
          operation,
          uses: ['sign 43 ECDSA sha256:00'],
          replayed: 'no commit; the token was used',
        }),
      );
      expect(replayed).toContainEqual(
        expect.objectContaining({ request: 'command', command: 'client add', uses: [expect.stringMatching(/^mac /)] }),
      );
      for (const record of replayed) expect(record).not.toHaveProperty('major');
      expect((await scratch.verify()).bad).toBeUndefined();
    } finally {
      await audit?.stop();
      audit = undefined;
      disk.remove();
    }
  });

  it('does not keep the log from being opened', async () => {
    const disk = new SmallDisk(256 * 1024);
    try {
      scratch.remove();
      scratch = new ScratchLog(disk.directory);
      await (await scratch.open()).stop();
      // The last block of the log has room still.
      disk.fill();
      for (let number = 0; ; number += 1) {
        audit = await scratch.open();
        if (!audit.status.writable) break;
        await stopped(audit);
        expect(number).toBeLessThan(50);
      }
      disk.empty();
      await vi.waitFor(
        () => {
          expect(audit?.status.writable).toBe(true);
        },
        { timeout: 10_000 },
      );
      await stopped(audit);
      expect((await scratch.verify()).bad).toBeUndefined();
    } finally {
      await audit?.stop();
      audit = undefined;
      disk.remove();
    }
  });
});
