import { createHash, createPublicKey, verify } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { newKeyId } from '../../src/token/key-id.ts';
import { recordingLog } from '../support/silent-log.ts';
import { noTracing, skipNote } from '../support/skip-note.ts';
import { scratchToken } from '../support/scratch-token.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-isolation-'));
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** Whether a caller's key signs with its secret, by the native function as well, which each thread uses from its second request on. */
async function signsWithProof(token: TokenClient): Promise<boolean> {
  const id = newKeyId('caller');
  const [secret, scope] = [Buffer.from('secret'), Buffer.alloc(32)];
  await token.createKey(id, 'P-256');
  const proof = { kind: 'PASSWORD', secret, scope, ...(await token.makeMac(id, 'PASSWORD', secret, scope)) } as const;
  const digest = createHash('sha256').update('document').digest();
  const sign = async (given: typeof proof) =>
    token.signWithProof(id, { scheme: 'ECDSA', hash: 'sha256' }, [digest], { anyOf: [{ ...given, signs: true }] });
  const outcomes = await Promise.all(Array.from({ length: 10 }, async () => sign(proof)));
  const wrong = await sign({ ...proof, secret: Buffer.from('wrong') });
  return outcomes.every((outcome) => outcome.verified && outcome.values.length === 1) && !wrong.verified;
}

/** Creates a key and signs with it; answers where the loader found the OpenSSL functions that SoftHSM calls, and the host's libraries. */
async function useToken(isolateModule: boolean): Promise<{ verified: boolean; boundTo: Set<string>; maps: string }> {
  const scratch = scratchToken({ threads: 2, isolateModule });
  const trace = join(directory, `trace-${isolateModule}`);
  const environment = { ...scratch.config.environment, LD_DEBUG: 'bindings', LD_DEBUG_OUTPUT: trace };
  const token = new TokenClient({ ...scratch.config, environment }, scratch.configPath, recordingLog());
  await token.start();
  const id = newKeyId('general');
  const publicKey = createPublicKey({ key: Buffer.from(await token.createKey(id, 'P-256')), format: 'der', type: 'spki' });
  const [value] = await token.signDigests(id, { scheme: 'ECDSA', hash: 'sha256' }, [createHash('sha256').update('document').digest()]);
  const isRight = verify('sha256', Buffer.from('document'), { key: publicKey, dsaEncoding: 'ieee-p1363' }, value ?? Buffer.alloc(0));
  const verified = isRight && (await signsWithProof(token));
  const maps = readFileSync(`/proc/${token.hostPid ?? 0}/maps`, 'utf8');
  await token.stop();
  scratch.remove();
  const traces = readdirSync(directory).filter((name) => name.startsWith(`trace-${isolateModule}`));
  const bindings = traces.flatMap((name) => readFileSync(join(directory, name), 'utf8').split('\n'));
  const boundTo = new Set(
    bindings.flatMap((line) => {
      const [, target] = /binding file \S*libsofthsm2\.so \[0\] to (\S+) \[0\]: normal symbol `(?:EVP|EC|ECDSA|RSA|BN)_/.exec(line) ?? [];
      return target === undefined ? [] : [target.replace(/^.*\/(?=libcrypto)/, '')];
    }),
  );
  return { verified, boundTo, maps };
}

describe.skipIf(noTracing !== undefined)(`a module that is bound to its own libraries${skipNote(noTracing)}`, () => {
  it('without isolation calls the OpenSSL inside Node', async () => {
    const { verified, boundTo, maps } = await useToken(false);
    expect(verified).toBe(true);
    expect([...boundTo].every((target) => target.endsWith('/node'))).toBe(true);
    expect(boundTo.size).toBe(1);
    expect(maps).not.toContain('isolate-module.so');
  });

  it('with isolation calls the libcrypto of the system, and makes keys and signs as before', async () => {
    const { verified, boundTo, maps } = await useToken(true);
    expect(verified).toBe(true);
    expect([...boundTo]).toEqual(['libcrypto.so.3']);
    expect(maps).toContain('isolate-module.so');
    expect(maps).toMatch(/r-xp .*\/libcrypto\.so\.3/);
  });
});
