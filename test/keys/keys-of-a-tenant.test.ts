import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tenantId } from '../../src/clients/caller.ts';
import { parseKeyReferenceId } from '../../src/keys/key-record.ts';
import { Keyring } from '../../src/keys/keyring.ts';
import type { CreatedKey } from '../../src/keys/new-key.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { databases } from '../state/databases.ts';
import { certificateRow } from '../support/certificate-row.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { recordingLog } from '../support/silent-log.ts';

const tenant = tenantId('demo');
const keysMax = 5;
let scratch: ScratchToken;
let token: TokenClient;

beforeAll(async () => {
  scratch = scratchToken({ threads: 2 });
  token = new TokenClient(scratch.config, scratch.configPath, recordingLog());
  await token.start();
});

afterAll(async () => {
  await token.stop();
  scratch.remove();
});

describe.each([
  ['one instance on SQLite', databases.SQLite(), 1],
  ['two instances on PostgreSQL', databases.PostgreSQL(), 2],
] as const)('a tenant that may have five keys, on %s', (_name, database, instances) => {
  const stores: StateStore[] = [];

  beforeAll(async () => {
    await database.start();
    const config = await database.fresh();
    for (let instance = 0; instance < instances; instance += 1) stores.push(await openStateStore(config, recordingLog()));
  });

  afterAll(async () => {
    for (const store of stores) await store.close();
    await database.stop();
  });

  const keyrings = (): Keyring[] => stores.map((store) => new Keyring(store, token));
  const create = async (keys: Keyring | undefined, of = tenant): Promise<CreatedKey> => {
    if (keys === undefined) throw new Error('an instance');
    return keys.create({
      tenant: of,
      type: 'P-256',
      protocol: 'PASSWORD',
      subscriber: {},
      keysMax,
      issue: async () => Promise.resolve({ row: { ...certificateRow(), tenant: of } }),
    });
  };
  const onToken = async (): Promise<number> => (await token.listKeys()).filter(({ id }) => id.startsWith('43')).length;

  it('has no more, however many it asks for at once, and none too many on the token', async () => {
    const all = keyrings();
    const before = await onToken();
    const outcomes = await Promise.allSettled(Array.from({ length: 16 }, async (_, index) => create(all[index % all.length])));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(keysMax);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'ISSUANCE_REFUSED' });
    }
    expect((await onToken()) - before).toBe(keysMax);
    expect(await stores[0]?.run('journal')).toEqual([]);
    await expect(create(all[0])).rejects.toThrow('the tenant has reached its limit of 5 keys');
    expect((await onToken()) - before).toBe(keysMax);
    // Others count for themselves.
    await create(all[0], tenantId('other'));
  });

  it('may make another for one that was removed', async () => {
    const [keys] = keyrings();
    const [row] = (await stores[0]?.run('listKeys', { tenant, limit: 1 })) ?? [];
    await keys?.operator.remove(parseKeyReferenceId(row?.reference ?? ''), []);
    await create(keys);
    await expect(create(keys)).rejects.toMatchObject({ code: 'ISSUANCE_REFUSED' });
  });
});
