import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { activationDataLife } from '../../src/keys/activation-data.ts';
import type { StateConfig } from '../../src/config/state-config.ts';
import { Refusal, resultCodes } from '../../src/result-codes.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { databases } from '../state/databases.ts';
import { repetitions } from '../support/repetitions.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { recordingLog } from '../support/silent-log.ts';
import { changeRows, client, clients, DataHolder, digestOf, tenant, type HeldKey } from './data-holders.ts';

const wrong = { code: 'ACTIVATION_FAILED', at: '/SAD' };
const refused = { code: 'ACTIVATION_FAILED' };
const notAuthorised = { code: 'DIGEST_NOT_AUTHORISED', text: resultCodes.DIGEST_NOT_AUTHORISED.text };
const tooMany = { code: 'DIGEST_NOT_AUTHORISED', text: 'more signatures than the activation data authorises' };
const [one, two, three] = [digestOf(1), digestOf(2), digestOf(3)];

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

/** What the owner of activation data knows of it. */
interface Known {
  readonly text: string;
  readonly client: string;
  readonly digests: readonly number[];
  left: number;
  state: 'open' | 'signed' | 'gone';
}

/** Few different ones, so that much of what is asked for was authorised. */
const numbers = fc.array(fc.constantFrom(0, 0, 0, 1), { minLength: 1, maxLength: 3 });
const event = fc.oneof(
  fc.record({ kind: fc.constant('authorise' as const), client: fc.nat(1), digests: numbers, more: fc.nat(2) }),
  ...(['sign', 'extend'] as const).map((kind) =>
    fc.record({ kind: fc.constant(kind), data: fc.nat(3), client: fc.nat(1), own: fc.boolean(), digests: numbers, instance: fc.nat(1) }),
  ),
);

describe.each([
  ['SQLite', databases.SQLite()],
  ['PostgreSQL', databases.PostgreSQL()],
] as const)('activation data in %s', (name, database) => {
  let config: StateConfig;
  let instances: [DataHolder, DataHolder];
  let holder: DataHolder;

  beforeAll(async () => {
    await database.start();
    config = await database.fresh();
    holder = new DataHolder(await openStateStore(config, recordingLog()), token);
    // An embedded store is that of one instance.
    const other = name === 'SQLite' ? holder : new DataHolder(await openStateStore(config, recordingLog()), token);
    instances = [holder, other];
  });

  afterAll(async () => {
    for (const { store } of new Set(instances)) await store.close();
    await database.stop();
  });

  it('signs what was authorised, once, and never more, whatever its clients do in which order', async () => {
    let signed = 0;
    const property = fc.asyncProperty(fc.array(event, { minLength: 12, maxLength: 24 }), async (events) => {
      const key = await holder.newKey();
      const all: Known[] = [];
      let authorised = 0;
      let made = 0;
      for (const asked of events) {
        if (asked.kind === 'authorise') {
          const by = clients[asked.client] ?? client;
          const left = asked.digests.length + asked.more;
          all.push({
            ...{ text: await holder.authorise(key, asked.digests.map(digestOf), left, by), client: by },
            ...{ digests: asked.digests, left, state: 'open' },
          });
          authorised += left;
          continue;
        }
        const data = all[asked.data % Math.max(all.length, 1)];
        if (data === undefined) continue;
        const by = asked.own ? data.client : (clients[asked.client] ?? client);
        const at = instances[asked.instance] ?? holder;
        const digests = asked.digests.map(digestOf);
        const isOpen = by === data.client && (data.state === 'open' || (asked.kind === 'extend' && data.state === 'signed'));
        const fits = asked.digests.length <= data.left;
        const isAllowed = fits && (asked.kind === 'extend' || asked.digests.every((digest) => data.digests.includes(digest)));
        const done = asked.kind === 'sign' ? at.sign(key, data.text, digests, by) : at.extend(key, data.text, digests, by);
        if (!isOpen) {
          await expect(done).rejects.toMatchObject(refused);
          expect(await at.failures(key)).toBe(0);
          continue;
        }
        if (!isAllowed) {
          await expect(done).rejects.toMatchObject(fits ? notAuthorised : tooMany);
          data.state = 'gone';
          continue;
        }
        const result = await done;
        if (typeof result === 'number') {
          expect(result).toBe(asked.digests.length);
          made += result;
          data.left -= result;
          data.state = data.left > 0 ? 'signed' : 'gone';
        } else {
          data.state = 'gone';
          all.push({ text: result.text, client: data.client, digests: asked.digests, left: data.left, state: 'open' });
        }
      }
      expect(made).toBeLessThanOrEqual(authorised);
      signed += made;
    });
    await fc.assert(property, { numRuns: repetitions(60, 16) });
    expect(signed).toBeGreaterThan(10);
  });

  it('that many signatures come with at once makes one', async () => {
    const key = await holder.newKey();
    const text = await holder.authorise(key, [one, two], 5);
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, async (_, index) => (instances[index % 2] ?? holder).sign(key, text, [one, two])),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const result of results) if (result.status === 'rejected') expect(result.reason).toMatchObject(refused);
    expect(await holder.failures(key)).toBe(0);
  });

  it('that is exchanged many times at once gives one, and that is good for what was left', async () => {
    const key = await holder.newKey();
    const text = await holder.authorise(key, [one], 3);
    expect(await holder.sign(key, text, [one])).toBe(1);
    const results = await Promise.allSettled(
      Array.from({ length: 4 }, async (_, index) => (instances[index % 2] ?? holder).extend(key, text, [two])),
    );
    const [extended, ...others] = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.text] : []));
    expect(others).toEqual([]);
    expect(await holder.sign(key, extended ?? '', [two, two])).toBe(2);
  });

  it('is signed with or exchanged, not both, where both are asked for at once', async () => {
    for (let round = 0; round < repetitions(40, 6); round += 1) {
      const key = await holder.newKey();
      const text = await holder.authorise(key, [one], 2);
      const [signed, extended] = await Promise.allSettled([
        instances[0].sign(key, text, [one, one]),
        instances[1].extend(key, text, [two]),
      ]);
      expect([signed, extended].filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    }
  });

  it('ends in five minutes, and all that it is exchanged for in thirty', async () => {
    const key = await holder.newKey();
    const { store } = holder;
    try {
      const text = await holder.authorise(key, [one], 9);
      store.laterMs = activationDataLife.validMs + 1000;
      await expect(holder.sign(key, text, [one])).rejects.toMatchObject({ ...wrong, text: 'the activation data has expired' });
      await expect(holder.extend(key, text, [one])).rejects.toMatchObject(wrong);
      expect(await holder.failures(key)).toBe(0);
      let next = await holder.authorise(key, [one], 9);
      const [begin, fourMinutes] = [store.now(), 240_000];
      const end = begin + activationDataLife.transactionMs;
      for (let time = begin; time + fourMinutes < end; time += fourMinutes) {
        store.laterMs += fourMinutes;
        const { text: extended, expiresAt } = await holder.extend(key, next, [two]);
        expect(expiresAt).toBeLessThanOrEqual(end);
        next = extended;
      }
      store.laterMs += fourMinutes;
      await expect(holder.extend(key, next, [two])).rejects.toMatchObject({ ...wrong, text: 'the activation data has expired' });
    } finally {
      store.laterMs = 0;
    }
  });

  it('is neither opened nor used once the certificate has expired', async () => {
    const key = await holder.newKey();
    const text = await holder.authorise(key, [one]);
    try {
      holder.store.laterMs = 3 * 86_400_000;
      const expired = { code: 'KEY_STATE', text: 'the certificate of the key has expired' };
      await expect(holder.authorise(key, [one])).rejects.toMatchObject(expired);
      const bytes = Buffer.from(text, 'base64url');
      bytes.writeUIntBE(holder.store.now() + 1000, 16, 6);
      await expect(holder.sign(key, bytes.toString('base64url'), [one])).rejects.toMatchObject(expired);
      await expect(holder.extend(key, bytes.toString('base64url'), [one])).rejects.toMatchObject(expired);
    } finally {
      holder.store.laterMs = 0;
    }
  });

  it('ends with the password that opened it', async () => {
    const key = await holder.newKey();
    const texts = [
      await holder.authorise(key, [one], 2),
      await holder.authorise(key, [one], 2),
      await holder.authorise(key, [one], 2),
    ] as const;
    expect(await holder.sign(key, texts[0], [one])).toBe(1);
    const record = await holder.keys.find(tenant, key.reference);
    await holder.keys.changePassword(record, { ...key.pin, member: 'password' }, 'another password');
    await expect(holder.extend(key, texts[0], [one])).rejects.toMatchObject(refused);
    await expect(holder.sign(key, texts[1], [one])).rejects.toMatchObject(refused);
    await expect(holder.extend(key, texts[2], [one])).rejects.toMatchObject(refused);
  });

  it('of a single-use key leads to its one signature, with the digests of one authorisation', async () => {
    const key = await holder.newKey('SINGLE_USE');
    const [first, second] = [await holder.authorise(key, [one, two], 4), await holder.authorise(key, [three])];
    const extended = await holder.extend(key, second, [two]);
    const results = await Promise.allSettled([
      instances[0].sign(key, first, [one, two]),
      instances[1].sign(key, extended.text, [two]),
      instances[1].sign(key, first, [one]),
    ]);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect((await holder.store.run('findKey', key.reference))?.state).toBe('CONSUMED');
    for (const text of [first, extended.text]) {
      await expect(holder.sign(key, text, [two])).rejects.toMatchObject({ code: 'KEY_STATE' });
      await expect(holder.extend(key, text, [two])).rejects.toMatchObject({ code: 'KEY_STATE' });
    }
  });

  it('of one key is at most a thousand at a time', async () => {
    const key: HeldKey = await holder.newKey();
    const text = await holder.authorise(key, [one]);
    const columns = 'salt, mac, seal_salt, seal_mac, bound_digests, attempts_left, expires_at, signatures, client, ends_at';
    await changeRows(
      config,
      `insert into otps (reference, action, otp_id, ${columns})
       with recursive n(i) as (select 1 union all select i + 1 from n where i < 999)
       select reference, action, otp_id || '-' || i, ${columns} from otps, n where reference = '${key.reference}'`,
    );
    await expect(holder.authorise(key, [one])).rejects.toMatchObject({ code: 'STORE_FULL' });
    expect(await holder.sign(key, text, [one])).toBe(1);
    expect(await holder.sign(key, await holder.authorise(key, [two]), [two])).toBe(1);
  });

  it('is read from any text without a fault', () => {
    const octets = fc.uint8Array({ minLength: 54, maxLength: 54 }).map((bytes) => Buffer.from(bytes).toString('base64url'));
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.base64String(), octets), (text) => {
        try {
          const { bytes, data } = holder.keys.activationData.given(text, client);
          expect(Buffer.concat([Buffer.from(data?.otpId ?? '', 'hex'), bytes])).toHaveLength(48);
          expect(data?.client).toBe(client);
        } catch (error) {
          expect(error).toBeInstanceOf(Refusal);
          expect(error).toMatchObject(wrong);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
