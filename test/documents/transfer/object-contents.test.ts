import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { TransferStoreConfig } from '../../../src/config/transfer-store-config.ts';
import { closing } from '../../../src/documents/paths/descriptors.ts';
import { ObjectContents } from '../../../src/documents/transfer/object-contents.ts';
import { TransferStoreUnavailable } from '../../../src/documents/transfer/transfer-store-unavailable.ts';
import type { TransferFileRow } from '../../../src/state/tables/transfer-files.ts';
import { recordingLog } from '../../support/silent-log.ts';

const base = mkdtempSync(join(tmpdir(), 'signetd-object-contents-'));
const spool = join(base, 'spool');
const id = (letter: string): string => letter.repeat(43);
const content = randomBytes(300_000);
const file: TransferFileRow = {
  ...{ id: id('a'), tenant: 'demo', state: 'STORED', owner: 'one', bytes: content.length, media_type: 'x/y', file_name: null },
  ...{ sha256: createHash('sha256').update(content).digest('hex'), ends_at: 1 },
};

/** As far as this service needs it: objects in memory, and answers of a test's choice instead. */
const objects = new Map<string, Buffer>();
let answer: { readonly status: number; readonly body: string } | undefined;
async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(z.instanceof(Buffer).parse(piece));
  const key = (request.url ?? '').replace(/^\/bucket\/?/, '').replace(/\?.*$/, '');
  if (answer !== undefined) response.writeHead(answer.status).end(answer.body);
  else if (request.method === 'PUT') {
    objects.set(key, Buffer.concat(pieces));
    response.writeHead(200).end();
  } else if (request.method === 'DELETE') {
    objects.delete(key);
    response.writeHead(204).end();
  } else if (key === '') {
    const after = new URL(request.url ?? '', 'http://x').searchParams.get('start-after') ?? '';
    const listed = [...objects.keys()].filter((one) => one > after).toSorted();
    const text = listed.map((one) => `<Contents><Key>${one}</Key><LastModified>2030-01-01T00:00:00Z</LastModified></Contents>`);
    response.writeHead(200).end(`<ListBucketResult>${text.join('')}</ListBucketResult>`);
  } else {
    const object = objects.get(key);
    if (object === undefined) response.writeHead(404).end('<Code>NoSuchKey</Code>');
    else response.writeHead(200, { 'Content-Length': object.length }).end(object);
  }
}
const server = createServer((request, response) => void serve(request, response));
let port: number;

beforeAll(async () => {
  for (const name of ['id', 'secret']) writeFileSync(join(base, name), `${name} of a test`, { mode: 0o600 });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  ({ port } = z.object({ port: z.number() }).parse(server.address()));
});
afterAll(async () => {
  await new Promise((resolve) => {
    server.close(resolve);
  });
  rmSync(base, { recursive: true, force: true });
});

let contents: ObjectContents;
let log: ReturnType<typeof recordingLog>;
beforeEach(() => {
  [log, answer] = [recordingLog(), undefined];
  objects.clear();
  contents = contentsAt(port);
});
afterEach(() => {
  contents.close();
});

function contentsAt(at: number): ObjectContents {
  const s3 = {
    ...{ endpoint: `http://127.0.0.1:${at}`, bucket: 'bucket', prefix: 'files/', timeoutSeconds: 10 },
    ...{ accessKeyId: `file:${join(base, 'id')}`, secretAccessKey: `file:${join(base, 'secret')}` },
  };
  const config = TransferStoreConfig.parse({ directory: spool, s3 });
  if (config.s3 === undefined) throw new Error('it is configured');
  return new ObjectContents(config.s3, spool, log);
}

async function keep(bytes: Buffer): Promise<void> {
  const arriving = await contents.create(file.id);
  expect(arriving.isLasting).toBe(false);
  await closing(arriving, async () => {
    await arriving.handle.writeFile(bytes);
    await arriving.keep({ bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') });
  });
}

describe('contents in an object store', () => {
  it('are kept, read in order and anywhere, listed and removed under their prefix', async () => {
    await contents.prepare();
    await keep(content);
    expect([...objects.keys()]).toEqual([`files/${file.id}`]);
    const opened = await contents.open(file);
    expect(opened && (await closing(opened, async () => opened.readFile())).equals(content)).toBe(true);
    const inOrder = await contents.openInOrder(file);
    const buffer = Buffer.alloc(10);
    expect(await inOrder?.read(buffer, 0, 10, 0)).toEqual({ bytesRead: 10 });
    await inOrder?.close();
    objects.set('files/note.txt', Buffer.of(1));
    const listed: unknown[] = [];
    for await (const list of contents.list()) listed.push(...list);
    expect(listed).toEqual([{ id: file.id, changedAtMs: Date.UTC(2030, 0, 1) }]);
    await contents.remove(file.id);
    expect([await contents.open(file), await contents.openInOrder(file), [...objects.keys()]]).toEqual([
      ...[undefined, undefined, ['files/note.txt']],
    ]);
    expect([readdirSync(spool), contents.fault, log.lines]).toEqual([[], undefined, []]);
  });

  it('that are not what was stored are not opened', async () => {
    const other = Buffer.from(content);
    other.writeUInt8(other.readUInt8(5) ^ 1, 5);
    await keep(other);
    await expect(contents.open(file)).rejects.toThrow('other content than was stored');
    expect(readdirSync(spool)).toEqual([]);
  });

  it('are refused for good by a wrong key or name, at the start too', async () => {
    answer = { status: 403, body: '<Code>SignatureDoesNotMatch</Code>' };
    const refused = { code: 'TRANSFER_STORE_UNAVAILABLE', name: 'TransferStoreUnavailable', isTemporary: false };
    const failure: unknown = await contents.prepare().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TransferStoreUnavailable);
    expect(failure).toMatchObject({ ...refused, message: expect.stringContaining('403 (SignatureDoesNotMatch)') as string });
    await expect(contents.remove(file.id)).rejects.toMatchObject(refused);
    expect(contents.fault).toContain('403');
    // Said once, and again when it is over.
    expect(log.lines).toEqual([expect.stringContaining('cannot be used')]);
    await contents.probe();
    expect(contents.fault).toContain('403');
    answer = undefined;
    await contents.probe();
    expect(contents.fault).toBeUndefined();
    await contents.remove(file.id);
    expect(log.lines).toEqual([expect.stringContaining('cannot be used'), expect.stringContaining('can be used again')]);
  });

  it('have no room where the store says so', async () => {
    answer = { status: 507, body: '' };
    await expect(keep(content)).rejects.toMatchObject({ code: 'STORE_FULL' });
    expect([contents.fault, readdirSync(spool)]).toEqual([expect.stringContaining('507'), []]);
  });

  it('may be out of reach for a while, at the start too', async () => {
    const away = contentsAt(1);
    await away.prepare();
    expect(away.fault).toBeDefined();
    await expect(away.remove(file.id)).rejects.toMatchObject({ isTemporary: true });
    away.close();
  });
});
