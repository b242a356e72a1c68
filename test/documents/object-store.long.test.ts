import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { TransferStoreConfig } from '../../src/config/transfer-store-config.ts';
import { TransferStoreUnavailable } from '../../src/documents/transfer/transfer-store-unavailable.ts';
import { TransferStore } from '../../src/documents/transfer/transfer-store.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { databases } from '../state/databases.ts';
import { noObjectStore, ObjectStore } from '../support/object-store.ts';
import { recordingLog } from '../support/silent-log.ts';
import { skipNote } from '../support/skip-note.ts';
import { namesIn, transferPlaces } from './transfer-places.ts';

const mebibyte = 1024 * 1024;
const description = { tenant: 'demo', mediaType: 'text/plain', fileName: 'a.txt' };

async function* piecesOf(content: Buffer): AsyncGenerator<readonly Buffer[]> {
  yield await Promise.resolve([content]);
}

describe.skipIf(noObjectStore !== undefined)(`the transfer store in an object store${skipNote(noObjectStore)}`, () => {
  const place = transferPlaces.bucket();
  const database = databases.SQLite();
  const threads = new WorkThreads();
  const log = recordingLog();
  let store: StateStore;
  const opened: TransferStore[] = [];

  beforeAll(async () => {
    await place.start();
    await database.start();
    store = await openStateStore(await database.fresh(), recordingLog());
  });
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.stop();
    place.server.useSecret();
  });
  afterAll(async () => {
    await store.close();
    await database.stop();
    await place.stop();
    await threads.stop();
  });

  const open = async (s3: Record<string, unknown> = {}, settings: Record<string, unknown> = {}): Promise<TransferStore> => {
    const config = TransferStoreConfig.parse({
      ...place.settings(),
      ...settings,
      s3: { ...place.server.config, timeoutSeconds: 2, ...s3 },
    });
    const metrics = { moved: () => undefined, removed: () => undefined };
    const transfers = await TransferStore.open({ store, config, owner: 'one', threads, log, metrics });
    opened.push(transfers);
    return transfers;
  };
  const receive = async (transfers: TransferStore, content: Buffer): Promise<string> =>
    (await transfers.receive(piecesOf(content), { ...description, announced: content.length })).fileID;
  const download = async (
    transfers: TransferStore,
    id: string,
    pause: () => Promise<void> = async () => Promise.resolve(),
  ): Promise<Buffer> => {
    const found = await transfers.openDownload('demo', id);
    if (found === undefined) throw new Error('there is no such file');
    const content = Buffer.alloc(found.file.bytes);
    try {
      for (let offset = 0; offset < content.length;) {
        const { bytesRead } = await found.reader.read(content, offset, Math.min(64 * 1024, content.length - offset), offset);
        if (bytesRead === 0) throw new Error('the file is shorter than it was');
        if (offset < mebibyte && offset + bytesRead >= mebibyte) await pause();
        offset += bytesRead;
      }
    } finally {
      await found.reader.close();
    }
    return content;
  };
  const outcome = async (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'done',
      (error: unknown) => (error instanceof TransferStoreUnavailable ? 'unavailable' : String(error)),
    );

  it('says that it is not available while the server is down, and goes on by itself', async () => {
    const transfers = await open();
    const content = randomBytes(3 * mebibyte);
    const id = await receive(transfers, content);
    await place.server.stop();
    expect(await outcome(receive(transfers, content))).toBe('unavailable');
    expect(await outcome(transfers.openFile('demo', id))).toBe('unavailable');
    expect(await outcome(download(transfers, id))).toBe('unavailable');
    expect(await outcome(transfers.stage([content], description))).toBe('unavailable');
    expect(transfers.warnings()['transferStore']).toContain('ECONNREFUSED');
    // Nobody can fetch it from now on; the object goes later.
    const removed = await transfers.remove('demo', id);
    expect(removed).toBe(true);
    await place.server.restart();
    const again = await receive(transfers, content);
    expect((await download(transfers, again)).equals(content)).toBe(true);
    expect(transfers.warnings()).toEqual({});
    // The next start removes what could not be removed.
    await open();
    expect(namesIn(place)).toEqual([again]);
    expect(await store.run('transferShares')).toEqual([{ tenant: 'demo', bytes: content.length, files: 1 }]);
  });

  it('starts while the server is down, and serves when it is back', async () => {
    await place.server.stop();
    const transfers = await open();
    expect(await outcome(receive(transfers, Buffer.from('x')))).toBe('unavailable');
    await place.server.restart();
    expect(await outcome(receive(transfers, Buffer.from('x')))).toBe('done');
  });

  it('gives up a server that accepts connections and answers nothing', async () => {
    const transfers = await open({ timeoutSeconds: 1 });
    place.server.signal('SIGSTOP');
    try {
      expect(await outcome(receive(transfers, randomBytes(mebibyte)))).toBe('unavailable');
    } finally {
      place.server.signal('SIGCONT');
    }
    expect(await outcome(receive(transfers, Buffer.from('x')))).toBe('done');
  });

  it('continues a download where the connection broke', async () => {
    const transfers = await open();
    const content = randomBytes(24 * mebibyte);
    const id = await receive(transfers, content);
    const restart = async (): Promise<void> => {
      await place.server.stop();
      await place.server.restart();
    };
    expect((await download(transfers, id, restart)).equals(content)).toBe(true);
  });

  it('withholds the end of a file whose content was changed in the bucket', async () => {
    const transfers = await open();
    const content = randomBytes(mebibyte);
    const id = await receive(transfers, content);
    const path = join(place.directory, id);
    const changed = readFileSync(path);
    changed[1000] = (changed[1000] ?? 0) ^ 1;
    writeFileSync(path, changed);
    expect(await outcome(download(transfers, id))).toContain('other content than was stored');
    expect(await outcome(transfers.openFile('demo', id))).toContain('other content than was stored');
    writeFileSync(path, changed.subarray(1));
    expect(await outcome(download(transfers, id))).toBe('unavailable');
  });

  it('refuses to start with a wrong secret, bucket or authority of the server, and uses a renewed secret at once', async () => {
    place.server.useSecret('a wrong secret');
    await expect(open()).rejects.toThrow('SignatureDoesNotMatch');
    place.server.useSecret();
    await expect(open({ bucket: 'absent' })).rejects.toThrow('NoSuchBucket');
    const transfers = await open();
    place.server.useSecret('a wrong secret');
    expect(await outcome(receive(transfers, Buffer.from('x')))).toBe('unavailable');
    place.server.useSecret();
    const id = await receive(transfers, Buffer.from('x'));
    expect((await download(transfers, id)).toString()).toBe('x');
    // Nobody whom the configured authority does not know gets a request.
    const untrusting = await open({ certificateAuthority: undefined });
    expect(await outcome(receive(untrusting, Buffer.from('x')))).toBe('unavailable');
    expect(log.lines.join('\n')).not.toMatch(new RegExp([...ObjectStore.secrets, 'a wrong secret', 'signetd-test-key'].join('|')));
  });
});

describe('the configuration of the object store', () => {
  const faultsOf = (s3: Record<string, unknown>, more: Record<string, unknown> = {}): string[] => {
    const base = { endpoint: 'https://s3.example.net', bucket: 'files', accessKeyId: 'file:id', secretAccessKey: 'credential:s3' };
    const { error } = TransferStoreConfig.safeParse({ ...more, s3: { ...base, ...s3 } });
    return error?.issues.map(({ path }) => path.join('.')) ?? [];
  };

  it.each([
    [{}, []],
    [{ endpoint: 'http://127.0.0.1:9000' }, []],
    [{ endpoint: 'http://s3.example.net' }, ['s3.endpoint']],
    [{ endpoint: 'https://user:secret@s3.example.net' }, ['s3.endpoint']],
    [{ endpoint: 's3.example.net' }, ['s3.endpoint']],
    [{ bucket: 'Files' }, ['s3.bucket']],
    [{ prefix: 'signetd/files/' }, []],
    [{ prefix: 'files' }, ['s3.prefix']],
    [{ prefix: '../' }, ['s3.prefix']],
    [{ secretAccessKey: 'the secret itself' }, ['s3.secretAccessKey']],
  ])('%j: %j', (s3, faults) => {
    expect(faultsOf(s3)).toEqual(faults);
  });

  it('refuses files that are too large for one request', () => {
    const bytes = 6 * 1024 ** 3;
    expect(faultsOf({}, { fileMaxBytes: bytes })).toEqual(['fileMaxBytes']);
  });
});
