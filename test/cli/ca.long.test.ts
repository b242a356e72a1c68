import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { X509Certificate } from 'node:crypto';
import { openssl } from '../support/openssl.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { signetctlHere } from '../support/signetctl-here.ts';
import { jsonOf, signetctl, type CommandRun } from '../support/signetctl.ts';

let token: ScratchToken;
let configPath: string;
/** What the first `init` on the token said, and the keys that were on it then. */
let made: CommandRun;
let keysMade: string[];
let root: Authority;
let issuing: Authority;
/** Of what one test makes. */
let directory: string;

beforeAll(async () => {
  token = scratchToken();
  configPath = join(token.directory, 'signetd.yaml');
  configure({});
  directory = token.directory;
  made = await run(...initialising('--public-url', 'http://pki.example.test:8080/', '--issuing-years', '1'));
  keysMade = keysOnToken();
  const { certificateAuthorities } = parse(made.stdout.split('\n\n').slice(1).join('\n\n')) as { certificateAuthorities: Authorities };
  if (certificateAuthorities['root'] === undefined || certificateAuthorities['issuing'] === undefined) throw new Error('two authorities');
  ({ root, issuing } = certificateAuthorities as { root: Authority; issuing: Authority });
});
afterAll(() => {
  token.remove();
});
beforeEach(() => {
  configure({ root, issuing });
  directory = mkdtempSync(join(token.directory, 'ca-'));
});

interface Authority {
  readonly certificate: string;
  readonly chain: readonly string[];
  readonly keyId: string;
}

interface Authorities {
  readonly [name: string]: Authority;
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
const runHere = async (...args: string[]): Promise<CommandRun> => signetctlHere(['--config', configPath, ...args]);
const identity = ['--country', 'FR', '--organization', 'Société "X", CN=y'];
const initialising = (...more: string[]): string[] => ['ca', 'init', '--directory', directory, ...identity, ...more];

async function init(...more: string[]): Promise<Authorities> {
  const said = await runHere('--json', ...initialising(...more));
  expect([said.status, said.stderr]).toEqual([0, '']);
  return (jsonOf(said) as { certificateAuthorities: Authorities }).certificateAuthorities;
}
const certificate = (path: string): X509Certificate => new X509Certificate(readFileSync(path));
const show = (path: string): string =>
  openssl(['x509', '-in', path, '-noout', '-text', '-nameopt', 'utf8,sep_comma_plus,esc_2253,esc_ctrl']);
const verify = (anchor: string, ...args: string[]): string =>
  openssl(['verify', '-x509_strict', '-check_ss_sig', '-CAfile', anchor, ...args]);
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
  it('init makes a root and an issuing CA on the token, strictly valid, and says what the configuration needs', () => {
    expect([made.status, made.stderr]).toEqual([0, '']);
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
    expect(new Set(keysMade)).toEqual(new Set([root.keyId, issuing.keyId]));
    // The user of the service reads them too.
    expect([root, issuing].map((authority) => statSync(authority.certificate).mode & 0o777)).toEqual([0o644, 0o644]);
  });

  it("init takes the PIN from the service's file, which root may read", async (context) => {
    if (process.geteuid?.() !== 0) context.skip('only root can give a file away');
    const pin = join(token.directory, 'pin');
    chownSync(pin, 12_345, 12_345);
    try {
      expect(Object.keys(await init())).toEqual(['issuing', 'root']);
    } finally {
      chownSync(pin, 0, 0);
    }
  });

  it('init prints a configuration that signetd reads, and overwrites nothing: a second run leaves no key behind', async () => {
    expect(parse(made.stdout.split('\n\n').slice(1).join('\n\n'))).toMatchObject({ certificateAuthorities: { root: {}, issuing: {} } });
    const before = keysOnToken();
    directory = token.directory;
    const again = await runHere(...initialising());
    expect(again.status).toBe(5);
    expect(again.stderr).toContain('already exists and will not be overwritten');
    expect(keysOnToken().toSorted()).toEqual(before.toSorted());
  });

  it('certify renews the issuing CA with its key, and cross-certifies it under another root', async () => {
    const renewal = await run('ca', 'certify', '--authority', 'issuing', '--by', 'root', '--directory', directory, '--file', 'new.pem');
    expect(renewal.status).toBe(0);
    const renewed = certificate(join(directory, 'new.pem'));
    const old = certificate(issuing.certificate);
    const [said = '', section = ''] = renewal.stdout.split('\nSet this in the configuration:\n\n');
    for (const line of [
      /^Issued the next certificate of "issuing", signed by "root"\.$/m,
      new RegExp(`^certificate: +${join(directory, 'new.pem')}$`, 'm'),
      /^issuer: +CN=.*Root.*,O=.*,C=FR$/m,
      new RegExp(`^valid until: +${new Date(renewed.validTo).toISOString()}$`, 'm'),
      new RegExp(`^SHA-256: +${renewed.fingerprint256.replaceAll(':', '').toLowerCase()}$`, 'm'),
    ])
      expect(said).toMatch(line);
    expect(parse(section)).toEqual({
      certificateAuthorities: { issuing: { certificate: join(directory, 'new.pem'), crossCertificates: [issuing.certificate] } },
    });
    expect(renewed.publicKey.equals(old.publicKey)).toBe(true);
    expect(renewed.subject).toBe(old.subject);
    expect(renewed.serialNumber).not.toBe(old.serialNumber);
    expect(new Date(renewed.validTo).getTime()).toBeGreaterThan(new Date(old.validTo).getTime());
    expect(verify(root.certificate, join(directory, 'new.pem'))).toContain('OK');

    const own = await runHere('ca', 'certify', '--authority', 'root', '--by', 'root', '--directory', directory, '--file', 'root-2.pem');
    expect(own.status).toBe(0);
    expect(verify(join(directory, 'root-2.pem'), issuing.certificate)).toContain('OK');

    directory = join(directory, 'new');
    const other = await init('--root', 'root-b', '--issuing', 'issuing-b', '--root-name', 'Other Root', '--issuing-name', 'Other CA');
    configure({ root, issuing, ...other });
    const args = ['--authority', 'root', '--by', 'root-b', '--directory', directory, '--file', 'cross.pem'];
    const cross = await runHere('--json', 'ca', 'certify', ...args);
    expect([cross.status, cross.stderr]).toEqual([0, expect.stringContaining('signetctl reload')]);
    const crossed = certificate(join(directory, 'cross.pem'));
    expect(jsonOf(cross)).toMatchObject({
      certificate: join(directory, 'cross.pem'),
      sha1: crossed.fingerprint.replaceAll(':', '').toLowerCase(),
      sha256: crossed.fingerprint256.replaceAll(':', '').toLowerCase(),
      serialNumber: crossed.serialNumber.toLowerCase(),
      notAfter: new Date(crossed.validTo).toISOString(),
      certificateAuthorities: { root: { crossCertificates: [join(directory, 'cross.pem')] } },
    });
    expect(verify(other['root-b']?.certificate ?? '', '-untrusted', join(directory, 'cross.pem'), issuing.certificate)).toContain('OK');
  });

  it('issue makes a successor with a key of its own', async () => {
    const args = ['--by', 'root', '--name', 'issuing-2', '--directory', directory, ...identity, '--common-name', 'Issuing CA 2'];
    const issued = await run('--json', 'ca', 'issue', ...args, '--key-type', 'P-384');
    const { certificateAuthorities } = jsonOf(issued) as { certificateAuthorities: Authorities };
    const successor = certificateAuthorities['issuing-2'];
    expect(verify(root.certificate, successor?.certificate ?? '')).toContain('OK');
    expect(keysOnToken()).toContain(successor?.keyId);
  });

  it('request and import bring a CA under a root elsewhere', async () => {
    configure({});
    const requested = await run(
      '--json',
      'ca',
      'request',
      '--name',
      'issuing',
      '--directory',
      directory,
      ...identity,
      '--common-name',
      'Our CA',
    );
    expect(requested.status).toBe(0);
    const { request, keyId } = jsonOf(requested) as { request: string; keyId: string };
    expect(openssl(['req', '-in', request, '-noout', '-verify', '-text'])).toMatch(/verify OK[^]*CA:TRUE, pathlen:0/);

    const path = (name: string): string => join(directory, name);
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
    const renewal = await runHere('--json', 'ca', 'request', '--name', 'again', '--directory', path('pki'), '--authority', 'issuing');
    expect(jsonOf(renewal)).toMatchObject({ keyId });

    const wrongKey = await runHere(...importing.slice(0, -1), path('pki-2'), '--key-id', issuing.keyId);
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
    const said = await runHere('ca', command, '--directory', directory, ...given);
    expect([said.status, said.stderr]).toEqual([2, expect.stringContaining(part)]);
  });
});
