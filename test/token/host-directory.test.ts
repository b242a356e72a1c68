import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { loadTokenConfig } from '../../src/config/config.ts';
import { accountDirectoryOf } from '../../src/config/token-config.ts';
import { takeHostDirectory } from '../../src/token/host/host-directory.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { newKeyId } from '../../src/token/key-id.ts';
import { noSmallDisk, SmallDisk } from '../audit/small-disk.ts';
import { recordingLog } from '../support/silent-log.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { notRoot, skipNote } from '../support/skip-note.ts';

const ends: (() => Promise<void> | void)[] = [];
/** A token whose host serves in all tests. */
let served: ScratchToken;
let server: TokenClient;

beforeAll(async () => {
  served = scratchToken({ threads: 2 });
  server = new TokenClient(served.config, served.configPath, recordingLog());
  await server.start();
});

afterAll(async () => {
  await server.stop();
  served.remove();
});

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

function clientOf(scratch: ScratchToken): { token: TokenClient; log: ReturnType<typeof recordingLog> } {
  const log = recordingLog();
  const token = new TokenClient(scratch.config, scratch.configPath, log);
  ends.push(async () => token.stop());
  return { token, log };
}

function scratchWith(settings: Record<string, string | number | boolean>): ScratchToken {
  const scratch = scratchToken(settings);
  ends.push(() => {
    scratch.remove();
  });
  return scratch;
}

it('is for the user of the token host alone, and has a chain for each thread', () => {
  const directory = accountDirectoryOf(served.config);
  expect(statSync(directory).mode & 0o777).toBe(0o700);
  const files = readdirSync(directory);
  expect(files).toEqual(expect.arrayContaining(['account-0-00000001.jsonl', 'account-1-00000001.jsonl', 'wrong-secrets.sqlite']));
  for (const name of files) expect(statSync(join(directory, name)).mode & 0o077).toBe(0);
});

it('keeps a host from serving where it cannot be made', async () => {
  const scratch = scratchWith({});
  writeFileSync(accountDirectoryOf(scratch.config), 'a file');
  const { token, log } = clientOf(scratch);
  void token.start().catch(() => undefined);
  await vi.waitUntil(() => log.lines.some((line) => /token\.accountDirectory: .* cannot be used/.test(line)), { timeout: 30_000 });
  expect(token.ready).toBe(false);
});

it.skipIf(notRoot !== undefined)(`is no place for root where it is another user's${skipNote(notRoot)}`, () => {
  const scratch = scratchWith({});
  const parent = join(scratch.directory, 'service');
  const directory = join(parent, 'account');
  const config = { ...scratch.config, host: 'external', accountDirectory: directory } as const;
  mkdirSync(parent);
  // The parent may be swapped by whoever owns it.
  chownSync(parent, 64_001, 64_001);
  expect(() => takeHostDirectory(config)).toThrow(`${parent} belongs to user 64001: the token host does not run as root there`);
  expect(readdirSync(parent)).toEqual([]);
  chownSync(parent, 0, 0);
  chmodSync(parent, 0o777);
  expect(() => takeHostDirectory(config)).toThrow(`${parent} is writable by other users`);
  chmodSync(parent, 0o755);
  mkdirSync(directory);
  symlinkSync(join(scratch.directory, 'elsewhere'), join(directory, 'lock'));
  chownSync(directory, 64_001, 64_001);
  expect(() => takeHostDirectory(config)).toThrow(
    `${directory} belongs to user 64001: the token host does not run as root there; run it as the owner of ${directory}`,
  );
  expect(readdirSync(scratch.directory)).not.toContain('elsewhere');
  chownSync(directory, 0, 0);
  rmSync(join(directory, 'lock'));
  takeHostDirectory(config).release();
  expect(readdirSync(directory)).toContain('wrong-secrets.sqlite');
});

it('belongs to one host at a time', async () => {
  const other = join(served.directory, 'other.yaml');
  const settings = {
    ...served.config,
    socketPath: join(served.directory, 'other.sock'),
    accountDirectory: accountDirectoryOf(served.config),
  };
  writeFileSync(other, JSON.stringify({ token: settings }));
  const log = recordingLog();
  const second = new TokenClient(loadTokenConfig(other), other, log);
  ends.push(async () => second.stop());
  void second.start().catch(() => undefined);
  await vi.waitUntil(() => log.lines.some((line) => line.includes('another process is writing the account of uses')), { timeout: 30_000 });
  expect(second.ready).toBe(false);
});

it.skipIf(noSmallDisk !== undefined)(
  `lets no signature leave that it cannot take, and goes on when there is room${skipNote(noSmallDisk)}`,
  async () => {
    const disk = new SmallDisk(1 << 20);
    ends.push(() => {
      disk.remove();
    });
    // A request waits for a host that can write no longer than that.
    const scratch = scratchWith({ accountDirectory: join(disk.directory, 'account'), outageSeconds: 1 });
    const { token } = clientOf(scratch);
    await token.start();
    const id = newKeyId('general');
    await token.createKey(id, 'P-256');
    const sign = async (): Promise<unknown> => token.signDigests(id, { scheme: 'ECDSA', hash: 'sha256' }, [Buffer.alloc(32)]);
    await sign();
    disk.fill();
    await vi.waitUntil(
      async () =>
        sign().then(
          () => false,
          () => true,
        ),
      { timeout: 60_000 },
    );
    disk.empty();
    await vi.waitUntil(
      async () =>
        sign().then(
          () => true,
          () => false,
        ),
      { timeout: 60_000 },
    );
  },
);
