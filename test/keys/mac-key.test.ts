import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cpSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { tenantId } from '../../src/clients/caller.ts';
import { ConfigError } from '../../src/config/config-error.ts';
import { Keyring } from '../../src/keys/keyring.ts';
import { establishMacKey } from '../../src/keys/mac-key.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import type { TokenClient } from '../../src/token/client/token-client.ts';
import { macKeyId, newKeyId, type KeyId } from '../../src/token/key-id.ts';
import { TokenUnavailable, type Proof } from '../../src/token/token.ts';
import { databases } from '../state/databases.ts';
import { certificateRow } from '../support/certificate-row.ts';
import { hostAt } from '../support/host-at.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { recordingLog } from '../support/silent-log.ts';

const [sqlite, postgresql] = [databases.SQLite(), databases.PostgreSQL()];
const clients: TokenClient[] = [];
const stores: StateStore[] = [];
const scratches: ScratchToken[] = [];
/** Tokens that no test changes, each with its host: one with a MAC key, which the host found, and one without. */
let right: TokenClient;
let empty: { readonly scratch: ScratchToken; readonly token: TokenClient };
let lasting: { readonly clients: TokenClient[]; readonly scratches: ScratchToken[] };

beforeAll(async () => {
  const scratch = emptyToken();
  [right, empty] = await Promise.all([
    started(scratchWithKey()),
    started(scratch).then((token) => ({ scratch, token })),
    sqlite.start(),
    postgresql.start(),
  ]);
  lasting = { clients: clients.splice(0), scratches: scratches.splice(0) };
});

afterEach(async () => {
  await Promise.all([...clients.splice(0).map(async (client) => client.stop()), ...stores.splice(0).map(async (store) => store.close())]);
  for (const scratch of scratches.splice(0)) scratch.remove();
});

afterAll(async () => {
  await Promise.all(lasting.clients.map(async (client) => client.stop()));
  for (const scratch of lasting.scratches) scratch.remove();
  await sqlite.stop();
  await postgresql.stop();
});

function scratchWithKey(threads = 1): ScratchToken {
  const scratch = scratchToken({ threads });
  scratches.push(scratch);
  return scratch;
}

function emptyToken(threads = 1): ScratchToken {
  const scratch = scratchWithKey(threads);
  pkcs11Tool(scratch, '--delete-object', '--type', 'secrkey', '--id', macKeyId);
  return scratch;
}

async function started(scratch: ScratchToken, name = 'host', lines = recordingLog()): Promise<TokenClient> {
  const client = await hostAt(scratch, name, lines);
  clients.push(client);
  return client;
}

async function storeOf(database: typeof sqlite): Promise<StateStore> {
  const store = await openStateStore(await database.fresh(), recordingLog());
  stores.push(store);
  return store;
}

const establish = async (store: StateStore, token: TokenClient): Promise<void> => {
  await establishMacKey(store, token, { label: 'test', claimMs: 60_000, log: recordingLog() });
};

function pkcs11Tool(scratch: ScratchToken, ...work: string[]): string {
  return execFileSync(
    'pkcs11-tool',
    ['--module', '/usr/lib/softhsm/libsofthsm2.so', '--token-label', 'test', '--login', '--pin', scratch.pin, ...work],
    { env: { ...process.env, ...scratch.environment }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  );
}

const macKeysOn = (scratch: ScratchToken): number =>
  pkcs11Tool(scratch, '--list-objects', '--type', 'secrkey')
    .split('\n')
    .filter((line) => line.includes(macKeyId)).length;

async function secretMadeBy(token: TokenClient, id: KeyId): Promise<Proof> {
  const [secret, scope] = [randomBytes(20), randomBytes(32)];
  return { kind: 'PASSWORD', secret, scope, ...(await token.makeMac(id, 'PASSWORD', secret, scope)) };
}

const verifiedBy = async (token: TokenClient, id: KeyId, proof: Proof): Promise<boolean> =>
  (await token.verifyProof(id, { anyOf: [{ ...proof, signs: false }] })).verified;

async function keyWithPassword(store: StateStore, token: TokenClient): Promise<void> {
  const issue = async (): Promise<{ row: ReturnType<typeof certificateRow> }> => Promise.resolve({ row: certificateRow() });
  const request = { tenant: tenantId('demo'), type: 'P-256', protocol: 'PASSWORD', subscriber: {}, issue } as const;
  await new Keyring(store, token).create(request);
}

describe('the MAC key', () => {
  it('is made once by two instances at once, each with its own host, on an empty token with an empty store', async () => {
    const scratch = emptyToken();
    const config = await postgresql.fresh();
    // One after the other: of hosts that start at the same moment at a SoftHSM token, one in a hundred does not see keys of the other.
    const instances = [await started(scratch, 'a'), await started(scratch, 'b')];
    await Promise.all(
      instances.map(async (token) => {
        const store = await openStateStore(config, recordingLog());
        stores.push(store);
        await establish(store, token);
      }),
    );
    expect(macKeysOn(scratch)).toBe(1);
    for (const maker of instances) {
      const id = newKeyId('caller');
      const proof = await secretMadeBy(maker, id);
      for (const token of instances) expect(await verifiedBy(token, id, proof)).toBe(true);
    }
  });

  it('is there once where a host is told to make it several times at once', async () => {
    const scratch = emptyToken(2);
    const { macKey } = await started(scratch);
    const made = await Promise.allSettled(Array.from({ length: 8 }, async () => macKey.make()));
    const known = new Set(made.flatMap((each) => (each.status === 'fulfilled' ? [Buffer.from(each.value).toString('hex')] : [])));
    // Two threads that both see the other's key destroy their own and say so; who asks again gets the one.
    known.add(Buffer.from(await macKey.make()).toString('hex'));
    expect(known.size).toBe(1);
    expect(macKeysOn(scratch)).toBe(1);
  });

  it('is not made by the start of a host, nor by a request that needs it', async () => {
    const { scratch, token } = empty;
    expect(await token.macKey.check()).toBeUndefined();
    await expect(secretMadeBy(token, newKeyId('caller'))).rejects.toThrow(new TokenUnavailable('the token has no MAC key'));
    expect(macKeysOn(scratch)).toBe(0);
  });

  it('that is deleted while the host runs fails requests, and is not made anew', async () => {
    const scratch = emptyToken();
    const token = await started(scratch);
    await token.macKey.make();
    const id = newKeyId('caller');
    const proof = await secretMadeBy(token, id);
    pkcs11Tool(scratch, '--delete-object', '--type', 'secrkey', '--id', macKeyId);
    await expect(verifiedBy(token, id, proof)).rejects.toThrow(TokenUnavailable);
    await expect(secretMadeBy(token, id)).rejects.toThrow(TokenUnavailable);
    expect(macKeysOn(scratch)).toBe(0);
  });

  it('of a token from before its check value was kept is taken over', async () => {
    const [token, store] = [right, await storeOf(sqlite)];
    const check = await token.macKey.make();
    await keyWithPassword(store, token);
    await establish(store, token);
    expect(Buffer.from((await store.run('listMacKeys'))[0]?.check ?? []).equals(check)).toBe(true);
    await establish(store, token);
  });

  it('is made by the next start where one went down before it was', async () => {
    const [token, store] = [await started(emptyToken()), await storeOf(sqlite)];
    expect(await store.run('claimMacKey', { claim: 'of one that went down', until: Date.now() + 60_000, freeBefore: Date.now() })).toBe(
      true,
    );
    await establish(store, token);
    expect(await token.macKey.check()).toBeDefined();
  });

  it.each([
    ['SQLite', sqlite],
    ['PostgreSQL', postgresql],
  ])('keeps a start from a token that has none, where the store (%s) has keys with secrets', async (_name, database) => {
    const store = await storeOf(database);
    await keyWithPassword(store, right);
    const refusal = establish(store, empty.token);
    await expect(refusal).rejects.toThrow(ConfigError);
    await expect(refusal).rejects.toThrow('the token "test" has no MAC key, and this state store has 1 keys with secrets');
    expect(macKeysOn(empty.scratch)).toBe(0);
    // Nothing stands in the way of the right token.
    await establish(store, right);
  });

  it('keeps a start from a token that has another one, or none any more', async () => {
    const [store, other] = [await storeOf(sqlite), await started(emptyToken())];
    await establish(store, right);
    await expect(establish(store, other)).rejects.toThrow('has no MAC key, and this state store was used with one');
    expect(await other.macKey.check()).toBeUndefined();
    await other.macKey.make();
    await expect(establish(store, other)).rejects.toThrow('has a different MAC key from the one that this state store was used with');
  });

  it('twice on a token is refused by the host, in words', async () => {
    const scratch = emptyToken();
    for (const label of ['one', 'two']) {
      pkcs11Tool(scratch, '--keygen', '--key-type', 'GENERIC:32', '--id', macKeyId, '--label', label, '--sensitive');
    }
    await expect(started(scratch)).rejects.toMatchObject({
      name: 'HostRefusedError',
      exitCode: 69,
      message: expect.stringContaining('it has 2 MAC keys') as unknown,
    });
  });

  it('is looked at again after each start of the host: with another token nothing is verified, and nothing counts', async () => {
    const [scratch, other] = [emptyToken(), scratchWithKey()];
    const lines = recordingLog();
    const [token, store] = [await started(scratch, 'host', lines), await storeOf(sqlite)];
    await establish(store, token);
    const id = newKeyId('caller');
    const proof = await secretMadeBy(token, id);
    const [tokens, aside] = [join(scratch.directory, 'tokens'), join(scratch.directory, 'aside')];
    renameSync(tokens, aside);
    cpSync(join(other.directory, 'tokens'), tokens, { recursive: true });
    process.kill(token.hostPid ?? 0, 'SIGKILL');
    const asked = verifiedBy(token, id, proof).catch((error: unknown) => error);
    await vi.waitUntil(() => token.hostFault !== undefined, { timeout: 30_000 });
    expect(token.hostFault).toBe("the token's MAC key is not the one with which the state store was used");
    expect(token.ready).toBe(false);
    expect(lines.lines.some((line) => line.includes('the token host is not used'))).toBe(true);
    rmSync(tokens, { recursive: true });
    renameSync(aside, tokens);
    await vi.waitUntil(() => token.ready, { timeout: 30_000 });
    expect(token.hostFault).toBeUndefined();
    // Whoever asked meanwhile waited, or was told that the token is away.
    expect([true, expect.any(TokenUnavailable)]).toContainEqual(await asked);
    expect(await verifiedBy(token, id, proof)).toBe(true);
  });
});
