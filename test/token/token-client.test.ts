import { execFileSync } from 'node:child_process';
import { constants, createHash, createPublicKey, randomBytes, verify } from 'node:crypto';
import { createConnection } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyTypes, type KeyType } from '../../src/config/key-types.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { newKeyId, type KeyId } from '../../src/token/key-id.ts';
import type { SignatureAlgorithm } from '../../src/token/signature-algorithm.ts';
import { TokenUnavailable, type Proof, type Proofs, type SignOutcome } from '../../src/token/token.ts';
import { encodeFrame, FrameSplitter, operations, statuses } from '../../src/token/wire/frames.ts';
import { writeSign } from '../../src/token/wire/sign-message.ts';
import { recordingLog } from '../support/silent-log.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';

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

const digest = (hash: string): Buffer => createHash(hash).update('document').digest();

async function proofFor(id: KeyId, secret: string): Promise<Proof> {
  const [bytes, scope] = [Buffer.from(secret), randomBytes(32)];
  return { kind: 'PASSWORD', secret: bytes, scope, ...(await token.makeMac(id, 'PASSWORD', bytes, scope)) };
}

describe('keys on the token', () => {
  it.each(keyTypes.map((type) => ({ type })))(
    'makes a key of type $type that signs what OpenSSL verifies',
    async ({ type }: { type: KeyType }) => {
      const id = newKeyId('general');
      const publicKey = createPublicKey({ key: Buffer.from(await token.createKey(id, type)), format: 'der', type: 'spki' });
      const algorithms: SignatureAlgorithm[] = type.startsWith('RSA-')
        ? [
            { scheme: 'RSA_PKCS1', hash: 'sha256' },
            { scheme: 'RSA_PKCS1', hash: 'sha512' },
            { scheme: 'RSA_PSS', hash: 'sha384', mgfHash: 'sha384', saltBytes: 48 },
          ]
        : [
            { scheme: 'ECDSA', hash: 'sha256' },
            { scheme: 'ECDSA', hash: 'sha512' },
          ];
      for (const algorithm of algorithms) {
        const [value] = await token.signDigests(id, algorithm, [digest(algorithm.hash)]);
        const options =
          algorithm.scheme === 'RSA_PSS'
            ? { key: publicKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: algorithm.saltBytes }
            : algorithm.scheme === 'ECDSA'
              ? ({ key: publicKey, dsaEncoding: 'ieee-p1363' } as const)
              : publicKey;
        expect(verify(algorithm.hash, Buffer.from('document'), options, value ?? Buffer.alloc(0))).toBe(true);
      }
    },
  );

  it('makes private keys sensitive, never extractable and for signing alone, as pkcs11-tool sees them', async () => {
    await token.createKey(newKeyId('caller'), 'P-256');
    const listing = execFileSync(
      'pkcs11-tool',
      ['--module', '/usr/lib/softhsm/libsofthsm2.so', '--login', '--pin', scratch.pin, '--list-objects', '--type', 'privkey'],
      { env: { ...process.env, ...scratch.environment }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
    );
    const usages = listing.split('\n').filter((line) => line.includes('Usage:'));
    const access = listing.split('\n').filter((line) => line.includes('Access:'));
    expect(usages.length).toBeGreaterThan(0);
    for (const line of usages) expect(line.trim()).toMatch(/^Usage:\s+sign$/);
    for (const line of access) expect(line.trim()).toMatch(/^Access:\s+sensitive, always sensitive, never extractable, local$/);
  });

  it('destroys a key, and accepts its repeated destruction', async () => {
    const id = newKeyId('general');
    await token.createKey(id, 'P-256');
    expect((await token.listKeys()).map((key) => key.id)).toContain(id);
    await token.destroyKey(id);
    await token.destroyKey(id);
    expect((await token.listKeys()).map((key) => key.id)).not.toContain(id);
    await expect(token.signDigests(id, { scheme: 'ECDSA', hash: 'sha256' }, [digest('sha256')])).rejects.toThrow(TokenUnavailable);
  });

  it('lists keys page by page, each once', async () => {
    const made = Array.from({ length: 3 }, () => newKeyId('general'));
    for (const id of made) await token.createKey(id, 'P-256');
    const whole = (await token.listKeys()).map(({ id }) => id);
    expect(whole).toEqual(expect.arrayContaining(made));
    for (const pageKeys of [1, 2, whole.length]) expect((await token.listKeys(pageKeys)).map(({ id }) => id)).toEqual(whole);
    for (const id of made) await token.destroyKey(id);
  });
});

describe("a caller's key", () => {
  it('signs with the proof of its own secret and with no other', async () => {
    const [id, other] = [newKeyId('caller'), newKeyId('caller')];
    await token.createKey(id, 'P-256');
    await token.createKey(other, 'P-256');
    const algorithm = { scheme: 'ECDSA', hash: 'sha256' } as const;
    const proof = await proofFor(id, 'right');
    const only = (one: Proof): Proofs => ({ anyOf: [{ ...one, signs: true }] });
    const sign = async (proofs: Proofs): Promise<SignOutcome> => token.signWithProof(id, algorithm, [digest('sha256')], proofs);
    expect((await sign(only(proof))).verified).toBe(true);
    expect(await token.verifyProof(id, only(proof))).toEqual({ verified: true, by: 0 });
    expect(await sign(only({ ...proof, secret: Buffer.from('wrong') }))).toEqual({ verified: false });
    expect(await sign(only(await proofFor(other, 'right')))).toEqual({ verified: false });
    expect(await token.verifyProof(id, only({ ...proof, mac: proof.mac.subarray(0, 31) }))).toEqual({ verified: false });
  });

  it('signs with the candidates that may sign, and only if the additional secret is right', async () => {
    const id = newKeyId('caller');
    await token.createKey(id, 'P-256');
    const algorithm = { scheme: 'ECDSA', hash: 'sha256' } as const;
    const right = { ...(await proofFor(id, 'right')), signs: true };
    const wrong = { ...right, secret: Buffer.from('wrong') };
    const transaction = await proofFor(id, 'T-1');
    const sign = async (proofs: Proofs): Promise<SignOutcome> => token.signWithProof(id, algorithm, [digest('sha256')], proofs);
    expect(await sign({ anyOf: [wrong, right] })).toMatchObject({ verified: true, by: 1, values: [expect.any(Buffer) as Buffer] });
    expect(await sign({ anyOf: [{ ...right, signs: false }, wrong] })).toEqual({ verified: true, by: 0, values: [] });
    expect(await sign({ anyOf: [wrong, right], also: transaction })).toMatchObject({ verified: true, by: 1 });
    expect(await sign({ anyOf: [wrong, right], also: { ...transaction, secret: Buffer.from('T-2') } })).toEqual({ verified: false });
    // A MAC of one kind of secret is none of another.
    expect(await sign({ anyOf: [{ ...right, kind: 'OTP_SIGN' }] })).toEqual({ verified: false });
  });

  it('does not sign without a proof, whoever asks the host', async () => {
    const id = newKeyId('caller');
    await token.createKey(id, 'P-256');
    const body = writeSign(id, { scheme: 'ECDSA', hash: 'sha256' }, [digest('sha256')]);
    const socket = createConnection(`${scratch.config.socketPath}.0`);
    const splitter = new FrameSplitter();
    const status = await new Promise<number | undefined>((resolve) => {
      socket.on('data', (chunk) => {
        resolve(splitter.push(chunk)[0]?.code);
      });
      socket.write(encodeFrame(7, operations.sign, body));
    });
    socket.destroy();
    expect(status).toBe(statuses.forbidden);
  });
});

describe('the host', () => {
  it('is restarted after a kill, and pending requests are served', async () => {
    const id = newKeyId('general');
    await token.createKey(id, 'RSA-2048');
    const signing = Array.from({ length: 50 }, async () =>
      token.signDigests(id, { scheme: 'RSA_PKCS1', hash: 'sha256' }, [digest('sha256')]),
    );
    await delay(5);
    const { hostPid } = token;
    expect(hostPid).toBeDefined();
    process.kill(hostPid ?? 0, 'SIGKILL');
    const outcomes = await Promise.allSettled(signing);
    expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([]);
    expect(token.hostPid).not.toBe(hostPid);
  });

  it('closes the connection of a peer that sends an invalid frame, and serves the others', async () => {
    const socket = createConnection(`${scratch.config.socketPath}.0`);
    await new Promise<void>((resolve) => {
      socket.once('close', () => {
        resolve();
      });
      socket.on('error', () => undefined);
      socket.write(Buffer.alloc(64, 0xff));
    });
    expect((await token.random(16)).length).toBe(16);
  });

  it('gives up after a refused PIN, without a second attempt', async () => {
    const other = scratchToken({ pin: 'credential:pin' });
    const log = recordingLog();
    const wrong = new TokenClient(
      { ...other.config, environment: { ...other.config.environment, CREDENTIALS_DIRECTORY: other.directory } },
      other.configPath,
      log,
    );
    execFileSync('sh', ['-c', `printf 000000 > ${other.directory}/pin`]);
    await expect(wrong.start()).rejects.toThrow('refuses the PIN');
    await expect(wrong.random(16)).rejects.toThrow('refuses the PIN');
    expect(log.lines.filter((line) => line.includes('refuses the PIN')).length).toBeLessThanOrEqual(2);
    await wrong.stop();
    other.remove();
  });
});
