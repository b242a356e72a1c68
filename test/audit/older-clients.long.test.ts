import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { openssl } from '../support/openssl.ts';
import { OwnService } from '../support/own-service.ts';
import { jsonOf, signetctl, type CommandRun } from '../support/signetctl.ts';
import { StateCopy } from '../support/state-copy.ts';

interface Client {
  readonly publicKey: string;
  readonly files: { readonly certificate: string; readonly key: string };
}
interface Config {
  listeners: { api: Record<string, unknown>; public: { port: number } };
  clientAuthority?: Record<string, unknown>;
  certificateAuthorities: Record<string, { keyId: string }>;
}
interface Row {
  readonly record: number;
  readonly by: string;
  readonly client: string | null;
  readonly publicKey: string | null;
  readonly remedy: string;
  readonly isLost: boolean;
}

let service: OwnService;
let url: string;

beforeAll(async () => {
  service = await OwnService.start((environment) => {
    const { configFile } = environment.description();
    const root = join(environment.directory, 'pki/root.pem');
    const both = join(environment.directory, 'tls/clients.pem');
    writeFileSync(both, [root, join(environment.directory, 'tls/ca.pem')].map((file) => readFileSync(file, 'utf8')).join(''));
    const config = parse(readFileSync(configFile, 'utf8')) as Config;
    url = `http://127.0.0.1:${config.listeners.public.port}/pki/client.crl`;
    config.clientAuthority = { certificate: root, keyId: config.certificateAuthorities['root']?.keyId ?? '' };
    Object.assign(config.listeners.api, { clientCertificateAuthority: both, clientRevocationLists: [] });
    writeFileSync(configFile, stringify(config));
  });
}, 300_000);
afterAll(async () => {
  await service.remove();
});

const ctl = async (...args: string[]): Promise<CommandRun> => signetctl(['--config', service.description.configFile, ...args]);
async function done(...args: string[]): Promise<unknown> {
  const run = await ctl('--json', ...args);
  expect(run.status, run.stderr).toBe(0);
  return jsonOf(run);
}
const newDirectory = (): string => mkdtempSync(join(service.environment.directory, 'files-'));
const belongs = ['--tenant', 'other', '--roles', 'keys'];
const issue = async (name: string): Promise<Client> =>
  (await done('client', 'issue', '--name', name, ...belongs, '--directory', newDirectory())) as Client;
const add = async ({ files: { certificate } }: Client, name: string, ...more: string[]): Promise<CommandRun> =>
  ctl('client', 'add', '--certificate', certificate, '--name', name, ...belongs, ...more);
const revokedList = async (): Promise<Record<string, string>[]> => (await done('client', 'list', '--revoked')) as Record<string, string>[];

/** The status of the API's answer to a request with the client's certificate. */
async function statusFor({ files }: Client): Promise<number | undefined> {
  const [ca, cert, key] = [service.description.caCertificate, files.certificate, files.key].map((file) => readFileSync(file));
  const agent = new Agent({ ca, cert, key });
  return new Promise((resolve, reject) => {
    const options = { agent, method: 'POST', headers: { 'Content-Type': 'application/json' } };
    const sent = request(`${service.baseUrl}/sign/pki/checkKey`, options, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on('error', reject);
    sent.end(JSON.stringify({ keyReference: { reference: '0'.repeat(40) } }));
  });
}
async function onCrl({ files: { certificate } }: Client): Promise<boolean> {
  const list = Buffer.from(await (await fetch(url)).arrayBuffer());
  const serialNumber = openssl(['x509', '-in', certificate, '-noout', '-serial']).trim().replace('serial=', '');
  return openssl(['crl', '-inform', 'DER', '-in', '{list}', '-noout', '-text'], { list }).includes(`Serial Number: ${serialNumber}`);
}

it('a client that was registered and revoked after the backup is not registered again, twice in a row', async () => {
  for (const round of ['1', '2']) {
    const early = await issue(`early${round}`);
    await service.daemon.stop();
    const copy = StateCopy.ofStopped(service.environment.directory);
    await service.daemon.start();

    const late = await issue(`late${round}`);
    const renewed = (await done('client', 'renew', `late${round}`, '--directory', newDirectory())) as Client;
    // Of another CA than the service's own.
    const files = service.description.clients['app'];
    if (files === undefined) throw new Error('no client app');
    const before = (await done('client', 'list')) as { name: string; publicKey: string }[];
    const app: Client = { files, publicKey: before.find(({ name }) => name === 'app')?.publicKey ?? '' };
    for (const { publicKey } of [late, early, app]) await done('client', 'revoke', publicKey);
    const again = await issue(`again${round}`);
    await done('client', 'revoke', again.publicKey);
    expect((await add(again, `again${round}`, '--again')).status).toBe(0);
    const list = await revokedList();
    await service.daemon.stop();
    copy.restore();
    copy.remove();
    expect((await service.daemon.startAndAsk()).status).toBe(503);

    const compared = await ctl('--json', 'state', 'compare');
    const rows = (jsonOf(compared) as { lacking: Row[] }).lacking;
    const rowOf = (by: string, { publicKey }: Client): Row | undefined =>
      rows.find((row) => row.by === by && row.publicKey === publicKey.slice(0, 16));
    const revocation = rowOf('client revoke', late);
    expect(revocation?.remedy).toBe('revoked again');
    const refused = `revoked later (record ${revocation?.record}): do not register it again`;
    expect(rowOf('client add', late)).toMatchObject({ remedy: refused, isLost: false });
    expect(rowOf('client add', renewed)).toMatchObject({ remedy: `lost: register late${round} again`, isLost: true });
    expect((await ctl('state', 'compare')).stdout).toContain(`public key ${late.publicKey.slice(0, 16)}`);
    const confirmed = await ctl('state', 'confirm');
    expect(confirmed.status, confirmed.stderr).toBe(0);
    expect(confirmed.stderr).toContain(`late${round} (public key ${late.publicKey.slice(0, 16)}): ${refused}`);
    expect(confirmed.stderr).toContain(`late${round} (public key ${renewed.publicKey.slice(0, 16)}): lost: register late${round} again`);
    await service.daemon.ended();
    await service.daemon.start();

    // Exactly what it was, with the times of the revocations.
    expect(await revokedList()).toEqual(list);
    expect(list.map(({ publicKey }) => publicKey)).toEqual(expect.arrayContaining([late.publicKey, early.publicKey, app.publicKey]));
    for (const client of [late, early]) expect([await add(client, 'other name'), await onCrl(client)]).toMatchObject([{ status: 5 }, true]);
    for (const client of [late, early, app]) expect(await statusFor(client)).toBe(403);
    // These were the last words on their keys.
    for (const client of [renewed, again]) {
      expect((await add(client, round)).status).toBe(0);
      expect(await statusFor(client)).toBe(200);
    }
    expect((await add(app, 'app', '--again')).status).toBe(0);
    expect(await statusFor(app)).toBe(200);
  }
}, 600_000);
