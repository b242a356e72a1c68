import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
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
  listeners: { api: Record<string, unknown> };
  clientAuthority?: { certificate: string; keyId: string; crossCertificates?: string[] };
  certificateAuthorities: Record<string, { keyId: string }>;
}
interface Printed {
  readonly certificate: string;
  readonly accepted: string;
  readonly listeners: { readonly api: Record<string, unknown> };
  readonly clientAuthority: NonNullable<Config['clientAuthority']>;
}

let service: OwnService;
let directory: string;
let client: Client;

const configOf = (): Config => parse(readFileSync(service.description.configFile, 'utf8')) as Config;
function configure(change: (config: Config) => void): void {
  const config = configOf();
  change(config);
  writeFileSync(service.description.configFile, stringify(config));
}
const ctl = async (...args: string[]): Promise<CommandRun> => signetctl(['--config', service.description.configFile, '--json', ...args]);
async function done(...args: string[]): Promise<unknown> {
  const run = await ctl(...args);
  expect(run.status, run.stderr).toBe(0);
  return jsonOf(run);
}
const newDirectory = (): string => mkdtempSync(join(directory, 'files-'));
const issue = async (name: string): Promise<Client> =>
  (await done(
    'client',
    'issue',
    '--name',
    name,
    '--tenant',
    'other',
    '--roles',
    'signature,keys',
    '--directory',
    newDirectory(),
  )) as Client;

/** The HTTP status of a request by a client; `refused` if the connection is closed. */
async function statusFor({ files: { certificate, key } }: Client): Promise<unknown> {
  const [ca, cert, privateKey] = [service.description.caCertificate, certificate, key].map((file) => readFileSync(file));
  return new Promise((resolve) => {
    const options = { ca, cert, key: privateKey, method: 'POST', agent: false, headers: { 'Content-Type': 'application/json' } } as const;
    const sent = request(`${service.baseUrl}/sign/pki/checkKey`, options, (response) => {
      void text(response).then(() => {
        resolve(response.statusCode);
      });
    });
    sent.on('error', () => {
      resolve('refused');
    });
    sent.end('{}');
  });
}

beforeAll(async () => {
  service = await OwnService.start((environment) => {
    const { configFile } = environment.description();
    const root = join(environment.directory, 'pki/root.pem');
    const both = join(environment.directory, 'tls/clients.pem');
    writeFileSync(both, [root, join(environment.directory, 'tls/ca.pem')].map((file) => readFileSync(file, 'utf8')).join(''));
    const config = parse(readFileSync(configFile, 'utf8')) as Config;
    config.clientAuthority = { certificate: root, keyId: config.certificateAuthorities['root']?.keyId ?? '' };
    Object.assign(config.listeners.api, { clientCertificateAuthority: both, clientRevocationLists: [] });
    writeFileSync(configFile, stringify(config));
  });
  directory = mkdtempSync(join(service.environment.directory, 'rotation-'));
  client = await issue('alpha');
}, 300_000);
afterAll(async () => {
  await service.remove();
});

describe.each(['tls-ca-2', 'tls-ca-3'])('the CA of the clients with a new key: %s', (name) => {
  const organisation = ['--country', 'FR', '--organization', 'Example SA', '--common-name', `CA ${name}`];
  let printed: Printed;
  let former: NonNullable<Config['clientAuthority']>;

  it('is made beside the old one, which it was certified by', async () => {
    former = configOf().clientAuthority ?? { certificate: '', keyId: '' };
    await service.daemon.stop();
    const making = ['client', 'new-authority', '--name', name, '--directory', directory, ...organisation];
    printed = (await done(...making)) as Printed;
    const again = await ctl(...making);
    expect([again.status, again.stderr]).toEqual([5, expect.stringContaining('nothing was made')]);
    configure((config) => {
      Object.assign(config.listeners.api, printed.listeners.api);
      config.clientAuthority = printed.clientAuthority;
    });
    await service.daemon.start();
    const [cross = ''] = printed.clientAuthority.crossCertificates ?? [];
    expect(openssl(['verify', '-x509_strict', '-CAfile', former.certificate, cross])).toContain('OK');
  });

  it('clients of both CAs are served, and a renewed client has a certificate of the new one', async () => {
    expect(await statusFor(client)).toBe(200);
    const renewed = (await done('client', 'renew', 'alpha', '--directory', newDirectory(), '--revoke-old')) as Client;
    expect(openssl(['verify', '-CAfile', printed.certificate, renewed.files.certificate])).toContain('OK');
    expect([await statusFor(client), await statusFor(renewed)]).toEqual([403, 200]);
    client = renewed;
    expect(await statusFor(await issue(`beta-${name}`))).toBe(200);
  });

  it('without the old CA, its clients are refused; its key is destroyed only when nothing names it', async () => {
    const early = await ctl('token', 'destroy-key', '--key-id', printed.clientAuthority.keyId);
    expect([early.status, early.stderr]).toEqual([
      5,
      expect.stringContaining('clientAuthority.keyId names this key; nothing was destroyed'),
    ]);
    configure((config) => {
      config.listeners.api['clientCertificateAuthority'] = printed.certificate;
      config.clientAuthority = { certificate: printed.certificate, keyId: printed.clientAuthority.keyId };
    });
    await done('reload');
    expect(await statusFor(client)).toBe(200);
    const gone = await ctl('token', 'destroy-key', '--key-id', former.keyId);
    // The first CA of this test is a root of the service, too.
    if (name === 'tls-ca-2') expect([gone.status, gone.stderr]).toEqual([5, expect.stringContaining('certificateAuthorities.root')]);
    else {
      expect(gone.status, gone.stderr).toBe(0);
      expect((await ctl('token', 'destroy-key', '--key-id', former.keyId)).stderr).toContain('the token has no key');
    }
    expect((await ctl('audit', 'verify')).status).toBe(0);
  });
});
