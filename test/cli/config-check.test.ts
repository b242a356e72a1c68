import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { description, directory as quickstart } from '../support/api.ts';
import { hourMs, ScratchAuthority } from '../support/scratch-authority.ts';
import { signetctlHere } from '../support/signetctl-here.ts';
import { jsonOf, signetctl, type CommandRun } from '../support/signetctl.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-check-'));

interface Settings {
  listeners: { api: Record<string, string> & { clientRevocationLists?: string[] } };
  token: Record<string, unknown>;
  tenants: Record<string, Record<string, unknown>>;
  certificateAuthorities: Record<string, Record<string, unknown>>;
  state: { path: string };
  timeStampAuthority: Record<string, unknown> & { certificate: string };
}

beforeAll(() => {
  const openssl = (...args: string[]): void => {
    execFileSync('openssl', args, { stdio: 'ignore' });
  };
  const key = join(directory, 'other.key');
  openssl(
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-subj',
    '/CN=other',
    '-keyout',
    key,
    '-out',
    join(directory, 'other.pem'),
  );
  openssl('req', '-new', '-key', key, '-subj', '/CN=old', '-out', join(directory, 'old.csr'));
  openssl('x509', '-req', '-in', join(directory, 'old.csr'), '-signkey', key, '-days', '-1', '-out', join(directory, 'old.pem'));
});

afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** The running service's configuration, changed. */
function configured(change: (settings: Settings) => void): string {
  const settings = parse(readFileSync(description.configFile, 'utf8')) as Settings;
  change(settings);
  const configPath = join(directory, 'signetd.yaml');
  writeFileSync(configPath, stringify(settings), { mode: 0o600 });
  return configPath;
}

async function check(change: (settings: Settings) => void): Promise<CommandRun & { readonly configPath: string }> {
  const configPath = configured(change);
  return { ...(await signetctlHere(['--config', configPath, 'config', 'check'])), configPath };
}

function pinOfAnotherForm(): string {
  const path = join(directory, 'other-pin');
  writeFileSync(path, 'hunter2\n', { mode: 0o600 });
  return path;
}

const other = (name: string): string => join(directory, name);

describe('config check', () => {
  it('finds the configuration of a running service good, the keys on its token included', async () => {
    const configPath = configured(() => undefined);
    const { status, stdout, stderr } = await signetctl(['--config', configPath, 'config', 'check']);
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: `${configPath} is valid\n`, stderr: '' });
  });

  it.each<[string, object]>([
    ['lint rule extended-key-usage (RFC 5280 4.2.1.12): OCSPSigning', { extendedKeyUsage: ['1.3.6.1.5.5.7.3.9'] }],
    ['lint rule key-usage (RFC 5280 4.2.1.3, RFC 8813 3): keyCertSign', { keyUsage: ['keyCertSign'] }],
    ['subject: "shoeSize" is neither an RFC 4519 attribute', { subject: { allowed: ['shoeSize'] } }],
  ])('says "%s" of a profile that could give no good certificate', async (part, profile) => {
    const { status, stderr } = await check(({ tenants }) => {
      tenants['other'] = { ...tenants['other'], profile: { keyType: 'P-256', ...profile } };
    });
    expect([status, stderr]).toEqual([1, expect.stringContaining(` tenants.other.profile: ${part}`)]);
  });

  it('says what it cannot check while the token host does not run', async () => {
    const answer = await check((settings) => {
      settings.token['socketPath'] = other('none.sock');
    });
    expect(answer.status).toBe(0);
    expect(answer.stderr).toContain('note: ');
    expect(answer.stderr).toContain('the token host is not running');
  });

  it('reports every fault of the form on a line of its own', async () => {
    const { status, stdout, stderr } = await check((settings) => {
      settings.token['lable'] = 'x';
      settings.token['threads'] = 0;
      settings.token['pin'] = '123456';
      settings.listeners.api['certificate'] = '';
    });
    expect(status).toBe(1);
    expect(stdout).toBe('');
    const lines = stderr.trim().split('\n');
    expect(lines.length).toBe(4);
    for (const member of ['token.threads', 'token.pin', 'listeners.api.certificate', 'lable']) {
      expect(lines.filter((line) => line.includes(member)).length).toBe(1);
    }
    expect(stderr).not.toContain('123456');
  });

  it('reports every tenant without its certificate authority', async () => {
    let tenants: readonly string[] = [];
    const { stderr } = await check((settings) => {
      tenants = Object.keys(settings.tenants);
      for (const tenant of Object.values(settings.tenants)) tenant['certificateAuthority'] = 'none';
    });
    const lines = stderr.trim().split('\n');
    expect(lines.length).toBe(tenants.length);
    for (const tenant of tenants) expect(stderr).toContain(`tenants.${tenant}.certificateAuthority`);
  });

  it('reports every fault of the files, and answers them as JSON', async () => {
    const openKey = other('open.key');
    copyFileSync(join(quickstart, 'tls', 'server.key'), openKey);
    chmodSync(openKey, 0o644);
    const configPath = configured((settings) => {
      settings.listeners.api['key'] = openKey;
      settings.listeners.api['clientCertificateAuthority'] = other('none.pem');
      settings.token['pin'] = `file:${other('none')}`;
      settings.token['modulePath'] = '/nowhere.so';
      settings.state.path = '/nowhere/state.sqlite';
      settings.certificateAuthorities['issuing'] = { ...settings.certificateAuthorities['issuing'], chain: [other('other.pem')] };
    });
    const answer = await signetctl(['--config', configPath, 'config', 'check', '--json']);
    expect(answer.status).toBe(1);
    const { faults } = jsonOf(answer) as { faults: string[] };
    const expected = [
      `listeners.api.key: ${openKey}: other users can read this file (mode 0644)`,
      `listeners.api.clientCertificateAuthority: ${other('none.pem')}: there is no such file`,
      `token.pin: file:${other('none')}: there is no such file`,
      'token.modulePath: there is no file /nowhere.so',
      'state.path: /nowhere: there is no such file',
      `certificateAuthorities.issuing: ${other('other.pem')} did not issue`,
    ];
    expect(faults.length).toBe(expected.length);
    for (const text of expected) expect(faults.some((fault) => fault.includes(text))).toBe(true);
  });

  it("finds that the token's profile does not fit: too many threads, no variable, a PIN of another form", async () => {
    const { status, stderr } = await check((settings) => {
      settings.token['profile'] = 'yubihsm2';
      settings.token['threads'] = 16;
      settings.token['modulePath'] = '/etc/hostname';
      settings.token['environment'] = {};
      settings.token['pin'] = `file:${pinOfAnotherForm()}`;
    });
    expect(status).toBe(1);
    for (const text of [
      'token.threads: 16 threads need 17 sessions',
      'YUBIHSM_PKCS11_CONF, which is not set',
      'token.pin: YubiHSM 2 requires',
    ]) {
      expect(stderr.split('\n').filter((line) => line.includes(text)).length).toBe(1);
    }
    expect(stderr).not.toContain('hunter2');
  });

  it.each([
    ['a key of another certificate', 'key', 'other.key', 'this is not the key of'],
    ['a certificate where the key should be', 'key', 'other.pem', 'this is not a PEM private key'],
    ['a certificate that has expired', 'certificate', 'old.pem', 'the certificate expired on'],
    ['a key where the certificate should be', 'certificate', 'other.key', 'this file has no PEM certificate'],
  ])('finds %s', async (_name, member, file, text) => {
    const { status, stderr } = await check((settings) => {
      settings.listeners.api[member] = other(file);
    });
    expect(status).toBe(1);
    expect(stderr).toContain(text);
  });

  it('finds a certificate authority whose key on the token is another one', async () => {
    const { status, stderr } = await check((settings) => {
      settings.certificateAuthorities['issuing'] = {
        ...settings.certificateAuthorities['issuing'],
        certificate: other('other.pem'),
        chain: [],
      };
    });
    expect(status).toBe(1);
    expect(stderr).toContain('certificateAuthorities.issuing: the key on the token does not match the certificate');
  });

  it.each([
    ['that has another purpose', () => ({ certificate: join(quickstart, 'pki', 'issuing.pem') }), 'extendedKeyUsage must be critical'],
    ['without its root', ({ certificate }) => ({ chain: [certificate] }), 'did not issue'],
    ['that is not there', () => ({ certificate: other('none.pem') }), 'there is no such file'],
    ['whose former certificate is none', () => ({ formerCertificates: [other('other.key')] }), 'this file has no PEM certificate'],
    ['of a policy that is none', () => ({ policy: '1.x' }), 'a dotted object identifier'],
  ] as [string, (section: Settings['timeStampAuthority']) => object, string][])(
    'finds a time-stamp authority %s',
    async (_name, changes, fault) => {
      const { status, stderr } = await check((settings) => {
        Object.assign(settings.timeStampAuthority, changes(settings.timeStampAuthority));
      });
      expect(status).toBe(1);
      expect(stderr).toContain('timeStampAuthority');
      expect(stderr).toContain(fault);
    },
  );

  it('finds a time-stamp authority whose key on the token is another one', async () => {
    const { status, stderr } = await check((settings) => {
      settings.timeStampAuthority['keyId'] = settings.certificateAuthorities['issuing']?.['keyId'];
    });
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining('timeStampAuthority.keyId: not the CKA_ID of a time-stamp authority, which begins with 54'),
    ]);
  });

  it('says that there is no file, and that it is no YAML', async () => {
    const none = await signetctlHere(['--config', '/nowhere/signetd.yaml', 'config', 'check']);
    expect(none.status).toBe(1);
    expect(none.stderr).toContain('/nowhere/signetd.yaml');
    writeFileSync(other('bad.yaml'), 'a: [');
    const bad = await signetctlHere(['--config', other('bad.yaml'), 'config', 'check']);
    expect(bad.status).toBe(1);
    expect(bad.stderr).not.toContain('    at ');
  });

  it('reads the CRLs of the clients as the daemon does', async () => {
    const tls = join(quickstart, 'tls');
    const authority = new ScratchAuthority(directory, 'tls', { existing: { certificate: join(tls, 'ca.pem'), key: join(tls, 'ca.key') } });
    const withList = async (list: string): Promise<CommandRun> => {
      writeFileSync(other('clients.crl'), list);
      return check(({ listeners }) => {
        listeners.api.clientRevocationLists = [other('clients.crl')];
      });
    };
    const past = { from: new Date(Date.now() - 2 * hourMs), until: new Date(Date.now() - hourMs) };
    expect((await withList(authority.revocationList())).status).toBe(0);
    expect((await withList(authority.revocationList(past))).stderr).toMatch(
      /clientRevocationLists: the CRL of CN=.* expired on .*: its clients are refused/,
    );
    expect((await withList('no list')).stderr).toMatch(/clientRevocationLists: .*clients\.crl: there is no CRL in PEM or DER/);
    const { status, stderr } = await check(({ listeners }) => {
      delete listeners.api.clientRevocationLists;
    });
    expect([status, stderr]).toEqual([0, expect.stringContaining('client certificates are not checked for revocation')]);
  });
});
