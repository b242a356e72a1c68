import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { X509Certificate } from 'node:crypto';
import { openssl } from '../support/openssl.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { jsonOf, signetctl, type CommandRun } from '../support/signetctl.ts';

let token: ScratchToken;
let configPath: string;
beforeEach(() => {
  token = scratchToken();
  configPath = join(token.directory, 'signetd.yaml');
  configure({});
});
afterEach(() => {
  token.remove();
});

interface Authorities {
  readonly [name: string]: { readonly certificate: string; readonly chain: readonly string[]; readonly keyId: string };
}

function configure(certificateAuthorities: object): void {
  const { token: section } = JSON.parse(readFileSync(token.configPath, 'utf8')) as { token: object };
  const api = { certificate: 'a', key: 'b', clientCertificateAuthority: 'c' };
  const config = {
    listeners: { api },
    token: section,
    state: { path: join(token.directory, 'state.sqlite') },
    certificateAuthorities,
    tenants: {},
  };
  writeFileSync(configPath, stringify(config));
}

const run = async (...args: string[]): Promise<CommandRun> => signetctl(['--config', configPath, ...args]);
const identity = ['--country', 'FR', '--organization', 'Société "X", CN=y'];

async function init(...more: string[]): Promise<Authorities> {
  const made = await run('--json', 'ca', 'init', '--directory', token.directory, ...identity, ...more);
  expect([made.status, made.stderr]).toEqual([0, '']);
  const { certificateAuthorities } = jsonOf(made) as { certificateAuthorities: Authorities };
  configure(certificateAuthorities);
  return certificateAuthorities;
}
const certificate = (path: string): X509Certificate => new X509Certificate(readFileSync(path));
const show = (path: string): string =>
  openssl(['x509', '-in', path, '-noout', '-text', '-nameopt', 'utf8,sep_comma_plus,esc_2253,esc_ctrl']);
const verify = (root: string, ...args: string[]): string => openssl(['verify', '-x509_strict', '-check_ss_sig', '-CAfile', root, ...args]);
/** CKA_IDs of the private keys on the token but the MAC key. */
function keysOnToken(): string[] {
  const listing = execFileSync(
    'pkcs11-tool',
    [
      ...['--module', '/usr/lib/softhsm/libsofthsm2.so', '--token-label', 'test', '--login', '--pin', token.pin],
      ...['--list-objects', '--type', 'privkey'],
    ],
    { env: { ...process.env, ...token.environment }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  );
  return [...listing.matchAll(/^\s+ID:\s+([0-9a-f]+)$/gm)].map(([, id = '']) => id);
}

describe('signetctl ca', () => {
  it('init makes a root and an issuing CA on the token, strictly valid, and says what the configuration needs', async () => {
    const { root, issuing } = await init('--public-url', 'http://pki.example.test:8080/');
    if (root === undefined || issuing === undefined) throw new Error('two authorities');
    expect(verify(root.certificate, root.certificate)).toContain('OK');
    expect(verify(root.certificate, issuing.certificate)).toContain('OK');
    const text = show(issuing.certificate);
    expect(text).toContain('URI:http://pki.example.test:8080/pki/root.crl');
    expect(text).toContain('CA Issuers - URI:http://pki.example.test:8080/pki/root.cer');
    expect(text).toMatch(/CA:TRUE, pathlen:0/);
    expect(text).toContain(String.raw`O=Société \"X\"\, CN=y`);
    expect(issuing).toMatchObject({
      chain: [root.certificate],
      urls: { crl: ['http://pki.example.test:8080/pki/issuing.crl'], caIssuers: ['http://pki.example.test:8080/pki/issuing.cer'] },
    });
    expect(new Set(keysOnToken())).toEqual(new Set([root.keyId, issuing.keyId]));
  });

  it("init takes the PIN from the service's file, which root may read", async (context) => {
    if (process.geteuid?.() !== 0) context.skip('only root can give a file away');
    chownSync(join(token.directory, 'pin'), 12_345, 12_345);
    expect(Object.keys(await init())).toEqual(['issuing', 'root']);
  });

  it('init prints a configuration that signetd reads, and overwrites nothing: a second run leaves no key behind', async () => {
    const made = await run('ca', 'init', '--directory', token.directory, ...identity);
    expect(parse(made.stdout.split('\n\n').slice(1).join('\n\n'))).toMatchObject({ certificateAuthorities: { root: {}, issuing: {} } });
    const before = keysOnToken();
    const again = await run('ca', 'init', '--directory', token.directory, ...identity);
    expect(again.status).toBe(5);
    expect(again.stderr).toContain('already exists and will not be overwritten');
    expect(keysOnToken().toSorted()).toEqual(before.toSorted());
  });

  it('certify renews the issuing CA with its key, and cross-certifies it under another root', async () => {
    const { root, issuing } = await init('--issuing-years', '1');
    if (root === undefined || issuing === undefined) throw new Error('two authorities');
    const renewal = await run(
      'ca',
      'certify',
      '--authority',
      'issuing',
      '--by',
      'root',
      '--directory',
      token.directory,
      '--file',
      'new.pem',
    );
    expect(renewal.status).toBe(0);
    const renewed = certificate(join(token.directory, 'new.pem'));
    const old = certificate(issuing.certificate);
    expect(renewed.publicKey.equals(old.publicKey)).toBe(true);
    expect(renewed.subject).toBe(old.subject);
    expect(renewed.serialNumber).not.toBe(old.serialNumber);
    expect(new Date(renewed.validTo).getTime()).toBeGreaterThan(new Date(old.validTo).getTime());
    expect(verify(root.certificate, join(token.directory, 'new.pem'))).toContain('OK');

    const own = await run('ca', 'certify', '--authority', 'root', '--by', 'root', '--directory', token.directory, '--file', 'root-2.pem');
    expect(own.status).toBe(0);
    expect(verify(join(token.directory, 'root-2.pem'), issuing.certificate)).toContain('OK');

    const other = await init('--root', 'root-b', '--issuing', 'issuing-b', '--root-name', 'Other Root', '--issuing-name', 'Other CA');
    configure({ root, issuing, ...other });
    const cross = await run(
      'ca',
      'certify',
      '--authority',
      'root',
      '--by',
      'root-b',
      '--directory',
      token.directory,
      '--file',
      'cross.pem',
    );
    expect([cross.status, cross.stderr]).toEqual([0, expect.stringContaining('crossCertificates')]);
    expect(verify(other['root-b']?.certificate ?? '', '-untrusted', join(token.directory, 'cross.pem'), issuing.certificate)).toContain(
      'OK',
    );
  });

  it('issue makes a successor with a key of its own', async () => {
    const { root } = await init();
    const args = ['--by', 'root', '--name', 'issuing-2', '--directory', token.directory, ...identity, '--common-name', 'Issuing CA 2'];
    const made = await run('--json', 'ca', 'issue', ...args, '--key-type', 'P-384');
    const { certificateAuthorities } = jsonOf(made) as { certificateAuthorities: Authorities };
    const successor = certificateAuthorities['issuing-2'];
    expect(verify(root?.certificate ?? '', successor?.certificate ?? '')).toContain('OK');
    expect(keysOnToken()).toContain(successor?.keyId);
  });

  it('request and import bring a CA under a root elsewhere', async () => {
    const made = await run(
      '--json',
      'ca',
      'request',
      '--name',
      'issuing',
      '--directory',
      token.directory,
      ...identity,
      '--common-name',
      'Our CA',
    );
    expect(made.status).toBe(0);
    const { request, keyId } = jsonOf(made) as { request: string; keyId: string };
    expect(openssl(['req', '-in', request, '-noout', '-verify', '-text'])).toMatch(/verify OK[^]*CA:TRUE, pathlen:0/);

    const path = (name: string): string => join(token.directory, name);
    openssl([
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-keyout',
      path('k'),
      '-out',
      path('r.pem'),
      '-subj',
      '/CN=Elsewhere',
      '-days',
      '400',
    ]);
    openssl([
      'x509',
      '-req',
      '-in',
      request,
      '-CA',
      path('r.pem'),
      '-CAkey',
      path('k'),
      '-copy_extensions',
      'copyall',
      '-days',
      '300',
      '-out',
      path('given.pem'),
    ]);
    const importing = [
      'ca',
      'import',
      '--name',
      'issuing',
      '--certificate',
      path('given.pem'),
      '--chain',
      path('r.pem'),
      '--directory',
      path('pki'),
    ];
    const imported = await run('--json', ...importing, '--key-id', keyId);
    expect([imported.status, imported.stderr]).toEqual([0, '']);
    const { certificateAuthorities } = jsonOf(imported) as { certificateAuthorities: Authorities };
    expect(certificateAuthorities['issuing']).toMatchObject({ keyId, chain: [path('pki/issuing-above-1.pem')] });
    configure(certificateAuthorities);
    const renewal = await run('--json', 'ca', 'request', '--name', 'again', '--directory', path('pki'), '--authority', 'issuing');
    expect(jsonOf(renewal)).toMatchObject({ keyId });

    const { issuing } = await init('--root', 'other-root', '--issuing-name', 'Another CA', '--directory', path('more'));
    const wrongKey = await run(...importing.slice(0, -1), path('pki-2'), '--key-id', issuing?.keyId ?? '');
    expect([wrongKey.status, wrongKey.stderr]).toEqual([
      5,
      expect.stringContaining('the key on the token is missing or does not match the certificate'),
    ]);
    expect(existsSync(path('pki-2'))).toBe(false);
  });

  it.each([
    [['init', '--root-years', '0'], '--root-years takes a number of years'],
    [['init', '--root-key-type', 'P-521'], '--root-key-type takes one of'],
    [['init', '--issuing', 'Issuing'], '--issuing takes a name of lower-case'],
    [['init', '--country', 'XX'], 'country'],
    [['certify', '--authority', 'none', '--by', 'none', '--file', 'x'], 'no certificate authority "none"'],
    [['request', '--name', 'x'], '--common-name'],
  ])('%j is a wrong command line', async (args, part) => {
    const [command = '', ...more] = args;
    const given = command === 'init' ? [...identity, ...more] : more;
    const said = await run('ca', command, '--directory', token.directory, ...given);
    expect([said.status, said.stderr]).toEqual([2, expect.stringContaining(part)]);
  });
});
