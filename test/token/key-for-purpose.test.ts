import { createPublicKey, verify } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tokenCheckpointSigner } from '../../src/audit/checkpoint-keys.ts';
import type { StateConfig } from '../../src/config/state-config.ts';
import { AnswerKeys } from '../../src/idempotency/answer-keys.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import type { TokenMac } from '../../src/sealed-parts/part-cipher.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import type { TokenClient } from '../../src/token/client/token-client.ts';
import { newKeyId, parseKeyId } from '../../src/token/key-id.ts';
import { TokenUnavailable } from '../../src/token/token.ts';
import { hostAt } from '../support/host-at.ts';
import { ScratchPostgresql } from '../support/postgresql.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { recordingLog } from '../support/silent-log.ts';

const message = Buffer.from('signetd audit checkpoint v1\n');

let scratch: ScratchToken;
let server: ScratchPostgresql;
let config: StateConfig;
/** Two instances: each has its own host at the one token, which started before any key was made, and its own connection to the one store. */
let a: Instance;
let b: Instance;

interface Instance {
  readonly token: TokenClient;
  readonly store: StateStore;
}

beforeAll(async () => {
  scratch = scratchToken();
  server = await ScratchPostgresql.start();
  config = await server.newDatabase();
  [a, b] = [await instance('a'), await instance('b')];
});

afterAll(async () => {
  for (const { token, store } of [a, b]) {
    await token.stop();
    await store.close();
  }
  await server.remove();
  scratch.remove();
});

async function instance(name: string): Promise<Instance> {
  return { token: await hostAt(scratch, name), store: await openStateStore(config, recordingLog()) };
}

/** As the token itself has them: a host that starts lists them anew. */
async function serviceKeysOnToken(): Promise<string[]> {
  const looking = await hostAt(scratch, 'looking');
  try {
    return (await looking.listKeys()).map(({ id }) => String(id));
  } finally {
    await looking.stop();
  }
}

/** The MAC of a message under the key in force. */
async function tokenMacOfKeptAnswers(...of: Parameters<typeof AnswerKeys.open>): Promise<TokenMac> {
  const keys = await AnswerKeys.open(...of);
  keys.stop();
  return async (bytes) => keys.using(async ({ current }) => current.mac(bytes));
}

const hexOf = async (bytes: Promise<Uint8Array>): Promise<string> => Buffer.from(await bytes).toString('hex');
const named = async (): Promise<string> => (await a.store.run('findServiceKey', 'kept answers')) ?? '';

describe('the key of kept answers', () => {
  it('is one for two instances whose hosts started before it was made, and nothing is said to be lost', async () => {
    const lines = recordingLog();
    const [macA, macB] = [await tokenMacOfKeptAnswers(a.store, a.token, lines), await tokenMacOfKeptAnswers(b.store, b.token, lines)];
    expect(await hexOf(macB(message))).toBe(await hexOf(macA(message)));
    expect(await serviceKeysOnToken()).toEqual([await named()]);
    expect(lines.lines).toEqual([]);
  });

  it('is another for all as soon as one instance has made it, where the token lost the first', async () => {
    const macA = await tokenMacOfKeptAnswers(a.store, a.token, recordingLog());
    const [first, value] = [await named(), await hexOf(macA(message))];
    await b.token.destroyKey(parseKeyId(first));
    await expect(macA(message)).rejects.toThrow(TokenUnavailable);
    const macB = await tokenMacOfKeptAnswers(b.store, b.token, recordingLog());
    expect(await hexOf(macB(message))).not.toBe(value);
    expect(await hexOf(macA(message))).toBe(await hexOf(macB(message)));
    expect(await serviceKeysOnToken()).toEqual([await named()]);
    expect(await a.store.run('journal')).toEqual([]);
  });

  it('is the one that the store names now, though the token still has the other', async () => {
    const macA = await tokenMacOfKeptAnswers(a.store, a.token, recordingLog());
    const value = await hexOf(macA(message));
    const former = await named();
    // What an instance would do to which the token has said that it does not have the key.
    const next = await newMacKey();
    await b.store.run('takeServiceKey', { purpose: 'kept answers', key_id: next, created_at: Date.now(), replaces: former });
    expect(await a.store.run('journal')).toMatchObject([{ key_id: former, intent: 'DESTROY' }]);
    await a.store.refresh();
    expect(await hexOf(macA(message))).not.toBe(value);
    await b.token.destroyKey(parseKeyId(former));
    await b.store.run('finishStep', former);
  });

  it('is neither replaced nor forgotten if the token cannot tell whether it has it', async () => {
    const former = await named();
    const away = {
      destroyKey: async (): Promise<void> => Promise.reject(new TokenUnavailable('away')),
      messages: { ...a.token.messages, signMessage: async () => Promise.reject(new TokenUnavailable('away')) },
    };
    await expect(tokenMacOfKeptAnswers(a.store, away, recordingLog())).rejects.toThrow('away');
    expect(await named()).toBe(former);
    expect(await serviceKeysOnToken()).toEqual([former]);
  });

  it('that is replaced stays announced for its destruction where the token cannot destroy what is left of it now', async () => {
    const former = await named();
    await a.token.destroyKey(parseKeyId(former));
    const noDestruction = {
      messages: b.token.messages,
      destroyKey: async (): Promise<void> => Promise.reject(new TokenUnavailable('away')),
    };
    await tokenMacOfKeptAnswers(b.store, noDestruction, recordingLog());
    expect(await named()).not.toBe(former);
    expect(await a.store.run('journal')).toMatchObject([{ key_id: former, intent: 'DESTROY' }]);
    await a.store.run('finishStep', former);
  });
});

async function newMacKey(): Promise<string> {
  const id = newKeyId('mac');
  await a.store.run('announce', { key_id: id, intent: 'CREATE', created_at: Date.now() });
  await b.token.messages.createMessageKey(id, { scheme: 'HMAC', hash: 'sha256', bytes: 32 });
  return id;
}

describe('the key of audit checkpoints', () => {
  it('is one for two instances that start at once, and for one whose host started before it was made', async () => {
    const before = await serviceKeysOnToken();
    const lines = recordingLog();
    // By one host: SoftHSM shows a process not all that another one makes at the same moment.
    const [first, second] = await Promise.all([a, b].map(async ({ store }) => tokenCheckpointSigner(store, a.token, lines)));
    expect(first?.publicKey).toEqual(second?.publicKey);
    expect((await serviceKeysOnToken()).filter((id) => !before.includes(id))).toEqual([await a.store.run('findAuditKey')]);
    expect(await a.store.run('journal')).toEqual([]);
    expect((await tokenCheckpointSigner(b.store, b.token, lines)).publicKey).toEqual(first?.publicKey);
    expect(lines.lines).toEqual([]);
  });

  it('is another where the first is of an earlier version, without purpose', async () => {
    const first = (await a.store.run('findAuditKey')) ?? '';
    const legacy = parseKeyId(`53${first.slice(2)}`);
    await a.store.run('announce', { key_id: legacy, intent: 'CREATE', created_at: Date.now() });
    await a.store.run('takeAuditKey', {
      key_id: legacy,
      public_key: new Uint8Array(1),
      created_at: Date.now(),
      replaces: first,
      succession: null,
    });
    await a.store.run('finishStep', first);
    const lines = recordingLog();
    const signer = await tokenCheckpointSigner(a.store, a.token, lines);
    expect(lines.lines).toEqual([expect.stringContaining('has no purpose')]);
    expect(await a.store.run('findAuditKey')).toMatch(/^41/);
    await expect(signer.sign(message)).resolves.toHaveLength(64);
    expect((await a.store.run('auditKeys')).map(({ key_id: id }) => id)).toContain(legacy);
  });

  it('is another where the token lost it, and the public half of the first stays', async () => {
    const known = (await a.store.run('findAuditKey')) ?? '';
    await b.token.destroyKey(parseKeyId(known));
    const signer = await tokenCheckpointSigner(a.store, a.token, recordingLog());
    const key = createPublicKey({ key: Buffer.from(signer.publicKey), format: 'der', type: 'spki' });
    expect(verify('sha256', message, { key, dsaEncoding: 'ieee-p1363' }, await signer.sign(message))).toBe(true);
    expect((await a.store.run('auditKeys')).map(({ key_id: id }) => id)).toContain(known);
    expect(await a.store.run('findAuditKey')).not.toBe(known);
    expect(await a.store.run('journal')).toEqual([]);
  });
});
