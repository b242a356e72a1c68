import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { newKeyId, type KeyId } from '../../src/token/key-id.ts';
import { TokenUnavailable } from '../../src/token/token.ts';
import { faultModule } from '../support/fault-module.ts';
import { recordingLog } from '../support/silent-log.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-faults-'));
let faultFile: string;
const log = recordingLog();
let scratch: ScratchToken;
let token: TokenClient;
let key: KeyId;

beforeAll(async () => {
  const faults = faultModule(directory);
  ({ faultFile } = faults);
  scratch = scratchToken({ modulePath: faults.modulePath, callTimeoutSeconds: 1 });
  const environment = { ...scratch.config.environment, ...faults.environment };
  token = new TokenClient({ ...scratch.config, environment }, scratch.configPath, log);
  await token.start();
  key = newKeyId('service');
  await token.createKey(key, 'P-256');
});

afterAll(async () => {
  await token.stop();
  scratch.remove();
  rmSync(directory, { recursive: true, force: true });
});

const digest = createHash('sha256').update('document').digest();
const sign = async (): Promise<number> => (await token.signAsService(key, { scheme: 'ECDSA', hash: 'sha256' }, [digest])).length;

describe('a token that misbehaves', () => {
  it('and hangs in one call: the host ends itself at its deadline, and every request is served by the next one', async () => {
    const hostPid = token.hostPid;
    writeFileSync(faultFile, 'hang');
    const lengths = await Promise.all(Array.from({ length: 20 }, sign));
    expect(new Set(lengths)).toEqual(new Set([1]));
    expect(token.hostPid).not.toBe(hostPid);
    expect(log.lines.some((line) => line.includes('did not return within 1000 ms'))).toBe(true);
  });

  it('and crashes: every request is served by the next host', async () => {
    writeFileSync(faultFile, 'crash');
    expect(new Set(await Promise.all(Array.from({ length: 20 }, sign)))).toEqual(new Set([1]));
  });

  it('and is slow, but not too slow: nothing is lost or repeated', async () => {
    const hostPid = token.hostPid;
    writeFileSync(faultFile, 'delay 300');
    expect(await sign()).toBe(1);
    expect(token.hostPid).toBe(hostPid);
  });

  it.each([
    ['DEVICE_ERROR', 0x30],
    ['GENERAL_ERROR', 0x05],
    ['FUNCTION_FAILED', 0x06],
    ['DEVICE_REMOVED', 0x32],
  ])('and answers CKR_%s: TokenUnavailable for that request alone, and the next one is served', async (_name, code) => {
    writeFileSync(faultFile, `error ${code}`);
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, sign));
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(refused.length).toBe(1);
    expect(refused[0]?.reason).toBeInstanceOf(TokenUnavailable);
    expect(await sign()).toBe(1);
  });

  it('and has lost a handle: the key is found once more', async () => {
    writeFileSync(faultFile, 'error 0x60');
    expect(await sign()).toBe(1);
  });

  it('and has forgotten the login: that request fails, and the next host logs in anew', async () => {
    const hostPid = token.hostPid;
    writeFileSync(faultFile, 'error 0x101');
    await expect(sign()).rejects.toThrow(TokenUnavailable);
    expect(await sign()).toBe(1);
    expect(token.hostPid).not.toBe(hostPid);
    expect(log.lines.some((line) => line.includes('has forgotten the login'))).toBe(true);
  });
});
