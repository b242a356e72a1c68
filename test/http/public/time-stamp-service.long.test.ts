import { createHash, randomBytes, X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { reload as reloadOf } from '../../../src/cli/status.ts';
import { pathCertificate } from '../../../src/x509/path/path-certificate.ts';
import { checkToken, type CheckedToken } from '../../../src/timestamp/check-token.ts';
import { timeStampRequest, type MessageImprint } from '../../../src/timestamp/request.ts';
import { readTimeStampResponse } from '../../../src/timestamp/response.ts';
import { Load } from '../../support/load.ts';
import { openssl } from '../../support/openssl.ts';
import { OwnService } from '../../support/own-service.ts';
import { repetitions } from '../../support/repetitions.ts';
import { signetctl, type CommandRun } from '../../support/signetctl.ts';

interface Settings {
  timeStampAuthority?: Record<string, unknown>;
  readonly listeners: { readonly public: Record<string, unknown> & { readonly port: number } };
}

let service: OwnService;
let original: string;
let publicUrl: string;
let root: string;
const agent = new Agent({ keepAlive: true, maxSockets: 16 });

beforeAll(async () => {
  service = await OwnService.start();
  original = readFileSync(service.description.configFile, 'utf8');
  publicUrl = `http://127.0.0.1:${(parse(original) as Settings).listeners.public.port}`;
  root = service.description.trustAnchors[0] ?? '';
}, 120_000);
afterAll(async () => {
  agent.destroy();
  await service.remove();
});

function configure(edit: (settings: Settings) => void): void {
  const settings = parse(original) as Settings;
  edit(settings);
  writeFileSync(service.description.configFile, stringify(settings));
}

const changeAuthority = (changes: Record<string, unknown>): void => {
  configure((settings) => {
    settings.timeStampAuthority = { ...settings.timeStampAuthority, ...changes };
  });
};
const control = async (...args: string[]): Promise<CommandRun> => signetctl(['--config', service.description.configFile, ...args]);
/** As `signetctl reload`, without a process for it. */
const reload = async (): Promise<void> => {
  expect(await reloadOf(service.description.configFile)).toMatchObject({
    text: expect.stringContaining('Configuration reloaded') as unknown,
  });
};

interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: Buffer;
}

async function post(body: Uint8Array, by = agent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/timestamp-query' };
    const sent = request(`${publicUrl}/tsa`, { agent: by, method: 'POST', headers }, (response) => {
      buffer(response).then((bytes) => {
        resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'], body: bytes });
      }, reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const newImprint = (): MessageImprint => ({ hash: 'sha256', value: createHash('sha256').update(randomBytes(8)).digest() });
const outcome = async (): Promise<string> => {
  const response = readTimeStampResponse((await post(timeStampRequest(newImprint(), {}))).body);
  return 'token' in response ? 'granted' : response.refusal;
};

async function stamped(): Promise<CheckedToken> {
  const imprint = newImprint();
  const response = readTimeStampResponse((await post(timeStampRequest(imprint, {}))).body);
  if (!('token' in response)) throw new Error(response.refusal);
  const anchors = [pathCertificate(new Uint8Array(new X509Certificate(readFileSync(root)).raw))];
  return checkToken(response.token, { imprint, anchors }, new Date());
}

const signerOf = ({ path }: CheckedToken): string => Buffer.from(path.path.at(-1)?.serialNumber ?? []).toString('hex');

describe('the time-stamp authority of a service', () => {
  it('never gives a serial number or, with ordering, a time twice, also over kill -9', async () => {
    changeAuthority({ ordering: true, accuracyMilliseconds: 60_000 });
    await reload();
    const tokens: CheckedToken[] = [];
    const each = repetitions(32, 8);
    const many = async (): Promise<void> => {
      const workers = Array.from({ length: 16 }, async () => {
        for (let count = 0; count < each; count += 1) tokens.push(await stamped());
      });
      await Promise.all(workers);
    };
    await many();
    const latest = Math.max(...tokens.map(({ info }) => info.time.getTime()));
    const before = tokens.length;
    await service.daemon.kill();
    await service.daemon.start();
    await many();
    expect(tokens.length).toBe(2 * 16 * each);
    expect(new Set(tokens.map(({ info }) => Buffer.from(info.serialNumber).toString('hex'))).size).toBe(tokens.length);
    expect(new Set(tokens.map(({ info }) => info.time.getTime())).size).toBe(tokens.length);
    expect(Math.min(...tokens.slice(before).map(({ info }) => info.time.getTime()))).toBeGreaterThan(latest);
    expect(tokens.every(({ info }) => info.ordering && info.accuracy?.seconds === 60)).toBe(true);
  }, 120_000);

  it('takes another certificate by a reload; OCSP goes on answering for the one before', async () => {
    changeAuthority({});
    await reload();
    const old = await stamped();
    const file = join(service.environment.directory, 'pki', 'time-stamps.pem');
    const args = ['--by', 'root', '--directory', join(service.environment.directory, 'pki'), '--file', 'time-stamps-2.pem'];
    const made = await control('tsa', 'certify', ...args, '--public-url', publicUrl);
    expect(made.status).toBe(0);
    const section = parse(made.stdout.split('\n\n').slice(1).join('\n\n')) as Pick<Settings, 'timeStampAuthority'>;
    expect(section.timeStampAuthority).toMatchObject({ formerCertificates: [file] });
    changeAuthority(section.timeStampAuthority ?? {});
    await reload();
    const renewed = await stamped();
    expect(signerOf(renewed)).not.toBe(signerOf(old));
    for (const name of ['time-stamps.pem', 'time-stamps-2.pem']) {
      const certificate = join(service.environment.directory, 'pki', name);
      const said = openssl(['ocsp', '-issuer', root, '-cert', certificate, '-url', `${publicUrl}/ocsp/root`, '-CAfile', root]);
      expect(said).toContain(`${name}: good`);
    }
  }, 60_000);

  it('stays as it was where a reload names what cannot be an authority, and nothing else changes either', async () => {
    changeAuthority({});
    await reload();
    const before = signerOf(await stamped());
    const { certificateAuthorities } = parse(original) as {
      certificateAuthorities: Record<string, { certificate: string; keyId: string }>;
    };
    const { issuing } = certificateAuthorities;
    for (const [changes, fault] of [
      [{ certificate: issuing?.certificate }, 'extendedKeyUsage must be critical and contain only time-stamping'],
      [{ keyId: issuing?.keyId }, 'timeStampAuthority.keyId: not the CKA_ID of a time-stamp authority, which begins with 54'],
      [{ keyId: `54${'0'.repeat(32)}` }, 'timeStampAuthority.keyId: the token has no such key'],
      [{ chain: [issuing?.certificate] }, 'did not issue'],
      [{ certificate: '/nowhere.pem' }, 'timeStampAuthority: ENOENT'],
      [{ policy: '1.2.9' }, 'token.threads: this cannot change'],
    ] as const) {
      configure((settings) => {
        settings.timeStampAuthority = { ...settings.timeStampAuthority, ...changes };
        if ('policy' in changes) Object.assign(settings, { token: { ...(parse(original) as { token: object }).token, threads: 3 } });
      });
      await expect(reload()).rejects.toMatchObject({ exitCode: 5, message: expect.stringContaining(fault) as unknown });
      const token = await stamped();
      expect([signerOf(token), token.info.policy]).toEqual([before, '1.2.3.4.1']);
    }
  }, 60_000);

  it('issues no token while the clock may be wrong, reports it, and continues when the clock is no longer checked', async () => {
    // No clock is as good as that.
    changeAuthority({ clockErrorMaxMilliseconds: 1e-6 });
    await reload();
    expect(await outcome()).toMatch(/^rejection: timeNotAvailable: the clock (is not synchronised|may be \d+ ms off)/);
    const warnings = async (): Promise<unknown> => {
      const answer = await fetch(`${service.opsUrl}/health/ready`);
      return ((await answer.json()) as { warnings?: unknown }).warnings;
    };
    const words = /the time-stamp authority gives no tokens: the clock/;
    expect(await warnings()).toEqual({ timeStampAuthority: expect.stringMatching(words) as unknown });
    expect((await control('doctor')).stdout).toMatch(words);
    changeAuthority({});
    await reload();
    expect(await warnings()).toBeUndefined();
    expect((await control('doctor')).stdout).not.toMatch(words);
    expect(await outcome()).toBe('granted');
  }, 60_000);

  it('can be taken away by a reload, and come back', async () => {
    configure((settings) => {
      delete settings.timeStampAuthority;
    });
    await reload();
    expect((await post(timeStampRequest(newImprint(), {}))).status).toBe(404);
    writeFileSync(service.description.configFile, original);
    await reload();
    expect(await outcome()).toBe('granted');
  }, 60_000);

  it('limits strangers, with 503 beyond the limit, while callers are served', async () => {
    configure(({ listeners }) => {
      listeners.public['timeStampsPerSecond'] = 5;
    });
    await service.daemon.stop();
    await service.daemon.start();
    const { clients, caCertificate, signRoot } = service.description;
    const files = clients['other'];
    if (files === undefined) throw new Error('no client');
    const load = new Load({ url: `${service.baseUrl}${signRoot}`, ca: caCertificate, ...files, callers: 4, pauseMs: 20 });
    await load.busy();
    const begun = performance.now();
    const strangers = new Agent({ keepAlive: true, maxSockets: 16 });
    const answers = await Promise.all(
      Array.from({ length: 16 }, async () => {
        const got: Answer[] = [];
        for (let count = 0; count < 15; count += 1) got.push(await post(timeStampRequest(newImprint(), {}), strangers));
        return got;
      }),
    );
    strangers.destroy();
    const seconds = (performance.now() - begun) / 1000;
    const { requests, failures } = await load.end();
    expect(failures).toEqual([]);
    expect(requests).toBeGreaterThan(4);
    const flat = answers.flat();
    const granted = flat.filter(({ status }) => status === 200).length;
    // A second's worth may come at once.
    expect(granted).toBeLessThanOrEqual(5 * (seconds + 1) + 1);
    const refused = flat.filter(({ status }) => status === 503);
    expect(granted + refused.length).toBe(flat.length);
    expect(new Set(refused.map(({ retryAfter }) => retryAfter))).toEqual(new Set(['1']));
    const metrics = await (await fetch(`${service.opsUrl}/metrics`)).text();
    expect(metrics).toMatch(new RegExp(`^signetd_time_stamps_total\\{outcome="granted"\\} ${granted}$`, 'm'));
    expect(metrics).toMatch(new RegExp(`^signetd_time_stamps_total\\{outcome="tooMany"\\} ${refused.length}$`, 'm'));
    expect(metrics).toMatch(/^signetd_time_stamp_authority_certificate_expiry_seconds [1-9]\d+$/m);
  }, 120_000);
});
