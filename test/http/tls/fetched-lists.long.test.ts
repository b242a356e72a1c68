import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { AnsweringServer } from '../../support/answering-server.ts';
import { OwnService } from '../../support/own-service.ts';
import { ScratchAuthority } from '../../support/scratch-authority.ts';
import { signetctl } from '../../support/signetctl.ts';

interface Config {
  listeners: { api: Record<string, unknown> };
}
interface Ready {
  readonly status: string;
  readonly faults?: Record<string, string>;
  readonly warnings?: Record<string, string>;
}

const awayMs = 180_000;
/** Of a CRL: it ends while the server is away. */
const livesMs = 100_000;
const patience = { timeout: 60_000, interval: 100 };

let service: OwnService;
let authority: ScratchAuthority;
let server: AnsweringServer;

const list = (): Buffer =>
  Buffer.from(authority.revocationList({ from: new Date(Date.now() - 1000), until: new Date(Date.now() + livesMs) }));
const ready = async (): Promise<Ready> => (await (await fetch(`${service.opsUrl}/health/ready`)).json()) as Ready;
const metric = async (line: RegExp): Promise<number> =>
  Number(line.exec(await (await fetch(`${service.opsUrl}/metrics`)).text())?.[1] ?? Number.NaN);

/** `served`, or `refused` if the connection is closed. */
async function outcome(client = 'app'): Promise<string> {
  return service.post('pki/checkKey', {}, client).then(
    () => 'served',
    () => 'refused',
  );
}

function configure(change: (api: Record<string, unknown>) => void): void {
  const { configFile } = service.description;
  const config = parse(readFileSync(configFile, 'utf8')) as Config;
  change(config.listeners.api);
  writeFileSync(configFile, stringify(config));
}

beforeAll(async () => {
  server = await AnsweringServer.start(() => 503);
  service = await OwnService.start();
  const inTls = (name: string): string => join(service.environment.directory, 'tls', name);
  authority = new ScratchAuthority(service.environment.directory, 'revoking', {
    existing: { certificate: inTls('ca.pem'), key: inTls('ca.key') },
  });
}, 300_000);
afterAll(async () => {
  server.stop();
  await service.remove();
});

describe('CRLs of client CAs from a URL', () => {
  const directory = (): string => join(service.environment.directory, 'client-crls');
  const urls = (): object => ({
    clientRevocationLists: [],
    clientRevocationUrls: [server.url],
    clientRevocationRefreshSeconds: 2,
    clientRevocationDirectory: directory(),
  });

  it('a reload that would leave a CA without a CRL is refused with the reason', async () => {
    configure((api) => Object.assign(api, { clientRevocationLists: [], clientRevocationUrls: [server.url] }));
    const { status, stderr } = await signetctl(['--config', service.description.configFile, 'reload']);
    expect(status).not.toBe(0);
    expect(stderr).toContain('the server answered with status 503');
    expect(await outcome()).toBe('served');
  });

  it('without any CRL at the first start, the service is not ready and says why, until there is one', async () => {
    await service.daemon.stop();
    configure((api) => Object.assign(api, urls()));
    const { status, text } = await service.daemon.startAndAsk();
    expect([status, (JSON.parse(text) as Ready).faults?.['clients']]).toEqual([
      503,
      expect.stringMatching(/^there is no CRL of CN=.* yet/),
    ]);
    expect(await outcome()).toBe('refused');
    const doctor = await signetctl(['--config', service.description.configFile, 'doctor']);
    expect(doctor.stdout).toMatch(/^fault +client CRLs +there is no CRL of/m);
    expect(doctor.stdout).toMatch(/^warning +client CRLs +no CRL of the client CAs comes from http:.*status 503/m);
    const sent = list();
    server.answering = () => sent;
    await expect.poll(async () => (await ready()).status, patience).toBe('ready');
    expect(await outcome()).toBe('served');
    expect(await metric(/^signetd_client_ca_crl_expiry_seconds\{authority="CN=[^"]*"\} (\d+)$/m)).toBeGreaterThan(60);
    expect(await metric(/^signetd_client_crl_fetches_total\{outcome="newer"\} (\d+)$/m)).toBe(1);
  });

  it('the server is away for three minutes and the service is restarted meanwhile, twice in a row', { timeout: 900_000 }, async () => {
    for (const round of [1, 2]) {
      const sent = list();
      server.answering = () => sent;
      const endsAt = Date.now() + livesMs;
      const newer = await metric(/^signetd_client_crl_fetches_total\{outcome="newer"\} (\d+)$/m);
      await expect
        .poll(async () => metric(/^signetd_client_crl_fetches_total\{outcome="newer"\} (\d+)$/m), patience)
        .toBeGreaterThan(newer);
      server.answering = () => 503;
      const awaySince = Date.now();
      await service.daemon.kill();
      await service.daemon.start();
      while (Date.now() < endsAt - 5000) {
        expect([round, await outcome()]).toEqual([round, 'served']);
        await delay(1000);
      }
      expect((await ready()).warnings?.['clientCrlFetch']).toMatch(/status 503/);
      await delay(endsAt - Date.now() + 2000);
      while (Date.now() < awaySince + awayMs) {
        expect([round, await outcome()]).toEqual([round, 'refused']);
        await delay(1000);
      }
      expect(await ready()).toMatchObject({ status: 'not ready', faults: { clients: expect.stringContaining('has expired') as string } });
      const back = list();
      server.answering = () => back;
      await expect.poll(async () => outcome(), patience).toBe('served');
      expect((await ready()).status).toBe('ready');
    }
  });

  it('a revocation ends an open connection without a restart or a reload', async () => {
    const revoked = { certificate: join(service.environment.directory, 'tls/other.pem'), key: '' };
    expect(await outcome('other')).toBe('served');
    authority.revoke(revoked);
    const sent = list();
    server.answering = () => sent;
    await expect.poll(async () => outcome('other'), patience).toBe('refused');
    expect(await outcome()).toBe('served');
  });
});
