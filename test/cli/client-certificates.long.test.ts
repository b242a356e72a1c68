import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseDocument } from 'yaml';
import { openssl } from '../support/openssl.ts';
import { OwnService } from '../support/own-service.ts';
import type { QuickstartEnvironment } from '../support/quickstart-environment.ts';
import { signetctlHere } from '../support/signetctl-here.ts';
import { jsonOf, type CommandRun } from '../support/signetctl.ts';

let service: OwnService;
let authority: string;
let directory: string;

beforeAll(async () => {
  service = await OwnService.start(withClientAuthority);
  authority = join(service.environment.directory, 'pki/root.pem');
  directory = mkdtempSync(join(service.environment.directory, 'clients-'));
});
afterAll(async () => {
  await service.remove();
});

/** The root of the quickstart issues clients too; its key is on the token as that of a CA which setup makes. */
function withClientAuthority(environment: QuickstartEnvironment): void {
  const { configFile } = environment.description();
  const both = join(environment.directory, 'tls/clients.pem');
  const root = join(environment.directory, 'pki/root.pem');
  writeFileSync(both, [root, join(environment.directory, 'tls/ca.pem')].map((file) => readFileSync(file, 'utf8')).join(''));
  const config = parseDocument(readFileSync(configFile, 'utf8'));
  config.setIn(['clientAuthority'], { certificate: root, keyId: config.getIn(['certificateAuthorities', 'root', 'keyId']) });
  config.setIn(['listeners', 'api', 'clientCertificateAuthority'], both);
  config.setIn(['listeners', 'api', 'clientRevocationLists'], []);
  writeFileSync(configFile, String(config));
}

const run = async (...args: string[]): Promise<CommandRun> => signetctlHere(['--config', service.description.configFile, ...args]);
const issue = async (name: string, ...more: string[]): Promise<CommandRun> =>
  run('--json', 'client', 'issue', '--name', name, '--tenant', 'other', '--roles', 'signature,keys', '--directory', directory, ...more);
const renew = async (client: string, ...more: string[]): Promise<CommandRun> =>
  run('--json', 'client', 'renew', client, '--directory', mkdtempSync(join(directory, 'renewed-')), ...more);

interface Issued {
  readonly publicKey: string;
  readonly notAfter: string;
  readonly files: { readonly certificate: string; readonly key: string; readonly pkcs12: string; readonly pkcs12Password: string };
}

interface Compared {
  readonly orphans: readonly { readonly id: string }[];
  readonly gaps: readonly unknown[];
}

const issuedIn = (made: CommandRun): Issued => {
  expect(made.status, made.stderr).toBe(0);
  return jsonOf(made) as Issued;
};

/** The HTTP status of a request by a client; the reason if the connection is closed. */
async function statusFor({ certificate, key }: { readonly certificate: string; readonly key: string }): Promise<unknown> {
  const [ca, cert, privateKey] = [service.description.caCertificate, certificate, key].map((file) => readFileSync(file));
  return new Promise((resolve) => {
    const sent = request(
      `${service.baseUrl}/sign/pki/checkKey`,
      { ca, cert, key: privateKey, method: 'POST', agent: false, headers: { 'Content-Type': 'application/json' } },
      (response) => {
        void text(response).then(() => {
          resolve(response.statusCode);
        });
      },
    );
    sent.on('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code);
    });
    sent.end(JSON.stringify({ keyReference: { reference: '0'.repeat(40) } }));
  });
}

async function metric(name: string): Promise<string[]> {
  const exposition = await (await fetch(`${service.opsUrl}/metrics`)).text();
  return exposition.split('\n').filter((line) => line.startsWith(name));
}

describe('signetctl client issue', () => {
  it('makes a key, a certificate and a PKCS #12 file with which the API is used at once', async () => {
    const { files, publicKey, notAfter } = issuedIn(await issue('billing', '--days', '30'));
    expect(openssl(['verify', '-x509_strict', '-purpose', 'sslclient', '-CAfile', authority, files.certificate])).toContain('OK');
    const shown = openssl(['x509', '-in', files.certificate, '-noout', '-text']);
    expect(shown).toMatch(/Subject: CN = billing\n/);
    expect(shown).toMatch(/Extended Key Usage: \n\s+TLS Web Client Authentication\n/);
    expect([files.key, files.pkcs12, files.pkcs12Password].map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600, 0o600]);
    const unpacked = openssl(['pkcs12', '-in', files.pkcs12, '-passin', `file:${files.pkcs12Password}`, '-nodes']);
    expect(unpacked.match(/-----BEGIN [A-Z ]+-----/g)?.toSorted()).toEqual([
      '-----BEGIN CERTIFICATE-----',
      '-----BEGIN CERTIFICATE-----',
      '-----BEGIN PRIVATE KEY-----',
    ]);
    expect(await statusFor(files)).toBe(200);
    expect(Date.parse(notAfter) - Date.now()).toBeLessThan(30.1 * 86_400_000);
    expect(await metric(`signetd_client_certificate_expiry_seconds{client="billing",public_key="${publicKey.slice(0, 16)}"}`)).toHaveLength(
      1,
    );
  });

  it('certifies the key of a request, and makes no key then', async () => {
    const key = openssl(['genpkey', '-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048', '-quiet']);
    const [csr, keyFile] = [join(directory, 'own.csr'), join(directory, 'own-key.pem')];
    writeFileSync(keyFile, key);
    writeFileSync(csr, openssl(['req', '-new', '-key', '{key}', '-subj', '/CN=somebody else'], { key }));
    const { files } = issuedIn(await issue('own', '--csr', csr));
    expect(Object.keys(files)).toEqual(['certificate']);
    expect(openssl(['x509', '-in', files.certificate, '-noout', '-subject'])).toBe('subject=CN = own\n');
    expect(await statusFor({ certificate: files.certificate, key: keyFile })).toBe(200);
  });

  it.each([
    ['a request with a changed byte', (der: Buffer) => der.with(der.length - 1, (der.at(-1) ?? 0) ^ 1)],
    ['a request that is cut short', (der: Buffer) => der.subarray(0, -3)],
    ['something else', () => Buffer.from('no request')],
  ])('refuses %s, and registers nobody', async (_what, changed) => {
    const key = openssl(['genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256']);
    const der = openssl(['req', '-new', '-key', '{key}', '-subj', '/CN=x', '-outform', 'DER', '-out', 'out'], { key }, 'out');
    const csr = join(directory, 'bad.csr');
    writeFileSync(csr, changed(der));
    const refused = await issue('bad', '--csr', csr);
    expect([refused.status, refused.stdout]).toEqual([2, '']);
    expect(refused.stderr).toContain('this request (PKCS #10) cannot be used');
    expect((await run('client', 'list')).stdout).not.toContain('bad ');
  });

  it('leaves nothing behind where the tenant does not exist, and overwrites nothing', async () => {
    const refused = await run('client', 'issue', '--name', 'lost', '--tenant', 'nobody', '--roles', 'keys', '--directory', directory);
    expect([refused.status, refused.stderr]).toEqual([5, expect.stringMatching(/^signetctl: tenant: no tenant "nobody" is configured/)]);
    expect(readdirSync(directory).filter((name) => name.startsWith('lost'))).toEqual([]);
    writeFileSync(join(directory, 'taken.key'), 'mine');
    const taken = await issue('taken');
    expect([taken.status, taken.stderr]).toEqual([5, expect.stringContaining('already exists and will not be overwritten')]);
    expect(readFileSync(join(directory, 'taken.key'), 'utf8')).toBe('mine');
    expect(existsSync(join(directory, 'taken.pem'))).toBe(false);
  });

  it('takes the only tenant of the configuration, and asks for one of several', async () => {
    const args = ['client', 'issue', '--roles', 'keys', '--directory', directory];
    const several = await run(...args, '--name', 'anyone');
    expect([several.status, several.stderr]).toEqual([
      2,
      'signetctl: --tenant is missing: the configuration has several tenants: demo, other, otp, p384\n',
    ]);
    const config = parseDocument(readFileSync(service.description.configFile, 'utf8'));
    for (const name of ['demo', 'otp', 'p384']) config.deleteIn(['tenants', name]);
    const path = join(service.environment.directory, 'one-tenant.yaml');
    writeFileSync(path, String(config));
    const issued = await signetctlHere(['--config', path, '--json', ...args, '--name', 'only']);
    expect(issued.status, issued.stderr).toBe(0);
    expect(jsonOf(issued)).toMatchObject({ name: 'only', tenant: 'other' });
    const shown = await signetctlHere(['--config', path, ...args, '--name', 'only-text']);
    expect(shown.stdout).toMatch(/^tenant: +other$/m);
  });

  it.each([
    ['--name', ['--name', 'a/b']],
    ['--roles', ['--roles', 'king']],
    ['--days', ['--days', '0']],
    ['--key-type', ['--key-type', 'DSA']],
  ])('refuses a wrong %s', async (option, given) => {
    const refused = await issue('wrong', ...given);
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining(option)]);
  });

  it('needs a CA of clients in the configuration', async () => {
    const config = parseDocument(readFileSync(service.description.configFile, 'utf8'));
    config.deleteIn(['clientAuthority']);
    const path = join(service.environment.directory, 'without.yaml');
    writeFileSync(path, String(config));
    const args = ['client', 'issue', '--name', 'x', '--tenant', 'other', '--roles', 'keys', '--directory', directory];
    const refused = await signetctlHere(['--config', path, ...args]);
    expect([refused.status, refused.stderr]).toEqual([5, expect.stringContaining('no clientAuthority')]);
    config.setIn(['clientAuthority'], parseDocument(readFileSync(service.description.configFile, 'utf8')).get('clientAuthority'));
    config.setIn(['listeners', 'api', 'clientCertificateAuthority'], service.description.caCertificate);
    writeFileSync(path, String(config));
    const strange = await signetctlHere(['--config', path, ...args]);
    expect([strange.status, strange.stderr]).toEqual([5, expect.stringContaining('does not have the CA of clientAuthority')]);
  });
});

describe('signetctl token inventory', () => {
  it('says which key is that of the CA of the clients, which looks like that of a root', async () => {
    expect((await signetctlHere(['--config', service.description.configFile, 'token', 'inventory'])).stdout).toMatch(
      / 52[0-9a-f]{32} \(root, (?:certificateAuthorities\.\w+, )?clientAuthority\) /,
    );
  });
});

describe('signetctl client renew', () => {
  it('issues for a new key while the old certificate goes on, until it is revoked', async () => {
    const old = issuedIn(await issue('renewed'));
    const next = issuedIn(await renew('renewed'));
    expect(next.publicKey).not.toBe(old.publicKey);
    expect([await statusFor(old.files), await statusFor(next.files)]).toEqual([200, 200]);
    const unclear = await renew('renewed');
    expect(unclear).toMatchObject({ status: 5, stderr: expect.stringContaining('2 keys are registered') as unknown });
    for (const { publicKey, notAfter } of [old, next])
      expect(unclear.stderr).toMatch(new RegExp(`${publicKey} \\(registered \\d{4}-\\S+, certificate valid until ${notAfter}\\)`));
    const { stderr } = await run('client', 'revoke', 'renewed');
    for (const { publicKey, files } of [old, next]) {
      const { serialNumber } = new X509Certificate(readFileSync(files.certificate));
      expect(stderr).toMatch(new RegExp(`${publicKey} \\(registered \\d{4}-[^;]*, serial number ${serialNumber}\\)`, 'i'));
    }
    const last = issuedIn(await renew(next.publicKey, '--revoke-old'));
    expect([await statusFor(old.files), await statusFor(next.files), await statusFor(last.files)]).toEqual([200, 403, 200]);
  });

  it('issues again on the same day into the same directory, under other names', async () => {
    const to = mkdtempSync(join(directory, 'same-day-'));
    const once = async (client: string): Promise<Issued> =>
      issuedIn(await run('--json', 'client', 'renew', client, '--directory', to, '--revoke-old'));
    issuedIn(await issue('same-day'));
    const made = [await once('same-day'), await once('same-day'), await once('same-day')].map(({ files }) => files.certificate);
    expect(made.map((file) => file.replace(/^.*\d{4}-\d\d-\d\d/, ''))).toEqual(['.pem', '-2.pem', '-3.pem']);
    expect(readdirSync(to)).toHaveLength(12);
  });

  it('issues for the same key, whose registration then has the new end', async () => {
    const old = issuedIn(await issue('same', '--days', '10'));
    const refused = await renew('same', '--certificate', old.files.certificate, '--revoke-old');
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('--revoke-old')]);
    const next = issuedIn(await renew('same', '--certificate', old.files.certificate, '--days', '20'));
    expect(next.publicKey).toBe(old.publicKey);
    expect(Date.parse(next.notAfter)).toBeGreaterThan(Date.parse(old.notAfter));
    expect(await statusFor({ certificate: next.files.certificate, key: old.files.key })).toBe(200);
    const clients = jsonOf(await run('--json', 'client', 'list')) as { name: string; notAfter: string }[];
    expect(clients.filter(({ name }) => name === 'same').map(({ notAfter }) => notAfter)).toEqual([next.notAfter]);
  });

  it('refuses a client that is not registered, and the certificate of another key', async () => {
    const { files } = issuedIn(await issue('another'));
    expect(await renew('nobody')).toMatchObject({
      status: 5,
      stderr: expect.stringMatching(/no client .*nobody.* is registered/) as unknown,
    });
    const refused = await renew('billing', '--certificate', files.certificate);
    expect([refused.status, refused.stderr]).toEqual([5, expect.stringContaining('not a certificate of the key')]);
  });
});

it('config check has no note about CRLs if signetd itself issues the certificates of all clients', async () => {
  const config = parseDocument(readFileSync(service.description.configFile, 'utf8'));
  const alone = join(service.environment.directory, 'only-clients.yaml');
  const checkedWith = async (certificates: unknown): Promise<string> => {
    config.setIn(['listeners', 'api', 'clientCertificateAuthority'], certificates);
    writeFileSync(alone, String(config));
    return (await signetctlHere(['--config', alone, 'config', 'check'])).stderr;
  };
  const note = 'listeners.api.clientRevocationLists: it is empty';
  expect(await checkedWith(config.getIn(['listeners', 'api', 'clientCertificateAuthority']))).toContain(note);
  expect(await checkedWith(authority)).not.toContain(note);
});

it('signetctl backup compare knows the key of the CA that issues the certificates of clients', async () => {
  const config = parseDocument(readFileSync(service.description.configFile, 'utf8'));
  const keyId = String(config.getIn(['clientAuthority', 'keyId']));
  config.deleteIn(['certificateAuthorities', 'root']);
  const alone = join(service.environment.directory, 'only-clients.yaml');
  const compared = async (yaml: string): Promise<unknown> => {
    writeFileSync(alone, yaml);
    const { orphans, gaps } = jsonOf(await signetctlHere(['--json', '--config', alone, 'backup', 'compare'])) as Compared;
    return { orphans: orphans.map(({ id }) => id).includes(keyId), gaps };
  };
  expect(await compared(String(config))).toEqual({ orphans: false, gaps: [] });
  config.setIn(['clientAuthority', 'keyId'], `${keyId.slice(0, -2)}${keyId.endsWith('00') ? '01' : '00'}`);
  expect(await compared(String(config))).toEqual({
    orphans: true,
    gaps: [expect.objectContaining({ what: 'the key of the CA of clientAuthority', isNeeded: true })],
  });
});

it('the service notices the newer certificate with which a client connects', async () => {
  const { files, publicKey } = issuedIn(await issue('newer', '--days', '10'));
  // As a CA of its own would renew it, without a word to signetd.
  const tls = join(service.environment.directory, 'tls');
  const renewed = join(directory, 'newer-renewed.pem');
  const csr = execFileSync('openssl', ['req', '-new', '-key', files.key, '-subj', '/CN=newer'], { encoding: 'utf8' });
  execFileSync(
    'openssl',
    ['x509', '-req', '-CA', join(tls, 'ca.pem'), '-CAkey', join(tls, 'ca.key'), '-CAcreateserial', '-days', '300', '-out', renewed],
    { input: csr, stdio: ['pipe', 'ignore', 'ignore'] },
  );
  const secondsLeft = async (): Promise<number> => {
    const [line = ''] = await metric(`signetd_client_certificate_expiry_seconds{client="newer",public_key="${publicKey.slice(0, 16)}"}`);
    return Number(line.split(' ').at(-1));
  };
  expect(await secondsLeft()).toBeLessThan(11 * 86_400);
  expect(await statusFor({ certificate: renewed, key: files.key })).toBe(200);
  expect(await secondsLeft()).toBeGreaterThan(290 * 86_400);
});
