import { randomBytes, randomInt } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { textOf, type Body } from '../support/api.ts';
import { newCertificate, OwnService } from '../support/own-service.ts';
import { ScratchPostgresql } from '../support/postgresql.ts';
import { moveToPostgresql, startGateways } from '../support/quickstart-postgresql.ts';
import { repetitions } from '../support/repetitions.ts';
import { privateKeysOnToken } from '../support/token-listing.ts';

const kills = repetitions(6);
const timeout = Math.max(300_000, kills * 30_000);
/** Requests at once, few enough for no lock. */
const atOnce = 3;
const subject = { country: 'FR', commonName: 'Kill' };
const signAlgo = '1.2.840.10045.4.3.2';

interface Key {
  readonly reference: string;
  readonly secret: string;
  readonly client: string;
}

describe.each(['SQLite', 'PostgreSQL'] as const)('%s', (name) => {
  let service: OwnService;
  let postgresql: ScratchPostgresql | undefined;
  let database = '';

  beforeAll(async () => {
    service = await OwnService.start(async (environment) => {
      await startGateways(environment);
      if (name === 'SQLite') return;
      postgresql = await ScratchPostgresql.start();
      database = await moveToPostgresql(environment, postgresql, { settings: { abandonedStepSeconds: 5 } });
    });
  });

  afterAll(async () => {
    await service.remove();
    await postgresql?.remove();
  });

  async function query(sql: string): Promise<Record<string, unknown>[]> {
    if (postgresql !== undefined) return postgresql.query(database, sql);
    const state = new DatabaseSync(join(service.environment.directory, 'state.sqlite'), { timeout: 10_000 });
    try {
      return state.prepare(sql).all();
    } finally {
      state.close();
    }
  }

  /** Undefined where no answer came. */
  async function post(operation: string, body: object, client: string, root = '/csc/v2'): Promise<Body | undefined> {
    const text = await service.post(operation, body, client, { root }).catch(() => undefined);
    return text === undefined ? undefined : (JSON.parse(text === '' ? '{}' : text) as Body);
  }

  async function newKey(protocol: string, client = 'other', subscriber: object = {}): Promise<Key> {
    const request = newCertificate(protocol);
    const PKCS10 = { attributes: { subscriber }, subject };
    const info = { signatureActivationProtocol: protocol, PKCS10 };
    const made = await post('pki/createCertificate', { ...request, certificationRequestInfo: info }, client, '/sign');
    const { reference, password, authToken } = made?.['keyReference'] ?? {};
    expect(reference).toBeDefined();
    return { reference: textOf(reference), secret: textOf(password ?? authToken), client };
  }

  /** Activation data; undefined where none came. */
  async function authorise({ reference, secret, client }: Key, hash: string, id = 'PIN'): Promise<string | undefined> {
    const request = { credentialID: reference, numSignatures: 1, hashes: [hash], authData: [{ id, value: secret }] };
    const sad = (await post('credentials/authorize', request, client))?.['SAD'];
    return sad === undefined ? undefined : textOf(sad);
  }

  async function extend({ reference, client }: Key, SAD: string, hash: string): Promise<string | undefined> {
    const sad = (await post('credentials/extendTransaction', { credentialID: reference, SAD, hashes: [hash] }, client))?.['SAD'];
    return sad === undefined ? undefined : textOf(sad);
  }

  const sign = async ({ reference, client }: Key, SAD: string, hash: string): Promise<boolean> =>
    (await post('signatures/signHash', { credentialID: reference, SAD, hashes: [hash], signAlgo }, client))?.['signatures'] !== undefined;

  /** Asks for the same thing several times at once, and kills meanwhile. Returns what came of it before, when the service is back. */
  async function killed<T>(victim: 'daemon' | 'token host', ask: () => Promise<T>): Promise<T[]> {
    const asked = Promise.all(Array.from({ length: atOnce }, ask));
    // Each kill comes at another moment: of the reservation, the signature, its settlement, the answer.
    await delay(randomInt(1, 40));
    const { daemon } = service;
    if (victim === 'daemon') await daemon.kill();
    else daemon.killHost();
    const answers = await asked;
    if (victim === 'daemon') {
      await daemon.start();
      // Time passes for the attempts of the killed instance, which others of a shared store wait for.
      if (postgresql !== undefined) {
        await query('update keys set reserved = 0, reserved_until = null');
        await query('update otps set reserved_until = null');
      }
    } else {
      await daemon.ready();
    }
    return answers;
  }

  const newHash = (): string => randomBytes(32).toString('base64');
  const count = (answers: readonly boolean[]): number => answers.filter(Boolean).length;
  const isNotLost = async (key: Key): Promise<void> => {
    const hash = newHash();
    expect(await sign(key, (await authorise(key, hash)) ?? 'none', hash)).toBe(true);
  };

  /** One-time passwords as they arrived. */
  function otpOf(address: string): string {
    const { outboxDirectory = '' } = service.description;
    const texts = readdirSync(outboxDirectory)
      .filter((file) => file.endsWith('.json'))
      .map((file) => JSON.parse(readFileSync(join(outboxDirectory, file), 'utf8')) as Record<string, string>)
      .filter(({ to }) => to === address);
    return texts[0]?.['text']?.match(/\b\d{8}\b/)?.[0] ?? 'none';
  }

  describe.each(['daemon', 'token host'] as const)('kill -9 of the %s', (victim) => {
    it(`${kills} times while activation data signs: it signs once, and the key is there`, { timeout }, async () => {
      for (let kill = 0; kill < kills; kill += 1) {
        const [key, hash] = [await newKey('PASSWORD'), newHash()];
        const sad = (await authorise(key, hash)) ?? 'none';
        const before = count(await killed(victim, async () => sign(key, sad, hash)));
        const after = count([await sign(key, sad, hash), await sign(key, sad, hash)]);
        expect(before + after).toBeLessThanOrEqual(1);
        await isNotLost(key);
      }
    });

    it(`${kills} times while it is exchanged: the old or the new data signs, and once`, { timeout }, async () => {
      for (let kill = 0; kill < kills; kill += 1) {
        const [key, hash] = [await newKey('PASSWORD'), newHash()];
        const sad = (await authorise(key, hash)) ?? 'none';
        const [next, ...others] = (await killed(victim, async () => extend(key, sad, hash))).filter((one) => one !== undefined);
        expect(others).toEqual([]);
        if (next !== undefined) expect(await sign(key, next, hash)).toBe(true);
        const again = count([await sign(key, sad, hash), next !== undefined && (await sign(key, next, hash))]);
        expect(again).toBeLessThanOrEqual(next === undefined ? 1 : 0);
        await isNotLost(key);
      }
    });

    it(`${kills} times while a one-time password authorises: it does so once`, { timeout }, async () => {
      for (let kill = 0; kill < kills; kill += 1) {
        const address = `${randomBytes(6).toString('hex')}@example.org`;
        const [made, hash] = [await newKey('OTP', 'otp', { emailAddress: address }), newHash()];
        expect(await post('credentials/sendOTP', { credentialID: made.reference }, 'otp')).toEqual({});
        const key = { ...made, secret: otpOf(address) };
        const [sad, ...others] = (await killed(victim, async () => authorise(key, hash, 'OTP'))).filter((one) => one !== undefined);
        expect(others).toEqual([]);
        const open = await query(`select otp_id from otps where reference = '${key.reference}' and signatures is not null`);
        const again = await authorise(key, hash, 'OTP');
        // It works again only if nothing is open that it had authorised before.
        expect([sad, again].filter((one) => one !== undefined).length).toBeLessThanOrEqual(1);
        expect(open.length).toBeLessThanOrEqual(again === undefined ? 1 : 0);
        for (const one of [sad, again]) if (one !== undefined) expect(await sign(key, one, hash)).toBe(true);
      }
    });

    it(`${kills} times while a single-use key signs: it makes one signature, and is gone from the token`, { timeout }, async () => {
      for (let kill = 0; kill < kills; kill += 1) {
        const [key, hash] = [await newKey('SINGLE_USE'), newHash()];
        const [row] = await query(`select key_id from keys where reference = '${key.reference}'`);
        const sad = (await authorise(key, hash)) ?? 'none';
        const before = count(await killed(victim, async () => sign(key, sad, hash)));
        const stateNow = async (): Promise<string> =>
          textOf((await post('pki/checkKey', { keyReference: { reference: key.reference } }, key.client, '/sign'))?.['state']);
        const state = await stateNow();
        if (before > 0) expect([before, state]).toEqual([1, 'CONSUMED']);
        // Where no signature was settled, the data is as good as the key.
        if (state === 'ACTIVE') expect(await sign(key, sad, hash)).toBe(true);
        expect([await stateNow(), await sign(key, sad, hash)]).toEqual(['CONSUMED', false]);
        await expect
          .poll(() => privateKeysOnToken(service.environment.directory), { timeout: 60_000, interval: 500 })
          .not.toContain(textOf(row?.['key_id']));
      }
    });
  });
});
