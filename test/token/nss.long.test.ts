import { execFileSync } from 'node:child_process';
import { createHash, createPublicKey, randomBytes, verify } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadTokenConfig } from '../../src/config/config.ts';
import { keyTypes } from '../../src/config/key-types.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { newKeyId } from '../../src/token/key-id.ts';
import type { Proof } from '../../src/token/token.ts';
import { compileCache } from '../support/compile-cache.ts';
import { recordingLog } from '../support/silent-log.ts';
import { skipNote } from '../support/skip-note.ts';

const modulePath = ['x86_64', 'aarch64'].map((machine) => `/usr/lib/${machine}-linux-gnu/libsoftokn3.so`).find((path) => existsSync(path));
const missing =
  modulePath !== undefined && existsSync('/usr/bin/certutil') ? undefined : 'no softokn of NSS, or no certutil (libnss3-tools)';

/**
 * NSS needs parameters at C_Initialize, refuses CKA_ALLOWED_MECHANISMS on token keys, and answers a
 * wrong MAC with CKR_DEVICE_ERROR.
 */
describe('softokn of NSS, with a profile of its habits', () => {
  let directory: string;
  let configPath: string;
  let token: TokenClient;
  const log = recordingLog();

  beforeAll(async () => {
    if (missing !== undefined || modulePath === undefined) return;
    directory = mkdtempSync(join(tmpdir(), 'signetd-nss-'));
    writeFileSync(join(directory, 'pin'), '12345678\n', { mode: 0o600 });
    execFileSync('certutil', ['-N', '-d', `sql:${directory}`, '-f', join(directory, 'pin')]);
    const profile = {
      vendor: 'NSS softokn',
      tried: true,
      source: ['this test'],
      modulePaths: [modulePath],
      libraryParameters: `configdir='sql:${directory}' certPrefix='' keyPrefix='' secmod='secmod.db' flags=`,
      privateKey: { omit: ['CKA_ALLOWED_MECHANISMS'] },
      macKey: { omit: ['CKA_ALLOWED_MECHANISMS'], comparedBy: 'host' },
    };
    writeFileSync(join(directory, 'nss.yaml'), stringify(profile));
    configPath = join(directory, 'token.yaml');
    const section = {
      profile: join(directory, 'nss.yaml'),
      ...{ label: 'NSS Certificate DB', pin: `file:${directory}/pin`, threads: 2, host: 'spawn' },
      socketPath: join(directory, 'token.sock'),
      environment: compileCache(),
    };
    writeFileSync(configPath, JSON.stringify({ token: section }));
    token = new TokenClient(loadTokenConfig(configPath), configPath, log);
    await token.start();
    await token.macKey.make();
  }, 60_000);
  afterAll(async () => {
    if (missing !== undefined) return;
    await token.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it.skipIf(missing !== undefined)(
    `makes and uses keys of every type, also after two restarts${skipNote(missing)}`,
    { timeout: 120_000 },
    async () => {
      const made = await Promise.all(
        keyTypes.map(async (type) => {
          const id = newKeyId('general');
          return { id, publicKey: createPublicKey({ key: Buffer.from(await token.createKey(id, type)), format: 'der', type: 'spki' }) };
        }),
      );
      for (let time = 0; time <= 2; time += 1) {
        for (const { id, publicKey } of made) {
          for (const hash of ['sha256', 'sha384', 'sha512'] as const) {
            const isRsa = publicKey.asymmetricKeyType === 'rsa';
            const digest = createHash(hash).update('document').digest();
            const [value] = await token.signDigests(id, { scheme: isRsa ? 'RSA_PKCS1' : 'ECDSA', hash }, [digest]);
            const key = isRsa ? publicKey : ({ key: publicKey, dsaEncoding: 'ieee-p1363' } as const);
            expect(verify(hash, Buffer.from('document'), key, value ?? Buffer.alloc(0))).toBe(true);
          }
        }
        expect((await token.listKeys()).map(({ id }) => id)).toEqual(expect.arrayContaining(made.map(({ id }) => id)));
        await token.stop();
        token = new TokenClient(loadTokenConfig(configPath), configPath, log);
        await token.start();
      }
      for (const { id } of made) await token.destroyKey(id);
      expect(await token.findKeys(made.map(({ id }) => id))).toEqual(new Set());
    },
  );

  it.skipIf(missing !== undefined)(`tells right secrets from wrong ones, again and again, with one host${skipNote(missing)}`, async () => {
    const id = newKeyId('caller');
    await token.createKey(id, 'P-256');
    const [secret, scope] = [randomBytes(20), randomBytes(32)];
    const right: Proof = { kind: 'PASSWORD', secret, scope, ...(await token.makeMac(id, 'PASSWORD', secret, scope)) };
    const { hostPid } = token;
    const ecdsa = { scheme: 'ECDSA', hash: 'sha256' } as const;
    const signed = async (proof: Proof): Promise<boolean> =>
      (await token.signWithProof(id, ecdsa, [createHash('sha256').digest()], { anyOf: [{ ...proof, signs: true }] })).verified;
    for (let time = 0; time < 10; time += 1) {
      expect(await signed(right)).toBe(true);
      expect(await signed({ ...right, secret: randomBytes(20) })).toBe(false);
      expect(await signed({ ...right, mac: randomBytes(32) })).toBe(false);
      expect((await token.verifyProof(id, { anyOf: [{ ...right, signs: false }] })).verified).toBe(true);
    }
    expect(token.hostPid).toBe(hostPid);
  });
});
