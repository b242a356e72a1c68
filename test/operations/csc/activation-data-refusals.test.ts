import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { call, codeOf, textOf, type ClientName } from '../../support/api.ts';
import { expireOtps, queryState } from '../../support/quickstart-state.ts';
import {
  attemptsLeft,
  authorised,
  authorizeRequest,
  csc,
  extendRequest,
  invalid,
  newCredential,
  newHash,
  oids,
  refusalOf,
  sha256Of,
  signDocRequest,
  signHashRequest,
  versions,
} from './csc-caller.ts';

const client = 'other';
const wrongSad = invalid('Invalid parameter SAD');
const expired = invalid('SAD expired');
const notAuthorised = invalid('Hash is not authorized by the SAD');
const tooMany = invalid('Numbers of signatures is too high');

/** Where the time is in the text of activation data, between its identifier and its secret. */
const [timeAt, timeBytes] = [16, 6];
const textWithTime = (sad: string, time: number): string => {
  const bytes = Buffer.from(sad, 'base64url');
  bytes.writeUIntBE(time, timeAt, timeBytes);
  return bytes.toString('base64url');
};

const ways = ['signHash of v1', 'signHash of v2', 'extendTransaction of v1', 'extendTransaction of v2', 'signDoc of v2'] as const;
type Way = (typeof ways)[number];
const text = 'x';
/** What is authorised before; of `signDoc` the document's own. */
const hashes = [sha256Of(text)];

/** Uses activation data for what it was authorised for. */
async function used(way: Way, id: string, SAD: string, of: ClientName = client, changes: object = {}): Promise<string> {
  const version = way.endsWith('v1') ? 'v1' : 'v2';
  if (way.startsWith('signDoc'))
    return refusalOf(await csc(of, 'v2', 'signatures/signDoc', { ...signDocRequest(id, SAD, [text]), ...changes }));
  if (way.startsWith('signHash')) {
    return refusalOf(await csc(of, version, 'signatures/signHash', signHashRequest(version, id, SAD, hashes, changes)));
  }
  return refusalOf(await csc(of, version, 'credentials/extendTransaction', { ...extendRequest(version, id, SAD, hashes), ...changes }));
}

describe.each(ways)('activation data in %s', (way) => {
  it('is refused alike whatever is wrong with it, and counts for nothing of the key', async () => {
    const key = await newCredential(client);
    const sad = await authorised(client, key.id, key, { hashes });
    const bytes = Buffer.from(sad, 'base64url');
    const flipped = (at: number): string => {
      const copy = Buffer.from(bytes);
      copy[at] = (copy[at] ?? 0) ^ 1;
      return copy.toString('base64url');
    };
    const later = textWithTime(sad, bytes.readUIntBE(timeAt, timeBytes) + 1000);
    const other = await newCredential(client);
    const ofOther = await authorised(client, other.id, other, { hashes });
    const last = bytes.length - 1;
    for (const wrong of [flipped(last), flipped(0), ofOther]) {
      expect([wrong, await used(way, key.id, wrong)]).toEqual([wrong, wrongSad]);
    }
    expect(await attemptsLeft(client, key.id)).toBe(5);
    // The time is only what the text says: the row has its own.
    if (!way.startsWith('extend')) expect(await used(way, key.id, later)).toBe('200');
    expect(await used(way, other.id, ofOther)).toBe('200');
  });

  it('that is malformed is refused, and counts for nothing', async () => {
    const key = await newCredential(client);
    const sad = await authorised(client, key.id, key, { hashes });
    const malformed = ['', 'x', sad.slice(1), `${sad}A`, `${sad}==`, ` ${sad}`, sad.slice(0, -1).concat('+'), '\u00e9'.repeat(72)];
    for (const wrong of malformed) expect([wrong, await used(way, key.id, wrong)]).toEqual([wrong, wrongSad]);
    expect(await attemptsLeft(client, key.id)).toBe(5);
    expect(await used(way, key.id, sad)).toBe('200');
  });

  it('that has expired is refused, and counts for nothing', async () => {
    const key = await newCredential(client);
    const sad = await authorised(client, key.id, key, { hashes });
    for (const time of [0, Date.now() - 1]) expect(await used(way, key.id, textWithTime(sad, time))).toBe(expired);
    expect(await attemptsLeft(client, key.id)).toBe(5);
    // A text that promises more time than the row has gains nothing.
    expireOtps(key.id);
    expect(await used(way, key.id, sad)).toBe(wrongSad);
  });

  it('works once', async () => {
    const key = await newCredential(client);
    const sad = await authorised(client, key.id, key, { hashes });
    expect(await used(way, key.id, sad)).toBe('200');
    expect(await used(way, key.id, sad)).toBe(wrongSad);
  });

  it('works for its client alone, even where another one has the same keys', async () => {
    const key = await newCredential('app');
    const sad = await authorised('app', key.id, key, { hashes });
    const rsa = way.startsWith('extend')
      ? {}
      : way.startsWith('signHash')
        ? { signAlgo: oids.rsaSha256 }
        : signDocRequest(key.id, sad, [text], { signAlgo: oids.rsaSha256 });
    expect(await used(way, key.id, sad, 'signer', rsa)).toBe(wrongSad);
    expect(await attemptsLeft('app', key.id)).toBe(5);
    expect(await used(way, key.id, sad, 'app', rsa)).toBe('200');
  });

  it('ends when the password is changed', async () => {
    const key = await newCredential(client);
    const sad = await authorised(client, key.id, key, { hashes });
    const keyReference = { reference: key.id, password: key.pin };
    expect(codeOf(await call(client, 'pki/changePassword', { keyReference, password: 'another password' }))).toBe('0/0');
    expect(await used(way, key.id, sad)).toBe(wrongSad);
    expect(queryState('select otp_id from otps where reference = ?', key.id)).toEqual([]);
  });

  it('locks no key, however often wrong data is given, used data is repeated, or one is used at once', async () => {
    const key = await newCredential(client);
    const sad = await authorised(client, key.id, key, { hashes });
    const guess = (): string => {
      const bytes = Buffer.from(sad, 'base64url');
      randomBytes(32).copy(bytes, timeAt + timeBytes);
      return bytes.toString('base64url');
    };
    for (let time = 0; time < 25; time += 1) expect(await used(way, key.id, guess())).toBe(wrongSad);
    const told = await Promise.all(Array.from({ length: 20 }, async () => used(way, key.id, sad)));
    expect([told.filter((answer) => answer === '200').length, told.filter((answer) => answer === wrongSad).length]).toEqual([1, 19]);
    for (let time = 0; time < 6; time += 1) expect(await used(way, key.id, sad)).toBe(wrongSad);
    expect(await attemptsLeft(client, key.id)).toBe(5);
  });
});

describe.each(versions)('activation data in %s', (version) => {
  const sign = async (id: string, sad: string, of: readonly string[], more: object = {}): Promise<string> =>
    refusalOf(await csc(client, version, 'signatures/signHash', signHashRequest(version, id, sad, of, more)));

  it.each([
    ['another hash', [newHash()], {}, notAuthorised],
    ['another hash beside its own', [hashes[0] ?? '', newHash()], {}, notAuthorised],
    ['one of its hashes more often than it authorises', [hashes[0], hashes[0], hashes[0]], {}, tooMany],
    ['an algorithm of another type of key', hashes, { signAlgo: oids.rsaSha256 }, /^400 invalid_request: Invalid parameter signAlgo/],
  ])('for %s is refused', async (_what, asked, more, expected) => {
    const key = await newCredential(client);
    const sad = await authorised(client, key.id, key, { hashes, numSignatures: 2 });
    const signed = await sign(key.id, sad, asked.map(String), more);
    if (typeof expected === 'string') expect(signed).toBe(expected);
    else expect(signed).toMatch(expected);
    expect(await attemptsLeft(client, key.id)).toBe(5);
    // It is used up once it was found right, and only then.
    expect(await sign(key.id, sad, hashes)).toBe(typeof expected === 'string' ? wrongSad : '200');
  });

  it('is exchanged for the signatures that are left, and for no more', async () => {
    const key = await newCredential(client);
    const extend = async (sad: string, next: readonly string[]): Promise<{ told: string; sad: string }> => {
      const answer = await csc(client, version, 'credentials/extendTransaction', extendRequest(version, key.id, sad, next));
      return { told: refusalOf(answer), sad: textOf(answer.body['SAD']) };
    };
    const first = await authorised(client, key.id, key, { hashes, numSignatures: 3 });
    expect(await sign(key.id, first, hashes)).toBe('200');
    expect(await sign(key.id, first, hashes)).toBe(wrongSad);
    const next = [newHash(), newHash()];
    const { told, sad } = await extend(first, next);
    expect(told).toBe('200');
    expect(await sign(key.id, sad, hashes)).toBe(notAuthorised);

    const again = await authorised(client, key.id, key, { hashes, numSignatures: 3 });
    expect(await sign(key.id, again, hashes)).toBe('200');
    expect((await extend(again, [...next, newHash()])).told).toBe(tooMany);
    expect((await extend(again, next)).told).toBe(wrongSad);
  });

  it('with none left is not exchanged', async () => {
    const key = await newCredential(client);
    const sad = await authorised(client, key.id, key, { hashes });
    expect(await sign(key.id, sad, hashes)).toBe('200');
    const extended = await csc(client, version, 'credentials/extendTransaction', extendRequest(version, key.id, sad, hashes));
    expect(refusalOf(extended)).toBe(wrongSad);
  });

  it('is said to end within five minutes', async () => {
    const key = await newCredential(client);
    const { body } = await csc(client, version, 'credentials/authorize', authorizeRequest(version, key.id, key));
    const seconds = Number(textOf(body['expiresIn']));
    expect([seconds > 200, seconds <= 300]).toEqual([true, true]);
  });
});
