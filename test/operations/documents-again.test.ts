import { createHash } from 'node:crypto';
import { appendFileSync, mkdtempSync, readdirSync, readlinkSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { tenantId } from '../../src/clients/caller.ts';
import { DocumentsConfig } from '../../src/config/documents-config.ts';
import { contentPieces } from '../../src/documents/content.ts';
import { Fault } from '../../src/faults.ts';
import { DocumentsAgain } from '../../src/operations/remote-sign/documents-again.ts';
import type { DocumentToRead } from '../../src/signatures/sessions/session-state.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-again-'));
const path = join(directory, 'document');
const threads = new WorkThreads();
afterAll(async () => {
  await threads.stop();
  rmSync(directory, { recursive: true, force: true });
});

const access = {
  caller: { tenant: tenantId('demo') },
  config: { documents: DocumentsConfig.parse({ readDirectories: [directory] }), tenants: {} },
  transfers: undefined,
};
const toRead = (content: Buffer): DocumentToRead => ({
  ...{ id: 'd', origin: { filePath: path }, bytes: content.length },
  digest: { hash: 'sha384', value: createHash('sha384').update(content).digest() },
});
/** Descriptors of this process that are open on the document. */
const openFiles = (): number =>
  readdirSync('/proc/self/fd').filter((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`) === path;
    } catch {
      // The one with which the directory was read.
      return false;
    }
  }).length;

describe.each([
  ['in memory', Buffer.alloc(1000, 'a')],
  ['in a file', Buffer.alloc(2_000_000, 'a')],
])('a document that is read again, %s', (_, content) => {
  let again: DocumentsAgain;
  beforeEach(async () => {
    writeFileSync(path, content);
    again = await DocumentsAgain.open([toRead(content)], access);
    return async () => again.close();
  });
  const changed = { code: 'DOCUMENT_INVALID', at: undefined };

  it('is what it was before', async () => {
    const [found] = await again.compared(threads);
    expect(Buffer.concat(Array.from(contentPieces(found ?? new Uint8Array()), (piece) => Buffer.from(piece))).equals(content)).toBe(true);
    await again.checkUnchanged();
  });

  it('may change neither before it is compared nor while it is used', async () => {
    const [found] = await again.compared(threads);
    expect(found).toBeDefined();
    appendFileSync(path, 'b');
    await expect(again.checkUnchanged()).rejects.toMatchObject({
      ...changed,
      message: expect.stringContaining('the session stays open') as string,
    });
  });
});

it('a large document that changes after it was opened is refused when it is compared', async () => {
  const content = Buffer.alloc(2_000_000, 'a');
  const message = 'the file of the document "d" changed since remotePreSign; the session stays open';
  const changes = [
    () => {
      truncateSync(path, 1_000_000);
    },
    () => {
      writeFileSync(path, Buffer.alloc(2_000_000, 'b'));
    },
  ];
  for (const change of changes) {
    writeFileSync(path, content);
    const again = await DocumentsAgain.open([toRead(content)], access);
    change();
    await expect(again.compared(threads)).rejects.toMatchObject({ code: 'DOCUMENT_INVALID', message });
    await again.close();
  }
});

it('a document that takes too long to hash is refused', async () => {
  const content = Buffer.alloc(2_000_000, 'a');
  writeFileSync(path, content);
  const again = await DocumentsAgain.open([toRead(content)], access);
  const slow = { run: async () => Promise.reject(new Fault('TASK_TIMEOUT')) };
  await expect(again.compared(slow)).rejects.toMatchObject({
    code: 'UNSUPPORTED',
    message: expect.stringContaining('the session stays open') as string,
  });
  await again.close();
});

it('no file stays open after a refusal', async () => {
  const content = Buffer.alloc(2_000_000, 'a');
  writeFileSync(path, content);
  const documents = [toRead(content), { ...toRead(content), origin: { filePath: `${path}.missing` } }];
  for (let round = 0; round < 5; round += 1)
    await expect(DocumentsAgain.open(documents, access)).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
  expect(openFiles()).toBe(0);
  const again = await DocumentsAgain.open([toRead(content)], access);
  expect(openFiles()).toBe(1);
  await again.close();
  expect(openFiles()).toBe(0);
});
