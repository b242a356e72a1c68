import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StateConfig } from '../../src/config/state-config.ts';
import type { RepositoryName } from '../../src/state/repository-functions.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { StoreUnavailable } from '../../src/state/store-unavailable.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { DyingStore } from '../idempotency/dying-store.ts';
import { databases } from '../state/databases.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { recordingLog } from '../support/silent-log.ts';
import { client, DataHolder, digestOf, tenant, type HeldKey } from './data-holders.ts';

const refused = { code: 'ACTIVATION_FAILED' };
const [one, two] = [digestOf(1), digestOf(2)];
/** The instance is lost at a commit: of the reservation before the token is asked, or of the settlement after. */
const crashes = (['reserveUse', 'settleUse'] as const).flatMap((commit) =>
  (['before', 'after'] as const).map((moment) => [moment, commit] as const),
);
type Crash = (typeof crashes)[number];
/** Whether what the instance did is in the store. */
const isDone = ([moment, commit]: Crash): boolean => moment === 'after' && commit === 'settleUse';

let scratch: ScratchToken;
let token: TokenClient;

beforeAll(async () => {
  scratch = scratchToken();
  token = new TokenClient(scratch.config, scratch.configPath, recordingLog());
  await token.start();
});

afterAll(async () => {
  await token.stop();
  scratch.remove();
});

describe.each([
  ['SQLite', databases.SQLite()],
  ['PostgreSQL', databases.PostgreSQL()],
] as const)('an instance that is lost in %s', (_name, database) => {
  let config: StateConfig;
  let store: StateStore;
  let holder: DataHolder;

  beforeAll(async () => {
    await database.start();
    config = await database.fresh();
    store = await openStateStore(config, recordingLog());
    holder = new DataHolder(store, token);
  });

  afterAll(async () => {
    await store.close();
    await database.stop();
  });

  /** What an instance asks for that dies at this commit, and then the service after its restart, which has forgotten all. */
  async function lost(crash: Crash, work: (dying: DataHolder) => Promise<unknown>): Promise<DataHolder> {
    const [moment, commit] = crash;
    await expect(work(new DataHolder(new DyingStore(store, commit satisfies RepositoryName, moment), token))).rejects.toThrow(
      StoreUnavailable,
    );
    await store.run('endReservations');
    return new DataHolder(store, token);
  }

  const openData = async ({ reference }: HeldKey): Promise<number> => store.run('countOpenData', { reference, client, now: store.now() });
  const isUsable = async (key: HeldKey, at: DataHolder): Promise<void> => {
    expect(await at.failures(key)).toBe(0);
    expect(await at.sign(key, await at.authorise(key, [two]), [two])).toBe(1);
  };

  describe.each(crashes)('%s the commit %s', (...crash) => {
    it('of a signature: the data is used up, or good as it was', async () => {
      const key = await holder.newKey();
      const text = await holder.authorise(key, [one], 3);
      const next = await lost(crash, async (dying) => dying.sign(key, text, [one]));
      if (isDone(crash)) await expect(next.sign(key, text, [one])).rejects.toMatchObject(refused);
      else expect(await next.sign(key, text, [one])).toBe(1);
      // Either way one signature was made of three.
      await expect(next.sign(key, text, [one])).rejects.toMatchObject(refused);
      expect(await next.keys.verifySecret(await next.keys.find(tenant, key.reference), key.pin)).toBe(true);
      const extended = await next.extend(key, text, [one, two]);
      expect(await next.sign(key, extended.text, [one, two])).toBe(2);
      await isUsable(key, next);
    });

    it('of an exchange: the old data is good, or new data is open that nobody has', async () => {
      const key = await holder.newKey();
      const text = await holder.authorise(key, [one], 2);
      const next = await lost(crash, async (dying) => dying.extend(key, text, [two]));
      expect(await openData(key)).toBe(1);
      if (isDone(crash)) {
        await expect(next.sign(key, text, [one])).rejects.toMatchObject(refused);
        await expect(next.extend(key, text, [one])).rejects.toMatchObject(refused);
        expect(await next.keys.verifySecret(await next.keys.find(tenant, key.reference), key.pin)).toBe(true);
      } else {
        expect(await next.sign(key, text, [one])).toBe(1);
      }
      await isUsable(key, next);
    });

    it('of an authorisation with a one-time password: this is used up, or nothing is open', async () => {
      const key = await holder.newKey('OTP');
      const otp = await holder.keys.makeOtp(await holder.keys.find(tenant, key.reference), { action: 'AUTHORISE', digests: [] });
      const given: HeldKey = { reference: key.reference, pin: { member: 'otp', bytes: Buffer.from(otp ?? ''), transactionId: undefined } };
      const next = await lost(crash, async (dying) => dying.authorise(given, [one]));
      expect(await openData(key)).toBe(isDone(crash) ? 1 : 0);
      if (isDone(crash)) await expect(next.authorise(given, [one])).rejects.toMatchObject(refused);
      else expect(await next.sign(key, await next.authorise(given, [one]), [one])).toBe(1);
      await expect(next.authorise(given, [one])).rejects.toMatchObject(refused);
    });

    it('of the signature of a single-use key: the key is consumed, or signs once more', async () => {
      const key = await holder.newKey('SINGLE_USE');
      const text = await holder.authorise(key, [one]);
      const next = await lost(crash, async (dying) => dying.sign(key, text, [one]));
      expect((await store.run('findKey', key.reference))?.state).toBe(isDone(crash) ? 'CONSUMED' : 'ACTIVE');
      if (!isDone(crash)) expect(await next.sign(key, text, [one])).toBe(1);
      await expect(next.sign(key, text, [one])).rejects.toMatchObject({ code: 'KEY_STATE' });
      await expect(next.authorise(key, [one])).rejects.toMatchObject({ code: 'KEY_STATE' });
    });
  });
});
