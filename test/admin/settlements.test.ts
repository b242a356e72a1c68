import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ClientRegistry } from '../../src/clients/registry.ts';
import { parseKeyReferenceId } from '../../src/keys/key-record.ts';
import { Keyring } from '../../src/keys/keyring.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { step } from '../../src/state/step.ts';
import type { TokenClient } from '../../src/token/client/token-client.ts';
import { storedKey } from '../state/rows.ts';
import { certificateRow } from '../support/certificate-row.ts';
import { tokenAndStore, type TokenAndStore } from '../support/token-and-store.ts';

let around: TokenAndStore;
let token: TokenClient;
let store: StateStore;

beforeAll(async () => {
  around = await tokenAndStore();
  ({ token, store } = around);
});

afterAll(async () => {
  await around.end();
});

const record = [step('addAuditRecord', { id: 'settlement', created_at: 1, record: '{}' })];

/** Whether the record of what an operator did is in the state store, where a crash would find it. */
async function isSettled(done: Promise<unknown>): Promise<boolean> {
  await done.catch(() => undefined);
  const records = await store.run('listAuditRecords', { limit: 10 });
  await store.run(
    'deleteAuditRecords',
    records.map(({ id }) => id),
  );
  return records.length > 0;
}

describe('a change by an operator is recorded in the same commit', () => {
  it('for a client, but not if nothing changed', async () => {
    const registry = new ClientRegistry(store);
    const certificate = new X509Certificate(Buffer.from(certificateRow().der));
    const client = { certificate, name: 'app', tenant: 'demo', roles: ['keys'] } as const;
    const told: boolean[] = [];
    for (const replace of [false, false, true]) told.push(await isSettled(registry.register(client, replace, record)));
    const [row] = await store.run('listClients');
    const spki = row?.spki_sha256 ?? '';
    told.push(await isSettled(registry.revoke(spki, record)), await isSettled(registry.revoke(spki, record)));
    expect(told).toEqual([true, false, true, true, false]);
  });

  it('for a key, but not if nothing changed', async () => {
    const keys = new Keyring(store, token);
    const [reference, ended, unknown] = [await storedKey(store), await storedKey(store, { state: 'CONSUMED' }), '0'.repeat(40)].map(
      parseKeyReferenceId,
    );
    if (reference === undefined || ended === undefined || unknown === undefined) throw new Error('three references');
    expect([
      await isSettled(keys.operator.unlock(reference, record)),
      await isSettled(keys.operator.unlock(unknown, record)),
      await isSettled(keys.operator.remove(ended, record)),
      await isSettled(keys.operator.remove(reference, record)),
    ]).toEqual([true, false, false, true]);
  });
});
