import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { keyTypes } from '../../src/config/key-types.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { missingKeyTypes, ProbeReport } from '../../src/token/wire/probe-report.ts';
import { HostRefusedError } from '../../src/token/token.ts';
import { faultModule, type FaultModule } from '../support/fault-module.ts';
import { jsonOf, signetctl } from '../support/signetctl.ts';
import { recordingLog } from '../support/silent-log.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';

let faults: FaultModule;
let scratch: ScratchToken;
/** Its host serves in all tests. */
let served: ScratchToken;
let noEcdsaNorPss: ReturnType<typeof clientWithout>;

beforeAll(async () => {
  faults = faultModule();
  scratch = scratchToken({ modulePath: faults.path });
  served = scratchToken({ modulePath: faults.path });
  noEcdsaNorPss = clientWithout([ecdsa, rsaPss], served);
  await noEcdsaNorPss.client.start();
});

afterAll(async () => {
  await noEcdsaNorPss.client.stop();
  served.remove();
  scratch.remove();
  faults.remove();
});

const [ecKeyGeneration, ecdsa, rsaPkcs, rsaPss, hmac] = ['0x1040', '0x1041', '0x1', '0xd', '0x251'] as const;

function clientWithout(mechanisms: readonly string[], { config, configPath } = scratch): { client: TokenClient; lines: string[] } {
  const log = recordingLog();
  const environment = { ...config.environment, ...faults.environment, FAULT_HIDDEN_MECHANISMS: mechanisms.join(' ') };
  return { client: new TokenClient({ ...config, environment }, configPath, log), lines: log.lines };
}

describe('the probe at the start', () => {
  it('reports what the token is and what it supports', async () => {
    const { client } = clientWithout([]);
    await client.start();
    expect(client.probe).toMatchObject({ vendor: 'SoftHSM', full: false, missing: [], limits: [], token: { label: 'test' } });
    // PKCS#11 pads them with blanks.
    const { label, manufacturer, model, serial } = client.probe?.token ?? {};
    for (const text of [label, manufacturer, model, serial]) expect(text).toMatch(/^\S(.*\S)?$/);
    expect(client.probe?.keyTypes).toEqual(keyTypes.map((type) => ({ type, state: type === 'P-256' ? 'works' : 'offered' })));
    expect(client.probe?.mechanisms.find(({ name }) => name === 'CKM_SHA256_HMAC')).toMatchObject({ offered: true, hardware: false });
    await client.stop();
  });

  it('accepts one family of keys, and reports what is missing for the other', () => {
    const { client, lines } = noEcdsaNorPss;
    const [noEcdsa, noPss] = [
      'the token cannot sign with ECDSA on a digest (CKM_ECDSA): P-256, P-384 and P-521 keys cannot be used',
      'the token cannot sign with RSASSA-PSS (CKM_RSA_PKCS_PSS): RSA keys sign with PKCS #1 v1.5 only',
    ];
    expect(client.probe?.limits).toEqual([noEcdsa, noPss]);
    for (const limit of [noEcdsa, noPss]) expect(lines.some((line) => line.includes(limit))).toBe(true);
    expect(client.probe === undefined ? [] : missingKeyTypes(client.probe, ['RSA-2048', 'P-384', 'P-384'])).toEqual(['P-384']);
  });

  it.each([
    ['HMAC-SHA256', [hmac], ['the token cannot make HMAC-SHA256 (CKM_SHA256_HMAC): passwords cannot be checked']],
    [
      'every kind of key',
      [ecKeyGeneration, rsaPkcs],
      [
        'the token cannot make elliptic-curve keys (CKM_EC_KEY_PAIR_GEN): P-256, P-384 and P-521 keys cannot be used',
        'the token cannot sign with RSA PKCS #1 v1.5 (CKM_RSA_PKCS): RSA keys cannot be used',
        'no type of key can be used with this token',
      ],
    ],
  ])('refuses a token without %s, once, with all that is missing', async (_what, hidden, messages) => {
    const { client, lines } = clientWithout(hidden);
    const refusal = await client.start().then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(refusal).toBeInstanceOf(HostRefusedError);
    expect(refusal instanceof HostRefusedError ? [refusal.exitCode, refusal.message] : []).toEqual([
      69,
      `the token "test" cannot be used: ${messages.join('; ')}`,
    ]);
    await expect(client.random(16)).rejects.toThrow('cannot be used');
    expect(client.hostPid).toBeUndefined();
    // What the host said, and that it ended.
    expect(lines.filter((line) => line.includes('cannot be used')).length).toBeLessThanOrEqual(2);
    await client.stop();
  });
});

describe('a start that is refused for the configuration', () => {
  it('ends the first start with one message; after a host has served, starts are repeated until the fault is corrected', async () => {
    const own = scratchToken();
    const pin = join(own.directory, 'pin');
    chmodSync(pin, 0o644);
    const refused = new TokenClient(own.config, own.configPath, recordingLog());
    await expect(refused.start()).rejects.toMatchObject({ name: 'HostRefusedError', exitCode: 78 });
    expect(refused.hostPid).toBeUndefined();
    await refused.stop();

    chmodSync(pin, 0o600);
    const log = recordingLog();
    const client = new TokenClient(own.config, own.configPath, log);
    await client.start();
    chmodSync(pin, 0o644);
    process.kill(client.hostPid ?? 0, 'SIGKILL');
    await vi.waitUntil(() => log.lines.some((line) => line.includes('chmod 0600')), { timeout: 10_000 });
    chmodSync(pin, 0o600);
    await vi.waitUntil(() => client.ready, { timeout: 10_000 });
    expect((await client.random(16)).length).toBe(16);
    await client.stop();
    own.remove();
  });
});

describe('the full probe', () => {
  it('makes keys of every type, and finds that SoftHSM does PSS with one hash alone', async () => {
    const own = scratchToken();
    const run = await signetctl(['--config', own.configPath, 'token', 'probe', '--full', '--json']);
    own.remove();
    expect(run.status).toBe(0);
    const report = ProbeReport.parse(jsonOf(run));
    expect(report.full).toBe(true);
    expect(report.keyTypes).toEqual(keyTypes.map((type) => ({ type, state: 'works' })));
    expect(report.limits).toEqual([
      'RSASSA-PSS works only if MGF1 uses the same hash as the digest: another hash fails with CKR_ARGUMENTS_BAD',
    ]);
  });

  it('is refused while a host serves; without --full the results of that host are returned', async () => {
    const { client } = noEcdsaNorPss;
    const full = await signetctl(['--config', served.configPath, 'token', 'probe', '--full']);
    expect(full).toMatchObject({ status: 5, stdout: '' });
    expect(full.stderr).toContain('the token host is running');
    const quick = await signetctl(['--config', served.configPath, 'token', 'probe', '--json']);
    const { token, ...report } = ProbeReport.parse(jsonOf(quick));
    expect(client.probe).toMatchObject(report);
    expect(token.label).toBe('test');
  });
});
