import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { webcrypto } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Keyring } from '../../src/keys/keyring.ts';
import { storeKeyJournal } from '../../src/keys/store-key-journal.ts';
import { openSqliteStore } from '../../src/state/threaded-store.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { serviceKeys, type ServiceKeys } from '../../src/token/service-keys.ts';
import { TokenUnavailable } from '../../src/token/token.ts';
import { TokenCrypto } from '../../src/webcrypto/token-crypto.ts';
import { recordingLog } from '../support/silent-log.ts';
import { scratchToken } from '../support/scratch-token.ts';
import { kinds, p256 } from './algorithms.ts';
import { memoryJournal, scratchProvider } from './scratch-provider.ts';

const provider = scratchProvider({ threads: 2 });
const text = Buffer.from('Lu et approuvé');
const onToken = async (): Promise<readonly string[]> => (await provider().token.listKeys()).map(({ id }) => id);
const ec = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const macAlgorithm: webcrypto.HmacKeyGenParams = { name: 'HMAC', hash: 'SHA-384' };

/** One key of every kind: the private or secret one. */
async function keysOfAllKinds(crypto: TokenCrypto): Promise<webcrypto.CryptoKey[]> {
  const pairs = await Promise.all(kinds.map(async ({ generate }) => crypto.subtle.generateKey(generate, false, ['sign', 'verify'])));
  const mac = await crypto.subtle.generateKey(macAlgorithm, false, ['sign', 'verify']);
  return [...pairs.map((key) => ('privateKey' in key ? key.privateKey : key)), mac];
}

describe('a key of the provider', () => {
  it('is announced before the token makes it, and until it is kept', async () => {
    const { token, crypto } = provider();
    const journal = memoryJournal();
    const seen: boolean[] = [];
    const port: ServiceKeys = serviceKeys(token, token.messages);
    const watching: ServiceKeys = {
      ...port,
      createKey: async (id, type) => {
        seen.push(journal.entries.get(id) === 'CREATE' && !(await onToken()).includes(id));
        return port.createKey(id, type);
      },
    };
    const watched = new TokenCrypto(watching, journal);
    const { privateKey } = await watched.subtle.generateKey(ec, false, ['sign']);
    expect(seen).toEqual([true]);
    expect([...journal.entries]).toEqual([[watched.idOf(privateKey), 'CREATE']]);
    await watched.keep(privateKey);
    await watched.keep(privateKey);
    expect([...journal.entries]).toEqual([]);
    expect(await onToken()).toContain(watched.idOf(privateKey));
    expect(() => crypto.idOf(privateKey)).toThrow('does not belong to this provider');
  });

  it.each(['kept', 'not kept'])('of every kind, %s, goes from the token when it is destroyed, and signs no more', async (kept) => {
    const { crypto, journal } = provider();
    const keys = await keysOfAllKinds(crypto);
    const ids = keys.map((key) => crypto.idOf(key));
    expect(await onToken()).toEqual(expect.arrayContaining(ids));
    for (const key of keys) {
      if (kept === 'kept') await crypto.keep(key);
      await crypto.destroyKey(key);
      await crypto.destroyKey(key);
      await expect(crypto.subtle.sign(key.algorithm.name, key, text).catch(nameOf)).resolves.toMatch(/^(InvalidAccessError|TypeError)$/);
      await expect(crypto.keep(key)).rejects.toMatchObject({ name: 'InvalidAccessError' });
    }
    expect((await onToken()).filter((id) => ids.some((destroyed) => destroyed === id))).toEqual([]);
    expect(ids.filter((id) => journal.entries.has(id))).toEqual([]);
  });

  it('leaves nothing on the token when it could not be finished', async () => {
    const { token } = provider();
    const port = serviceKeys(token, token.messages);
    const journal = memoryJournal();
    const before = await onToken();
    const failing: ServiceKeys = {
      ...port,
      createKey: async (id, type) => {
        await port.createKey(id, type);
        throw new TokenUnavailable('the answer is lost');
      },
    };
    const refused = await new TokenCrypto(failing, journal).subtle.generateKey(ec, false, ['sign']).catch((error: unknown) => error);
    expect(refused).toMatchObject({ name: 'OperationError', cause: expect.any(TokenUnavailable) as unknown });
    expect(await onToken()).toEqual(before);
    expect([...journal.entries]).toEqual([]);
  });

  it('stays announced while the token is away, and its destruction can be asked for again', async () => {
    const { token } = provider();
    const port = serviceKeys(token, token.messages);
    const journal = memoryJournal();
    let away = true;
    const crypto = new TokenCrypto(
      { ...port, destroyKey: async (id) => (away ? Promise.reject(new TokenUnavailable('away')) : port.destroyKey(id)) },
      journal,
    );
    const { privateKey } = await crypto.subtle.generateKey(ec, false, ['sign']);
    await crypto.keep(privateKey);
    await expect(crypto.destroyKey(privateKey)).rejects.toMatchObject({ name: 'OperationError' });
    expect([...journal.entries.values()]).toEqual(['DESTROY']);
    await expect(crypto.subtle.sign(p256.sign, privateKey, text)).rejects.toMatchObject({ name: 'InvalidAccessError' });
    away = false;
    await crypto.destroyKey(privateKey);
    expect([...journal.entries]).toEqual([]);
    expect(await onToken()).not.toContain(crypto.idOf(privateKey));
  });

  it('signs after the token host was killed', async () => {
    const { crypto, token } = provider();
    const key = await crypto.subtle.generateKey(macAlgorithm, false, ['sign', 'verify']);
    const { privateKey, publicKey } = await crypto.subtle.generateKey(ec, false, ['sign', 'verify']);
    const mac = await crypto.subtle.sign('HMAC', key, text);
    process.kill(token.hostPid ?? 0, 'SIGKILL');
    expect(await crypto.subtle.verify('HMAC', key, mac, text)).toBe(true);
    expect(await crypto.subtle.verify(p256.sign, publicKey, await crypto.subtle.sign(p256.sign, privateKey, text), text)).toBe(true);
  });
});

describe('a process that is killed while it makes keys', () => {
  it('leaves on the token what was kept, and after the next start nothing else', async () => {
    const scratch = scratchToken();
    const storePath = join(scratch.directory, 'state.sqlite');
    const script = fileURLToPath(new URL('./making-keys.ts', import.meta.url));
    const child = spawn(process.execPath, ['--disable-sigusr1', '--no-warnings', script, scratch.configPath, storePath], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    const exited = new Promise<void>((resolve) => {
      child.once('close', () => {
        resolve();
      });
    });
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8');
      if (said.split('\n').length > 4) child.kill('SIGKILL');
    });
    await exited;
    const [kept, ...others] = said.trim().split(/\s+/);
    expect(others.length).toBeGreaterThanOrEqual(4);

    const store = await openSqliteStore(storePath);
    const token = new TokenClient(scratch.config, scratch.configPath, recordingLog());
    try {
      await token.start();
      const left = (await token.listKeys()).map(({ id }) => id);
      expect(left).toEqual(expect.arrayContaining([kept, ...others]));
      expect((await new Keyring(store, token).recover()).finished).toBeGreaterThanOrEqual(others.length);
      expect((await token.listKeys()).map(({ id }) => id)).toEqual([kept]);
      expect(await store.run('journal')).toEqual([]);
    } finally {
      await token.stop();
      await store.close();
      scratch.remove();
    }
  });
});

describe('the journal in the state store', () => {
  it('holds what is announced until it is settled', async () => {
    const store = await openSqliteStore(join(provider().scratch.directory, 'journal.sqlite'));
    const { token } = provider();
    const crypto = new TokenCrypto(serviceKeys(token, token.messages), storeKeyJournal(store));
    const { privateKey } = await crypto.subtle.generateKey(ec, false, ['sign']);
    expect(await store.run('journal')).toMatchObject([{ key_id: crypto.idOf(privateKey), intent: 'CREATE' }]);
    await crypto.keep(privateKey);
    expect(await store.run('journal')).toEqual([]);
    await crypto.destroyKey(privateKey);
    expect(await store.run('journal')).toEqual([]);
    await store.close();
  });
});

function nameOf(error: unknown): string {
  return error instanceof Error || error instanceof DOMException ? error.name : 'no error';
}
