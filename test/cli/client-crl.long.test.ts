import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { openssl } from '../support/openssl.ts';
import { OwnService } from '../support/own-service.ts';
import { jsonOf, signetctl, type CommandRun } from '../support/signetctl.ts';

interface Client {
  readonly publicKey: string;
  readonly files: { readonly certificate: string; readonly key: string };
}
interface Config {
  listeners: { api: Record<string, unknown>; public: { port: number } };
  audit: { directory: string };
  clientAuthority?: Record<string, unknown>;
  certificateAuthorities: Record<string, { keyId: string }>;
}

let service: OwnService;
let directory: string;
let root: string;
let url: string;

const ctl = async (...args: string[]): Promise<CommandRun> => signetctl(['--config', service.description.configFile, '--json', ...args]);
async function done(...args: string[]): Promise<unknown> {
  const run = await ctl(...args);
  expect(run.status, run.stderr).toBe(0);
  return jsonOf(run);
}
const newDirectory = (): string => mkdtempSync(join(directory, 'files-'));
const issue = async (name: string): Promise<Client> =>
  (await done(
    ...['client', 'issue', '--name', name, '--tenant', 'other', '--roles', 'signature,keys', '--directory', newDirectory()],
  )) as Client;
const renew = async (name: string, ...options: string[]): Promise<Client> =>
  (await done('client', 'renew', name, '--directory', newDirectory(), ...options)) as Client;

/** What another service says that looks at the CRL which the certificate names. */
function verdict({ files: { certificate } }: Client): string {
  const args = ['verify', '-x509_strict', '-crl_check', '-crl_download', '-CAfile', root, certificate];
  const { status, stdout, stderr } = spawnSync('openssl', args, { encoding: 'utf8' });
  if (status === 0) return stdout.trim().split(': ').at(-1) ?? '';
  return stderr.includes('error 23 at 0 depth lookup: certificate revoked') ? 'revoked' : `${stdout}${stderr}`;
}

interface PublishedList {
  readonly number: bigint;
  readonly serialNumbers: readonly string[];
}
async function published(): Promise<PublishedList> {
  const der = Buffer.from(await (await fetch(url)).arrayBuffer());
  const text = openssl(['crl', '-inform', 'DER', '-in', '{list}', '-noout', '-text', '-CAfile', root], { list: der });
  return {
    number: BigInt(/CRL Number: *\n? *(\S+)/.exec(text)?.[1] ?? '-1'),
    serialNumbers: [...text.matchAll(/Serial Number: ([0-9A-F]+)/g)].map(([, serialNumber = '']) => serialNumber).toSorted(),
  };
}
/** The serial numbers in the audit records of revoked clients, from which an older state store is brought up to date. */
function recordedRevocations(): string[][] {
  const { audit } = parse(readFileSync(service.description.configFile, 'utf8')) as Config;
  const lines = readdirSync(audit.directory)
    .filter((name) => name.endsWith('.jsonl'))
    .toSorted()
    .flatMap((name) => readFileSync(join(audit.directory, name), 'utf8').split('\n'))
    .filter((line) => line.includes('"client revocation"'));
  return lines.map((line) => {
    const { effects } = JSON.parse(line) as { effects: { change: { certificates: { serialNumber: string }[] } }[] };
    return effects
      .flatMap(({ change }) => change.certificates.map(({ serialNumber }) => serialNumber.replace(/^00(?=[89a-f])/, '').toUpperCase()))
      .toSorted();
  });
}
const serialNumberOf = ({ files: { certificate } }: Client): string =>
  openssl(['x509', '-in', certificate, '-noout', '-serial']).trim().replace('serial=', '');

beforeAll(async () => {
  service = await OwnService.start((environment) => {
    const { configFile } = environment.description();
    root = join(environment.directory, 'pki/root.pem');
    const both = join(environment.directory, 'tls/clients.pem');
    writeFileSync(both, [root, join(environment.directory, 'tls/ca.pem')].map((file) => readFileSync(file, 'utf8')).join(''));
    const config = parse(readFileSync(configFile, 'utf8')) as Config;
    url = `http://127.0.0.1:${config.listeners.public.port}/pki/client.crl`;
    config.clientAuthority = { certificate: root, keyId: config.certificateAuthorities['root']?.keyId ?? '', urls: { crl: [url] } };
    Object.assign(config.listeners.api, { clientCertificateAuthority: both, clientRevocationLists: [] });
    writeFileSync(configFile, stringify(config));
  });
  directory = mkdtempSync(join(service.environment.directory, 'client-crl-'));
}, 300_000);
afterAll(async () => {
  await service.remove();
});

describe('the CRL of the CA of clients', () => {
  it('names all certificates of a revoked client, at once, twice in a row', async () => {
    const kept = await issue('kept');
    expect(openssl(['x509', '-in', kept.files.certificate, '-noout', '-ext', 'crlDistributionPoints'])).toContain(`URI:${url}`);
    expect(verdict(kept)).toBe('OK');
    let before = await published();
    expect(before.serialNumbers).toEqual([]);
    for (const name of ['alpha', 'beta']) {
      const client = await issue(name);
      const sameKey = await renew(name, '--certificate', client.files.certificate);
      expect([verdict(client), verdict(sameKey), verdict(kept)]).toEqual(['OK', 'OK', 'OK']);
      await done('client', 'revoke', name);
      const after = await published();
      expect([verdict(client), verdict(sameKey), verdict(kept)]).toEqual(['revoked', 'revoked', 'OK']);
      expect(after.number).toBeGreaterThan(before.number);
      expect(after.serialNumbers).toEqual([...before.serialNumbers, serialNumberOf(client), serialNumberOf(sameKey)].toSorted());
      expect(recordedRevocations().at(-1)).toEqual([serialNumberOf(client), serialNumberOf(sameKey)].toSorted());
      before = after;
    }
  });

  it('names the old certificate after a renewal with --revoke-old, and not the new one', async () => {
    const old = await issue('gamma');
    const renewed = await renew('gamma', '--revoke-old');
    expect([verdict(old), verdict(renewed)]).toEqual(['revoked', 'OK']);
  });

  it('is the same after a restart, and a revocation after it is in the next one', async () => {
    const client = await issue('delta');
    const before = await published();
    await service.daemon.kill();
    await service.daemon.start();
    const after = await published();
    expect(after.serialNumbers).toEqual(before.serialNumbers);
    expect(after.number).toBeGreaterThanOrEqual(before.number);
    await done('client', 'revoke', 'delta');
    expect(verdict(client)).toBe('revoked');
    expect((await published()).number).toBeGreaterThan(after.number);
  });

  it('does not name a certificate of another CA, which a client of the same name had', async () => {
    const before = await published();
    await done('client', 'revoke', 'app');
    expect((await published()).serialNumbers).toEqual(before.serialNumbers);
  });

  it('has a name of its own', async () => {
    const { configFile } = service.description;
    const original = readFileSync(configFile, 'utf8');
    const config = parse(original) as Config;
    Object.assign(config.clientAuthority ?? {}, { name: 'issuing' });
    writeFileSync(configFile, stringify(config));
    const run = await ctl('reload');
    writeFileSync(configFile, original);
    expect([run.status, run.stderr]).toEqual([
      expect.any(Number),
      expect.stringContaining('clientAuthority.name: \\"issuing\\" is an authority of certificateAuthorities; each CRL has its own name'),
    ]);
    expect(run.status).not.toBe(0);
  });
});
