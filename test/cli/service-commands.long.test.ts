import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { spkiSha256 } from '../../src/clients/registry.ts';
import type { Description } from '../../src/quickstart/description.ts';
import { DaemonProcess, withOwnPorts } from '../support/daemon-process.ts';
import { openssl } from '../support/openssl.ts';
import { quickstartEnvironment } from '../support/quickstart-environment.ts';
import { signetctlHere as runHere } from '../support/signetctl-here.ts';
import { jsonOf, signetctl as run, type CommandRun } from '../support/signetctl.ts';

const environment = quickstartEnvironment();
let description: Description;
let daemon: DaemonProcess;

beforeAll(async () => {
  environment.prepare();
  description = environment.description();
  daemon = new DaemonProcess(description.configFile, withOwnPorts(environment).opsUrl);
  await daemon.start();
});

afterAll(async () => {
  await daemon.stop();
  environment.remove();
});

const signetctl = async (...args: string[]): Promise<CommandRun> => run(['--config', description.configFile, ...args]);
const signetctlHere = async (...args: string[]): Promise<CommandRun> => runHere(['--config', description.configFile, ...args]);
const inside = (name: string): string => join(environment.directory, name);

/** A file with a certificate of its own key, signed by itself. */
function certificateFile(name: string, days = 2): string {
  const file = inside(`${name}.pem`);
  const key = openssl(['genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256']);
  writeFileSync(file, openssl(['req', '-x509', '-new', '-key', '{key}', '-days', String(days), '-subj', `/CN=${name}`], { key }));
  return file;
}

const publicKeyOf = (file: string): string => spkiSha256(new X509Certificate(readFileSync(file)));

async function clients(): Promise<Record<string, unknown>[]> {
  return jsonOf(await signetctlHere('--json', 'client', 'list')) as Record<string, unknown>[];
}

describe('signetctl client', () => {
  it('add, list and revoke', async () => {
    const file = certificateFile('billing');
    const added = await signetctl(
      'client',
      'add',
      '--certificate',
      file,
      '--name',
      'billing',
      '--tenant',
      'demo',
      '--roles',
      'signature, keys',
    );
    expect([added.status, added.stdout]).toEqual([0, expect.stringContaining(publicKeyOf(file))]);
    expect(added.stderr).toContain('none of the authorities');
    expect(added.stderr).toContain('the certificate expires on');
    expect((await clients()).find(({ name }) => name === 'billing')).toMatchObject({
      tenant: 'demo',
      roles: ['signature', 'keys'],
      publicKey: publicKeyOf(file),
    });
    const revoked = await signetctl('client', 'revoke', 'billing');
    expect([revoked.status, revoked.stdout]).toEqual([0, expect.stringContaining('Client revoked')]);
    expect((await clients()).map(({ name }) => name)).toEqual(['app', 'other', 'otp', 'p384', 'signer']);
    const again = await signetctlHere('client', 'revoke', 'billing');
    expect([again.status, again.stderr]).toEqual([5, 'signetctl: client: no client "billing" is registered\n']);
  });

  it('add refuses a key that was revoked, without and with --replace, unless told that it comes again; twice', async () => {
    const file = inside('billing.pem');
    const add = async (...more: string[]): Promise<CommandRun> =>
      signetctlHere('client', 'add', '--certificate', file, '--name', 'billing', '--tenant', 'demo', '--roles', 'keys', ...more);
    const revoked = async (): Promise<unknown> => jsonOf(await signetctlHere('--json', 'client', 'list', '--revoked'));
    for (let round = 0; round < 2; round += 1) {
      expect(await revoked()).toEqual([expect.objectContaining({ name: 'billing', tenant: 'demo', publicKey: publicKeyOf(file) })]);
      for (const options of [[], ['--replace']]) {
        const refused = await add(...options);
        expect([refused.status, refused.stderr]).toEqual([5, expect.stringMatching(/ was revoked .*--again/)]);
      }
      expect((await clients()).map(({ name }) => name)).not.toContain('billing');
      expect((await add('--again')).status).toBe(0);
      expect(await revoked()).toEqual([]);
      expect((await clients()).map(({ name }) => name)).toContain('billing');
      expect((await signetctlHere('client', 'revoke', 'billing')).status).toBe(0);
    }
    expect((await signetctlHere('client', 'list', '--revoked')).stdout).toMatch(
      /^NAME +TENANT +REGISTERED +REVOKED +VALID UNTIL +PUBLIC KEY\nbilling +demo /,
    );
    const tail = jsonOf(await signetctlHere('--json', 'audit', 'tail', '--lines', '100')) as Record<string, unknown>[];
    expect(tail.filter(({ command, again: isAgain }) => command === 'client add' && isAgain === true)).toHaveLength(2);
  });

  it('add refuses a tenant that is not configured, roles that are none, a file that is no certificate, and a key that is registered', async () => {
    const file = certificateFile('nobody');
    const add = async (certificate: string, tenant: string, roles: string, ...more: string[]): Promise<[number | null, string]> => {
      const ended = await signetctlHere(
        ...['client', 'add', '--certificate', certificate, '--name', 'nobody', '--tenant', tenant, '--roles', roles],
        ...more,
      );
      return [ended.status, ended.stderr];
    };
    expect(await add(file, 'nowhere', 'keys')).toEqual([
      5,
      expect.stringContaining('no tenant "nowhere" is configured; configured: demo, other, otp, p384'),
    ]);
    expect(await add(file, 'constructor', 'keys')).toEqual([5, expect.stringContaining('no tenant "constructor"')]);
    expect(await add(file, 'demo', 'keys,root')).toEqual([2, expect.stringContaining('--roles: valid roles are signature, keys,')]);
    expect(await add(file, 'demo', 'keys,keys')).toEqual([2, expect.stringContaining('--roles: duplicate role')]);
    expect(await add(description.configFile, 'demo', 'keys')).toEqual([2, expect.stringContaining('this is not an X.509 certificate')]);
    expect(await add(inside('nothing.pem'), 'demo', 'keys')).toEqual([2, expect.stringContaining('nothing.pem')]);
    const registered = description.clients['app']?.certificate ?? '';
    expect(await add(registered, 'other', 'keys')).toEqual([5, expect.stringContaining('is already registered')]);
    expect((await clients()).map(({ name }) => name)).toEqual(['app', 'other', 'otp', 'p384', 'signer']);
  });

  it('two of one name are told apart by their public keys', async () => {
    const files = [certificateFile('twin'), certificateFile('twin2')];
    for (const file of files)
      await signetctlHere('client', 'add', '--certificate', file, '--name', 'twin', '--tenant', 'demo', '--roles', 'keys');
    const ambiguous = await signetctlHere('client', 'revoke', 'twin');
    expect(ambiguous.status).toBe(5);
    for (const file of files) expect(ambiguous.stderr).toContain(publicKeyOf(file));
    for (const file of files) expect((await signetctlHere('client', 'revoke', publicKeyOf(file))).status).toBe(0);
  });

  it('reload says how many there are', async () => {
    expect((await signetctl('client', 'reload')).stdout).toBe('5 clients are registered.\n');
  });
});

describe('signetctl key', () => {
  it('list and show say what is known of a key, and nothing of its secret', async () => {
    const [key] = jsonOf(await signetctl('--json', 'key', 'list')) as Record<string, unknown>[];
    expect(key).toMatchObject({
      tenant: 'demo',
      type: 'RSA-2048',
      protocol: 'PASSWORD',
      state: 'ACTIVE',
      subject: 'CN=Camille Martin,C=FR',
    });
    const reference = String(key?.['reference']);
    const shown = await signetctl('key', 'show', reference.toUpperCase());
    expect([shown.status, shown.stdout]).toEqual([0, expect.stringMatching(/^reference: +[0-9a-f]{40}\n[^]*attempts left: +5\n/)]);
    expect(Object.keys(key ?? {}).filter((name) => /mac|salt|secret|password/i.test(name))).toEqual([]);
    expect(jsonOf(await signetctlHere('--json', 'key', 'list', '--tenant', 'other'))).toEqual([]);
    expect(await signetctlHere('key', 'list', '--tenant', 'dmo')).toEqual({
      status: 5,
      stdout: '',
      stderr: 'signetctl: tenant: no tenant "dmo" is configured or has keys; configured: demo, other, otp, p384; did you mean "demo"?\n',
    });
    expect((await signetctlHere('key', 'show', '0'.repeat(40))).status).toBe(5);
    expect((await signetctlHere('key', 'show', 'nonsense')).status).toBe(2);
  });
});

async function inventory(): Promise<{ owners: Map<string, string>; run: CommandRun }> {
  const ended = await signetctlHere('--json', 'token', 'inventory');
  const { objects } = jsonOf(ended) as { objects: { id: string; owner: string }[] };
  return { owners: new Map(objects.map(({ id, owner }) => [id, owner])), run: ended };
}

describe('signetctl token inventory', () => {
  const ofOwner = (owners: ReadonlyMap<string, string>, owner: string): string[] =>
    // The keys of digital identities are named otherwise (44…).
    [...owners].filter(([id, its]) => its === owner && id.startsWith('43')).map(([id]) => id);

  it('distinguishes keys of callers from those that are made ahead', async () => {
    await expect
      .poll(async () => ofOwner((await inventory()).owners, 'pool').length, { timeout: 60_000, interval: 500 })
      .toBeGreaterThan(0);
    const keys = jsonOf(await signetctlHere('--json', 'key', 'list')) as { tokenId: string }[];
    // A key that is being made is not in the pool yet.
    await expect
      .poll(async () => ofOwner((await inventory()).owners, 'caller').toSorted(), { timeout: 60_000, interval: 500 })
      .toEqual(keys.map(({ tokenId }) => tokenId).toSorted());
    expect((await inventory()).run.stderr).toBe('');
    const { stdout } = await signetctlHere('token', 'inventory');
    expect(stdout).toMatch(/^pool +private key +\S+ +43[0-9a-f]{32} /m);
    expect(stdout).toMatch(/ of callers, [1-9][0-9]* made ahead; other objects: /);
  });
});

describe('signetctl audit prune', () => {
  it('removes nothing that is younger than audit.retentionDaysMin, and asks for a confirmation', async () => {
    const yesterday = new Date(Date.now() - 24 * 3600 * 1000).toISOString();
    const young = await signetctlHere('audit', 'prune', '--before', yesterday, '--confirm');
    expect([young.status, young.stderr]).toEqual([
      5,
      expect.stringContaining('records are kept for at least 365 days (audit.retentionDaysMin)'),
    ]);
    expect((await signetctlHere('audit', 'prune', '--before', '2020-01-01')).stderr).toContain("required option '--confirm'");
    expect((await signetctlHere('audit', 'prune', '--before', 'long ago', '--confirm')).status).toBe(2);
    const old = await signetctlHere('audit', 'prune', '--before', '2020-01-01', '--confirm');
    expect([old.status, old.stdout]).toEqual([0, 'No file of the log is that old.\n']);
  });
});

describe('signetctl status and doctor', () => {
  it('say that all is well', async () => {
    const status = await signetctl('status');
    expect([status.status, status.stdout, status.stderr]).toEqual([0, expect.stringMatching(/^ready: +yes$/m), '']);
    const doctor = await signetctl('doctor');
    expect([doctor.status, doctor.stdout]).toEqual([0, expect.stringContaining('module and token support what signetd needs')]);
    for (const part of ['configuration', 'service', 'signing', 'state store', 'audit log', 'clients', 'token', 'certificates', 'clock']) {
      expect(doctor.stdout).toMatch(new RegExp(`^(good|warning) +${part} `, 'm'));
    }
  });

  it('find a state store and an audit log that others may read', async () => {
    chmodSync(inside('state.sqlite'), 0o644);
    chmodSync(inside('audit'), 0o755);
    try {
      const { status, stdout } = await signetctlHere('doctor');
      expect(status).toBe(1);
      expect(stdout).toContain('state.sqlite: others may read or change it (mode 0644); chmod 0600 it');
      expect(stdout).toContain('audit: others may read or change it (mode 0755); chmod 0700 it');
    } finally {
      chmodSync(inside('state.sqlite'), 0o600);
      chmodSync(inside('audit'), 0o700);
    }
  });

  it('say that a changed configuration is not loaded', async () => {
    const text = readFileSync(description.configFile, 'utf8');
    writeFileSync(description.configFile, text.replace('maxValidityMinutes: 1440', 'maxValidityMinutes: 60'));
    expect((await signetctlHere('status')).stderr).toContain('not loaded yet: tenants.');
    writeFileSync(description.configFile, text.replace('maxValidityMinutes: 1440', 'maxValidityMinutes: none'));
    expect((await signetctlHere('status')).stderr).toContain('the file cannot be loaded as it is now');
    writeFileSync(description.configFile, text);
  });
});

describe('what signetctl leaves in the audit log', () => {
  it('is each command but status, with who gave it, and the log verifies', async () => {
    const tail = jsonOf(await signetctl('--json', 'audit', 'tail', '--lines', '1000')) as Record<string, unknown>[];
    // What the token did for an authority, or for the set-up of the quickstart, was asked for by no command of this test.
    const others = new Set(['sign for an authority', 'quickstart', 'twoddoc identity add']);
    const commands = tail.filter(
      ({ kind, authority, command }) => kind === 'administration' && authority === undefined && !others.has(String(command)),
    );
    expect(new Set(commands.map(({ command }) => command))).toEqual(
      new Set([
        'client add',
        'client list',
        'client list revoked',
        'client revoke',
        'client reload',
        'key list',
        'key show',
        'pool list',
        'audit prune',
      ]),
    );
    expect(new Set(commands.map(({ uid }) => uid))).toEqual(new Set([process.getuid?.()]));
    const added = commands.find(({ command, client }) => command === 'client add' && client === 'billing');
    const spki = publicKeyOf(inside('billing.pem')).slice(0, 16);
    expect(added).toMatchObject({ tenant: 'demo', roles: ['signature', 'keys'], spki });
    const refused = commands.find(({ tenant }) => tenant === 'nowhere');
    expect(refused).toMatchObject({ command: 'client add', fault: expect.stringContaining('no tenant') as string });
    expect((await signetctl('audit', 'tail', '--lines', '1000')).stdout).toMatch(
      /administration {2}user \d+ {2}client revoke {2}billing@demo/,
    );
    expect((await signetctl('audit', 'verify')).status).toBe(0);
  });
});

describe('while signetd does not run', () => {
  it('a daemon that was killed leaves a socket that the next one replaces', async () => {
    await daemon.kill();
    expect((await signetctlHere('status')).status).toBe(6);
    await daemon.start();
    expect((await signetctlHere('status')).status).toBe(0);
  });

  it('lists are read from the state store, changes say that it has to run', async () => {
    await daemon.stop();
    const list = await signetctl('client', 'list');
    expect([list.status, list.stdout, list.stderr]).toEqual([
      0,
      expect.stringContaining('signer'),
      expect.stringContaining('signetd is not running'),
    ]);
    const reference = /^([0-9a-f]{40}) /m.exec((await signetctlHere('key', 'list')).stdout)?.[1] ?? '';
    expect((await signetctlHere('key', 'show', reference)).status).toBe(0);
    expect((await signetctlHere('key', 'show', '0'.repeat(40))).status).toBe(5);
    for (const command of [['client', 'revoke', 'app'], ['client', 'reload'], ['reload'], ['status']]) {
      const ended = await signetctlHere(...command);
      expect([ended.status, ended.stderr]).toEqual([6, expect.stringMatching(/signetd is not running: .*; start it first/)]);
    }
    expect(new Set((await inventory()).owners.values())).toEqual(new Set(['service', 'caller', 'pool']));
    const doctor = await signetctlHere('doctor');
    expect([doctor.status, doctor.stdout]).toEqual([1, expect.stringContaining('5 clients registered')]);
  });
});
