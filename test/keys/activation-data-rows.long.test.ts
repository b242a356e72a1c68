import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StateConfig } from '../../src/config/state-config.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { databases } from '../state/databases.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { recordingLog } from '../support/silent-log.ts';
import { changeRows, client, clients, DataHolder, digestOf, tenant, type HeldKey } from './data-holders.ts';

const refused = { code: 'ACTIVATION_FAILED' };
const [one, two] = [digestOf(1), digestOf(2)];
const wider = JSON.stringify([one, two].map(({ id, hash, value }) => ({ id, hash, value: Buffer.from(value).toString('base64') })));

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

/** What somebody with write access does, and the client who comes afterwards. */
const changes: readonly (readonly [what: string, set: string])[] = [
  ['the number of signatures', 'signatures = 1000'],
  ['the client', `client = '${clients[1]}'`],
  ['the end of its transaction', 'ends_at = ends_at + 86400000'],
  ['its end', 'expires_at = expires_at + 1000'],
  ['the digests', `bound_digests = '${wider}'`],
  ['the digests, to any', 'bound_digests = null'],
  ['the digests, to what are none', `bound_digests = 'no list'`],
  ['its salt', 'salt = mac'],
  ['its MAC', 'mac = seal_mac'],
];

describe.each([
  ['SQLite', databases.SQLite()],
  ['PostgreSQL', databases.PostgreSQL()],
] as const)('a row of activation data that somebody changed in %s', (_name, database) => {
  let config: StateConfig;
  let holder: DataHolder;

  beforeAll(async () => {
    await database.start();
    config = await database.fresh();
    holder = new DataHolder(await openStateStore(config, recordingLog()), token);
  });

  afterAll(async () => {
    await holder.store.close();
    await database.stop();
  });

  const change = async (set: string, { reference }: HeldKey): Promise<void> =>
    changeRows(config, `update otps set ${set} where reference = '${reference}'`);

  it.each(changes)('%s: is refused, whatever it is used for, and said to the log', async (what, set) => {
    const by = what === 'the client' ? clients[1] : client;
    for (const use of ['sign', 'extend'] as const) {
      const key = await holder.newKey();
      const text = await holder.authorise(key, [one], 2);
      await change(set, key);
      const told = holder.changesTold;
      await expect(holder[use](key, text, [one], by)).rejects.toMatchObject(refused);
      expect(holder.changesTold).toBe(told + 1);
      // Whoever has the data guesses nothing.
      expect(await holder.failures(key)).toBe(0);
    }
  });

  it('from what is left after a signature to what signs: signs nothing', async () => {
    const key = await holder.newKey();
    const text = await holder.authorise(key, [one], 3);
    expect(await holder.sign(key, text, [one])).toBe(1);
    await change("action = 'SAD'", key);
    await expect(holder.sign(key, text, [one])).rejects.toMatchObject(refused);
    const first = JSON.stringify([{ ...one, value: Buffer.from(one.value).toString('base64') }]);
    await change(`bound_digests = '${first}', signatures = 3`, key);
    await expect(holder.sign(key, text, [one])).rejects.toMatchObject(refused);
    expect(holder.changesTold).toBeGreaterThan(0);
  });

  it('to the row as it was before a signature: signs nothing twice, unless all of it comes back', async () => {
    const key = await holder.newKey();
    const text = await holder.authorise(key, [one], 3);
    await changeRows(config, `create table kept as select * from otps where reference = '${key.reference}'`);
    expect(await holder.sign(key, text, [one])).toBe(1);
    await change('salt = (select salt from kept), mac = (select mac from kept)', key);
    await expect(holder.sign(key, text, [one])).rejects.toMatchObject(refused);
    await expect(holder.extend(key, text, [one])).rejects.toMatchObject(refused);
    await changeRows(config, 'drop table kept');
  });

  it('back to the whole row after a change of the password: signs nothing, and is exchanged for nothing', async () => {
    for (const use of ['sign', 'extend'] as const) {
      const key = await holder.newKey();
      const text = await holder.authorise(key, [one], 2);
      await changeRows(config, `create table kept as select * from otps where reference = '${key.reference}'`);
      const record = await holder.keys.find(tenant, key.reference);
      await holder.keys.changePassword(record, { ...key.pin, member: 'password' }, 'another password');
      await changeRows(config, 'insert into otps select * from kept');
      await changeRows(config, 'drop table kept');
      await expect(holder[use](key, text, [one])).rejects.toMatchObject(refused);
    }
  });

  it('to that of another key, or of a one-time password: is refused', async () => {
    const [key, victim] = [await holder.newKey(), await holder.newKey()];
    const text = await holder.authorise(key, [one], 2);
    await changeRows(config, `update otps set reference = '${victim.reference}' where reference = '${key.reference}'`);
    await expect(holder.sign(victim, text, [one])).rejects.toMatchObject(refused);

    const record = await holder.keys.find(tenant, victim.reference);
    const otp = await holder.keys.makeOtp(record, { action: 'SIGN', digests: [one] });
    const id = Buffer.from(text, 'base64url').toString('hex', 0, 16);
    await changeRows(config, `delete from otps where otp_id = '${id}'`);
    await change(`otp_id = '${id}', action = 'SAD', signatures = 1, client = '${client}', ends_at = expires_at`, victim);
    const guess = Buffer.concat([Buffer.from(text, 'base64url').subarray(0, 22), Buffer.from(otp?.padEnd(32, '\0') ?? '')]);
    await expect(holder.sign(victim, guess.toString('base64url'), [one])).rejects.toMatchObject(refused);
  });

  it('is not suspected where the data is wrong, or was used', async () => {
    const key = await holder.newKey();
    const text = await holder.authorise(key, [one]);
    const told = holder.changesTold;
    const guess = Buffer.from(text, 'base64url').fill(0, 22).toString('base64url');
    await expect(holder.sign(key, guess, [one])).rejects.toMatchObject(refused);
    await expect(holder.sign(key, text, [one], clients[1])).rejects.toMatchObject(refused);
    expect(await holder.sign(key, text, [one])).toBe(1);
    await expect(holder.sign(key, text, [one])).rejects.toMatchObject(refused);
    expect(holder.changesTold).toBe(told);
  });

  it('signs, however often somebody guessed before, and the key is not locked', async () => {
    const key = await holder.newKey();
    const text = await holder.authorise(key, [one]);
    const guess = Buffer.from(text, 'base64url').fill(0, 22).toString('base64url');
    for (let time = 0; time < 25; time += 1) await expect(holder.sign(key, guess, [one])).rejects.toMatchObject(refused);
    expect(await holder.failures(key)).toBe(0);
    expect(await holder.sign(key, text, [one])).toBe(1);
  });
});
