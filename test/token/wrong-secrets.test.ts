import { once } from 'node:events';
import { createConnection } from 'node:net';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { newKeyId, type KeyId } from '../../src/token/key-id.ts';
import { KeyHeldBack, signingKinds, type Candidate, type SecretKind } from '../../src/token/token.ts';
import { FieldWriter } from '../../src/token/wire/fields.ts';
import { encodeFrame, FrameSplitter, operations, statuses, type Frame } from '../../src/token/wire/frames.ts';
import { writeVerifyProof } from '../../src/token/wire/messages.ts';
import { recordingLog } from '../support/silent-log.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';

interface Started {
  readonly scratch: ScratchToken;
  readonly token: TokenClient;
}
/** By their settings. Wrong secrets are counted for each key, so tests share a host, and have keys of their own. */
const hosts = new Map<string, Started>();

afterAll(async () => {
  for (const { token, scratch } of hosts.values()) {
    await token.stop();
    scratch.remove();
  }
});

async function started(settings: Record<string, number> = {}): Promise<Started & { readonly id: KeyId }> {
  const name = JSON.stringify(settings);
  let host = hosts.get(name);
  if (host === undefined) {
    const scratch = scratchToken({ threads: 2, ...settings });
    host = { scratch, token: new TokenClient(scratch.config, scratch.configPath, recordingLog()) };
    hosts.set(name, host);
    await host.token.start();
  }
  const id = newKeyId('caller');
  await host.token.createKey(id, 'P-256');
  return { ...host, id };
}

async function secretOf(token: TokenClient, id: KeyId, text: string, kind: SecretKind = 'PASSWORD'): Promise<Candidate> {
  const secret = Buffer.from(text);
  const scope = Buffer.alloc(32);
  return { kind, secret, scope, ...(await token.makeMac(id, kind, secret, scope)), signs: signingKinds.has(kind) };
}

const guess = (right: Candidate, text: string): Candidate => ({ ...right, secret: Buffer.from(text) });

/** Verifies a guess as who owns the daemon's process would. */
async function said(token: TokenClient, id: KeyId, ...anyOf: Candidate[]): Promise<'right' | 'wrong' | 'held back'> {
  try {
    return (await token.verifyProof(id, { anyOf })).verified ? 'right' : 'wrong';
  } catch (error) {
    if (error instanceof KeyHeldBack) return 'held back';
    throw error;
  }
}

async function wrongTimes(token: TokenClient, id: KeyId, right: Candidate, times: number): Promise<number> {
  let compared = 0;
  for (let n = 0; n < times; n += 1) if ((await said(token, id, guess(right, `guess ${n}`))) === 'wrong') compared += 1;
  return compared;
}

/** Frames to every thread at once. Answers what each thread answered. */
async function toAllThreads(scratch: ScratchToken, code: number, bodies: readonly Buffer[]): Promise<Frame[]> {
  const { threads, socketPath } = scratch.config;
  const all = await Promise.all(
    Array.from({ length: threads }, async (_, thread) => {
      const socket = createConnection(`${socketPath}.${thread}`);
      await once(socket, 'connect');
      const mine = bodies.filter((_body, index) => index % threads === thread);
      const splitter = new FrameSplitter();
      const answers: Frame[] = [];
      const { promise, resolve } = Promise.withResolvers<undefined>();
      socket.on('data', (chunk) => {
        answers.push(...splitter.push(chunk));
        if (answers.length === mine.length) resolve(undefined);
      });
      socket.write(Buffer.concat(mine.map((body, index) => encodeFrame(index + 1, code, body))));
      await promise;
      socket.destroy();
      return answers;
    }),
  );
  return all.flat();
}

describe('the count of wrong secrets that the token host keeps itself', () => {
  it('ends 301 guesses after 30, and then refuses even the right secret; other keys are served', async () => {
    const { token, id } = await started();
    const right = await secretOf(token, id, 'guess 300');
    expect(await wrongTimes(token, id, right, 301)).toBe(30);
    expect(await said(token, id, right)).toBe('held back');
    await expect(
      token.signWithProof(id, { scheme: 'ECDSA', hash: 'sha256' }, [Buffer.alloc(32)], { anyOf: [right] }),
    ).rejects.toBeInstanceOf(KeyHeldBack);
    const other = newKeyId('caller');
    expect(await said(token, other, await secretOf(token, other, 'right'))).toBe('right');
  });

  it('is not reset by right secrets, nor by secrets that the attacker made', async () => {
    const { token, id } = await started({ wrongSecretsMax: 8 });
    const right = await secretOf(token, id, 'right');
    const own = await secretOf(token, id, 'own');
    const ownOtp = await secretOf(token, id, 'own', 'OTP_SIGN');
    let compared = 0;
    for (let n = 0; n < 40; n += 1) {
      const outcome = await said(token, id, guess(right, `guess ${n}`));
      if (outcome === 'wrong') compared += 1;
      if (outcome === 'held back') break;
      await said(token, id, own);
      await said(token, id, ownOtp);
    }
    expect(compared).toBe(8);
  });

  it('survives a kill of the host and its replacement', async () => {
    const { token, id } = await started();
    const right = await secretOf(token, id, 'right');
    let compared = 0;
    for (const way of ['SIGKILL', 'SIGTERM', 'SIGKILL'] as const) {
      compared += await wrongTimes(token, id, right, 13);
      const { hostPid } = token;
      process.kill(hostPid ?? 0, way);
      await vi.waitUntil(() => token.hostPid !== undefined && token.hostPid !== hostPid && token.ready, { timeout: 20_000 });
    }
    expect(compared).toBe(30);
    expect(await said(token, id, right)).toBe('held back');
  });

  it('holds over all threads at once', async () => {
    const { scratch, token, id } = await started({ threads: 4 });
    const right = await secretOf(token, id, 'right');
    const bodies = Array.from({ length: 301 }, (_, n) => writeVerifyProof(id, { anyOf: [guess(right, `guess ${n}`)] }));
    const answers = await toAllThreads(scratch, operations.verifyProof, bodies);
    const compared = answers.filter(({ code }) => code === statuses.wrongSecret).length;
    expect(answers.filter(({ code }) => code === statuses.heldBack).length).toBe(301 - compared);
    expect(compared).toBeGreaterThanOrEqual(30);
    expect(compared).toBeLessThan(30 + 4);
    expect(await said(token, id, right)).toBe('held back');
  });

  it('allows one more after each interval', async () => {
    const { token, id } = await started({ wrongSecretsMax: 2, wrongSecretSeconds: 1 });
    const right = await secretOf(token, id, 'right');
    expect(await wrongTimes(token, id, right, 3)).toBe(2);
    await vi.waitUntil(async () => (await said(token, id, guess(right, 'another'))) === 'wrong', { timeout: 10_000, interval: 50 });
    expect(await said(token, id, right)).toBe('held back');
    await vi.waitUntil(async () => (await said(token, id, right)) === 'right', { timeout: 10_000, interval: 50 });
  });

  it('counts the candidates for one secret as one, and several of a kind as that many', async () => {
    const { token, id } = await started({ wrongSecretsMax: 8 });
    const password = await secretOf(token, id, 'password');
    const otp = await secretOf(token, id, '12345678', 'OTP_SIGN');
    // As the daemon asks: a password, or the one-time password that is open.
    for (let n = 0; n < 4; n += 1) expect(await said(token, id, guess(password, 'x'), guess(otp, 'x'))).toBe('wrong');
    for (let n = 0; n < 20; n += 1) {
      expect(await said(token, id, password, guess(otp, 'password'))).toBe('right');
      expect(await said(token, id, guess(password, '12345678'), otp)).toBe('right');
    }
    expect(await said(token, id, ...['a', 'b', 'c'].map((text) => guess(password, text)))).toBe('wrong');
    expect(await said(token, id, guess(password, 'd'))).toBe('wrong');
    expect(await said(token, id, password)).toBe('held back');
  });

  it('reveals nothing about a guess beside a right secret that it does not count', async () => {
    const { token, id } = await started({ wrongSecretsMax: 3 });
    const right = await secretOf(token, id, 'right');
    const own = await secretOf(token, id, 'own');
    const ownOtp = await secretOf(token, id, 'own', 'OTP_REVOKE');
    // Whether the guess is right or wrong, the answer names the one-time password.
    for (const text of ['wrong', 'right']) {
      expect(await token.verifyProof(id, { anyOf: [guess(right, text), ownOtp] })).toEqual({ verified: true, by: 1 });
      expect(await token.verifyProof(id, { anyOf: [own, guess(right, text)] })).toEqual({ verified: true, by: 0 });
    }
    // Here it tells, and counts.
    for (let n = 0; n < 3; n += 1)
      expect(await token.verifyProof(id, { anyOf: [guess(right, `${n}`), own] })).toEqual({ verified: true, by: 1 });
    expect(await said(token, id, own)).toBe('held back');
  });

  it('neither counts nor refuses seals, unless a secret is compared with them', async () => {
    const { token, id } = await started({ wrongSecretsMax: 3 });
    const seal = await secretOf(token, id, 'what the row says', 'RECORD');
    const changed = guess(seal, 'something else');
    const right = await secretOf(token, id, 'right');
    for (let n = 0; n < 5; n += 1) expect(await said(token, id, changed)).toBe('wrong');
    for (const text of ['x', 'z'])
      expect(await token.verifyProof(id, { anyOf: [seal], also: guess(right, text) })).toEqual({ verified: false });
    expect(await token.verifyProof(id, { anyOf: [guess(right, 'y'), seal] })).toEqual({ verified: true, by: 1 });
    expect(await said(token, id, right)).toBe('held back');
    expect(await said(token, id, seal)).toBe('right');
    expect(await said(token, id, changed)).toBe('wrong');
    await expect(token.verifyProof(id, { anyOf: [seal], also: right })).rejects.toBeInstanceOf(KeyHeldBack);
    expect(await said(token, id, seal, right)).toBe('held back');
  });

  it('counts a wrong transaction under a right secret', async () => {
    const { token, id } = await started({ wrongSecretsMax: 3 });
    const own = await secretOf(token, id, 'own');
    const transaction = await secretOf(token, id, 'T-1', 'TRANSACTION');
    for (let n = 0; n < 3; n += 1)
      expect(await token.verifyProof(id, { anyOf: [own], also: guess(transaction, `T-${n + 2}`) })).toEqual({ verified: false });
    expect(await said(token, id, own)).toBe('held back');
  });
});

describe('the MAC of a secret', () => {
  it('is always made with a salt drawn by the host, so it reveals nothing about an existing secret', async () => {
    const { scratch, token, id } = await started();
    const stored = await secretOf(token, id, 'right');
    const made = await Promise.all(Array.from({ length: 20 }, async () => secretOf(token, id, 'right')));
    expect(new Set([stored, ...made].map(({ salt }) => Buffer.from(salt).toString('hex'))).size).toBe(21);
    expect(made.some(({ mac }) => Buffer.from(mac).equals(Buffer.from(stored.mac)))).toBe(false);
    const withSalt = new FieldWriter().bytes(Buffer.from(id, 'hex')).u8(1).bytes(stored.salt).bytes(Buffer.from('right')).finish();
    const [answer] = await toAllThreads(scratch, operations.makeMac, [withSalt, withSalt]);
    expect(answer?.code).toBe(statuses.malformed);
  });
});
