import { createHash, createPublicKey, verify } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadTokenConfig } from '../../src/config/config.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { newKeyId } from '../../src/token/key-id.ts';
import { kryopticModule, noSecondToken, secondToken, type SecondToken } from '../support/second-token.ts';
import { signetctl, type CommandRun } from '../support/signetctl.ts';
import { recordingLog } from '../support/silent-log.ts';
import { skipNote } from '../support/skip-note.ts';

const algorithm = { scheme: 'ECDSA', hash: 'sha256' } as const;
const text = Buffer.from('a document');
const digest = createHash('sha256').update(text).digest();
const secret = Buffer.from('correct horse');
const scope = Buffer.alloc(32);
/** Writes down each call of a module. */
const spy = ['', 'pkcs11/'].map((place) => `/usr/lib/x86_64-linux-gnu/${place}pkcs11-spy.so`).find((path) => existsSync(path));
const noSpy = spy === undefined ? 'pkcs11-spy (Debian: opensc) is not installed' : undefined;

describe.skipIf(noSecondToken !== undefined)(`on a token that is not SoftHSM${skipNote(noSecondToken)}`, { timeout: 120_000 }, () => {
  let second: SecondToken;
  let configured: ReturnType<SecondToken['configure']>;

  beforeEach(() => {
    second = secondToken();
    configured = second.configure();
  });
  afterEach(() => {
    second.remove();
  });

  async function running<T>(use: (client: TokenClient) => Promise<T>): Promise<T> {
    const client = new TokenClient(configured.config, configured.configPath, recordingLog());
    try {
      await client.start();
      return await use(client);
    } finally {
      await client.stop();
    }
  }
  const pinFile = (): string => join(second.directory, 'pin');
  const change = async (pin: string): Promise<CommandRun> => {
    const next = join(second.directory, 'new-pin');
    writeFileSync(next, pin, { mode: 0o600 });
    return signetctl(['--config', configured.configPath, 'token', 'change-pin', '--new-pin', `file:${next}`]);
  };
  const starts = async (): Promise<string> =>
    running(async (client) => {
      await client.listKeys();
      return 'it started';
    }).catch(String);

  it('change-pin changes the PIN twice in a row, and the host logs in with the new one', async () => {
    for (const pin of ['135791357', '246802468']) {
      const changed = await change(pin);
      expect([changed.status, changed.stderr]).toEqual([0, expect.not.stringContaining('refuse')]);
      expect(readFileSync(pinFile(), 'utf8')).toBe(pin);
      expect(await starts()).toBe('it started');
    }
  });

  it('change-pin refuses a PIN that the token does not accept, and changes nothing', async () => {
    const refused = await change('12');
    expect([refused.status, refused.stderr]).toEqual([
      expect.not.stringMatching('^0$'),
      expect.stringMatching(/the token (?:accepts|does not accept)/),
    ]);
    expect(await starts()).toBe('it started');
  });

  it.each(['before', 'after'])('an interrupted change is finished by a repetition, killed %s the token had the new PIN', async (when) => {
    const present = readFileSync(pinFile(), 'utf8');
    if (when === 'after') {
      expect((await change('777123456')).status).toBe(0);
      writeFileSync(pinFile(), present, { mode: 0o600 });
      expect(await starts()).toContain('PIN');
    }
    writeFileSync(`${pinFile()}.next`, '777123456', { mode: 0o600 });
    const finished = await signetctl(['--config', configured.configPath, 'token', 'change-pin']);
    expect([finished.status, finished.stderr]).toEqual([0, expect.not.stringContaining('refuses')]);
    expect(readFileSync(pinFile(), 'utf8')).toBe('777123456');
    expect(await starts()).toBe('it started');
  });

  it.skipIf(noSpy !== undefined)(
    `a wrong PIN is presented once while it stays the same, and the right one ends that${skipNote(noSpy)}`,
    { timeout: 600_000 },
    async () => {
      const calls = join(second.directory, 'calls');
      const written = JSON.parse(readFileSync(configured.configPath, 'utf8')) as { token: { modulePath: string; environment: object } };
      written.token.modulePath = spy ?? '';
      Object.assign(written.token.environment, { PKCS11SPY: kryopticModule, PKCS11SPY_OUTPUT: calls });
      writeFileSync(configured.configPath, JSON.stringify(written));
      configured = { ...configured, config: loadTokenConfig(configured.configPath) };
      const logins = (): number => readFileSync(calls, 'utf8').split('C_Login\n').length - 1;
      const right = readFileSync(pinFile(), 'utf8');
      let presented = 0;
      for (const wrong of ['99999999', '88888888']) {
        writeFileSync(pinFile(), wrong, { mode: 0o600 });
        presented += 1;
        // Far more starts than a token allows tries.
        for (let time = 0; time < 12; time += 1) {
          expect(await starts()).toContain('PIN');
          expect(logins()).toBe(presented);
        }
        writeFileSync(pinFile(), right, { mode: 0o600 });
        presented += 1;
        expect(await starts()).toBe('it started');
        expect(logins()).toBe(presented);
      }
    },
  );

  it('MAC keys follow each other: each verifies its own, the former one is destroyed, and the host finds them after a start', async () => {
    const id = newKeyId('caller');
    const publicKey = await running(async (client) => {
      await client.macKey.make();
      return createPublicKey({ key: Buffer.from(await client.createKey(id, 'P-256')), format: 'der', type: 'spki' });
    });
    let former: { salt: Uint8Array; mac: Uint8Array } | undefined;
    for (const generation of [0, 1, 2]) {
      former = await running(async (client) => {
        const check = await client.macKey.make(generation);
        expect(await client.macKey.check(generation)).toEqual(check);
        client.expectMacKey(check, generation);
        const made = await client.makeMac(id, 'PASSWORD', secret, scope);
        for (const known of former === undefined ? [made] : [former, made]) {
          const proof = { kind: 'PASSWORD', secret, scope, signs: true, ...known } as const;
          const outcome = await client.signWithProof(id, algorithm, [digest], { anyOf: [proof] });
          const value = outcome.verified ? outcome.values[0] : undefined;
          expect(verify('sha256', text, { key: publicKey, dsaEncoding: 'ieee-p1363' }, value ?? Buffer.alloc(0))).toBe(true);
          expect(await client.verifyProof(id, { anyOf: [{ ...proof, secret: Buffer.from('wrong') }] })).toEqual({ verified: false });
        }
        if (generation > 0) await client.macKey.destroy(generation - 1, generation);
        for (const gone of generation === 0 ? [] : [generation - 1]) expect(await client.macKey.check(gone)).toBeUndefined();
        return made;
      });
    }
  });
});
