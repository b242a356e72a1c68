import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { shellBlocks } from '../../docs/shell-blocks.ts';
import { BootedSystemd, whyNotBootable } from '../../support/booted-systemd.ts';
import { openssl } from '../../support/openssl.ts';
import { skipNote } from '../../support/skip-note.ts';

const reason = whyNotBootable();
const material = mkdtempSync(join(tmpdir(), 'signetd-setup-'));
const program = '/usr/lib/signetd';
const signetctl = [`${program}/runtime/node`, '--disable-sigusr1', `${program}/dist/cli.js`];
const usual = ['--unattended', '--organization', 'Example SA', '--country', 'FR'];
const hsmPin = '735192';
let machine = new BootedSystemd();

interface Ran {
  readonly status: number | null;
  readonly output: string;
}

const setup = (...args: readonly string[]): Ran => machine.try(...signetctl, 'setup', ...args);
const shell = (line: string): string => machine.run('sh', '-c', line);
const ready = (): string => machine.try('curl', '--silent', '--max-time', '5', 'http://127.0.0.1:9443/health/ready').output;

/** The command under a heading of docs/setup.md, for this machine and with its own options. */
function commandIn(heading: string, ...changes: readonly (readonly [from: string, to: string])[]): string {
  const commands = shellBlocks(readFileSync('docs/setup.md', 'utf8'), heading)
    .map((block) => block.commands)
    .join('');
  return [...changes, ['signetctl', signetctl.join(' ')] as const].reduce((text, [from, to]) => text.replace(from, to), commands).trim();
}

/** The command that setup printed last. */
const curlIn = (output: string): string => /^curl .*$/m.exec(output)?.[0].trim() ?? '';

async function boot(): Promise<void> {
  machine = new BootedSystemd();
  await machine.boot(material);
  machine.run('systemctl', 'mask', 'systemd-networkd-wait-online.service');
}

/** A token like one that a vendor's tools have initialised. */
function makeHsm(): void {
  shell(`set -eu
    mkdir -p /etc/hsm/tokens
    printf '%s\\n' 'directories.tokendir = /etc/hsm/tokens' 'objectstore.backend = file' >/etc/hsm/softhsm2.conf
    SOFTHSM2_CONF=/etc/hsm/softhsm2.conf softhsm2-util --init-token --free --label rack --pin ${hsmPin} --so-pin 99999999
    cp /srv/hsm.yaml /etc/hsm/profile.yaml && chmod -R a+rX /etc/hsm
    chown -R signetd-token /etc/hsm/tokens && chmod -R go= /etc/hsm/tokens
    printf %s ${hsmPin} >/root/pin && chmod 0600 /root/pin`);
}

beforeAll(() => {
  cpSync('test/cli/setup/guided.py', join(material, 'guided.py'));
  writeFileSync(
    join(material, 'hsm.yaml'),
    [
      'vendor: Rack HSM',
      'tried: true',
      'source: [a test]',
      'modulePaths: [/usr/lib/softhsm/libsofthsm2.so]',
      'generationAttempts: 5',
      'environment: [{ name: SOFTHSM2_CONF }]',
      "pin: { pattern: '^[0-9]{6}$', form: six digits }",
    ].join('\n'),
  );
});

afterEach(async () => {
  await machine.remove();
});

afterAll(() => {
  rmSync(material, { recursive: true, force: true });
});

describe.skipIf(reason !== undefined)(`signetctl setup on a booted systemd${skipNote(reason)}`, { timeout: 400_000 }, () => {
  it('leads from the installed units to a first signature in one unattended command, and goes on after a failure', async () => {
    await boot();
    const options = [...usual, '--token', 'softhsm', '--public-url', 'http://pki.example.test:8080'];
    expect(setup(...options, '--plan-only')).toMatchObject({
      status: 0,
      output: expect.stringContaining('make the software token') as unknown,
    });
    expect(machine.try('ls', '/etc/signetd/signetd.yaml').status).toBe(2);
    // Files of somebody else in the directory of the client.
    shell('mkdir -p /etc/signetd/clients/app-first-signature && echo mine >/etc/signetd/clients/app.p12');
    const overwriting = setup(...options);
    expect(overwriting.status).toBe(5);
    for (const name of ['app.p12', 'app-first-signature'])
      expect(overwriting.output).toContain(`/etc/signetd/clients/${name} exists, and setup overwrites nothing`);
    expect(machine.run('cat', '/etc/signetd/clients/app.p12')).toBe('mine\n');
    shell('rm -r /etc/signetd/clients');
    // What makes the first run fail late.
    machine.run('systemctl', 'mask', '--runtime', 'signetd-public.socket');
    expect(setup(...options)).toMatchObject({ status: 1, output: expect.stringContaining('masked') as unknown });
    const roots = machine.run('sha256sum', '/etc/signetd/pki/root.pem', '/etc/signetd/tls/client-ca.pem');
    machine.run('systemctl', 'unmask', '--runtime', 'signetd-public.socket');
    expect(setup('--unattended', '--organization', 'Other')).toMatchObject({
      status: 2,
      output: expect.stringContaining('began with') as unknown,
    });

    // What keeps the daemon itself from starting: its own reason is shown, not only that it failed.
    shell('mkdir -p /var/log/signetd && echo taken >/var/log/signetd/audit && chown -R signetd:signetd /var/log/signetd');
    const failed = setup('--unattended');
    expect([failed.status, failed.output]).toEqual([1, expect.stringMatching(/^(?:signetctl: )? *signetd cannot start: .*audit/m)]);
    expect(failed.output).not.toMatch(/Scheduled restart job|Main process exited/);
    shell('rm /var/log/signetd/audit');

    const { status, output } = setup('--unattended');
    expect([status, output]).toEqual([0, expect.stringContaining('signetd is set up and ready')]);
    expect(output).toContain('OpenSSL has verified it');
    expect(machine.run('journalctl', '--no-pager', '--output=cat', '--unit=signetd.service', '--priority=warning')).toContain(
      'signetd cannot start: ',
    );
    expect(machine.run('sha256sum', '/etc/signetd/pki/root.pem', '/etc/signetd/tls/client-ca.pem')).toBe(roots);
    expect(ready()).toContain('"ready"');
    // The key of the first signature is made before the first ones in advance.
    expect(machine.run('journalctl', '--no-pager', '--unit=signetd.service')).not.toContain('no key was ready');
    expect(JSON.parse(shell(curlIn(output)))).toMatchObject({ result: { resultMajor: 0 } });
    expect(shell('curl --silent http://127.0.0.1:8080/pki/issuing.crl | openssl crl -inform DER -noout -text')).toContain(
      'Example SA Issuing CA',
    );

    // Nothing secret is in clear, but for the client's files, which only root can read.
    expect(shell('find /etc/signetd /etc/credstore.encrypted -type f -perm /077 -path "*clients*"')).toBe('');
    expect(shell('find /etc/signetd/clients /etc/credstore.encrypted -maxdepth 0 -printf "%m %u\\n"')).toBe('700 root\n700 root\n');
    expect(machine.try('grep', '-rl', '--exclude-dir=credentials', 'PRIVATE KEY', '/etc/signetd', '/var/lib', '/run').output).toMatch(
      /^\/etc\/signetd\/clients\/app\.key\n$/,
    );
    const pin = machine.run('systemd-creds', 'decrypt', '--name=pin', '/etc/credstore.encrypted/signetd.pin', '-');
    expect(machine.try('grep', '-rlF', '--exclude-dir=credentials', pin, '/etc', '/var', '/run').output).toBe('');
    expect(machine.run('journalctl', '--no-pager')).not.toContain(pin);

    // It is set up: another run changes nothing.
    const again = setup(...options);
    expect([again.status, again.output]).toEqual([5, expect.stringContaining('signetd is set up already')]);
    expect(machine.run('sha256sum', '/etc/signetd/pki/root.pem', '/etc/signetd/tls/client-ca.pem')).toBe(roots);
    expect(machine.run(...signetctl, 'config', 'check')).toContain('is valid');

    // Commands of root leave a token that its own user can read, and a key of the API that fits.
    machine.run(...signetctl, 'client', 'issue', '--name', 'two', '--tenant', 'main', '--roles', 'keys', '--directory', '/root/two');
    machine.run(
      'systemctl',
      'stop',
      'signetd-api.socket',
      'signetd-operations.socket',
      'signetd-public.socket',
      'signetd',
      'signetd-token',
    );
    expect(machine.run(...signetctl, 'config', 'check')).toContain('is valid');
    const second = ['--by', 'root', '--name', 'second', '--country', 'FR', '--organization', 'X', '--common-name', 'Second CA'];
    machine.run(...signetctl, 'ca', 'issue', ...second, '--directory', '/root/second');
    machine.run(...signetctl, 'server', 'renew', '--new-key', '--days', '90');
    machine.run('systemctl', 'start', 'signetd');
    await machine.until('it serves again', () => ready().includes('"ready"'));
    expect(JSON.parse(shell(curlIn(output)))).toMatchObject({ result: { resultMajor: 0 } });
    const shown = shell('openssl s_client -connect 127.0.0.1:8443 </dev/null 2>/dev/null | openssl x509 -noout -checkend 7862400; echo $?');
    expect(shown).toMatch(/will expire/);
  });

  it('asks on a terminal what it needs to know, and never shows a PIN', async () => {
    await boot();
    makeHsm();
    const answers = [
      ['token for the keys', 'hsm'],
      ['profile of the HSM', '/etc/hsm/profile.yaml'],
      ['PKCS#11 module', ''],
      ['label of the token', 'rack'],
      ['environment variables', 'SOFTHSM2_CONF=/etc/hsm/softhsm2.conf'],
      ['addresses of an HSM', ''],
      ['device node', ''],
      ['group of the device', ''],
      ['directory in which', '/etc/hsm/tokens'],
      ['executable memory', ''],
      ['state store', ''],
      ['organisation in', 'Société Exemple'],
      ['its country', 'France'],
      ['its country', 'FR'],
      ['issuing CA of', ''],
      ['external address', ''],
      ['host names', 'localhost'],
      ['certificate of the API', ''],
      ['CA of the client', ''],
      ['first tenant', ''],
      ['signing keys', ''],
      ['first client', ''],
      ['its roles', ''],
      ['directory for the client', ''],
      ['Go on? [y/N]', 'y'],
      ['PIN of the token', hsmPin],
    ];
    const { status, output } = machine.try('python3', '/srv/guided.py', JSON.stringify(answers), ...commandIn('Guided').split(' '));
    expect([status, output]).toEqual([0, expect.stringContaining('signetd is set up and ready')]);
    expect(output).not.toContain(hsmPin);
    expect(output).toContain('It takes two letters (ISO 3166-1)');
    expect(JSON.parse(shell(curlIn(output)))).toMatchObject({ result: { resultMajor: 0 } });
    expect(machine.run('cat', '/etc/systemd/system/signetd-token.service.d/setup.conf')).toContain('ReadWritePaths=/etc/hsm/tokens');
  });

  it('tries a wrong PIN once, never initialises a token, and uses none that has keys of signetd', async () => {
    await boot();
    makeHsm();
    const command = commandIn(
      'HSM',
      ['setup', "setup --unattended --organization 'Example SA' --country FR --module-environment SOFTHSM2_CONF=/etc/hsm/softhsm2.conf"],
      ['--profile luna', '--profile /etc/hsm/profile.yaml'],
      ['--label signing', '--label rack'],
      ['/var/lib/lunaclient', '/etc/hsm/tokens'],
    );
    shell('printf 123456 >/root/wrong && chmod 0600 /root/wrong; printf 12345 >/root/short && chmod 0600 /root/short');
    expect(machine.try('sh', '-c', command)).toMatchObject({
      status: 2,
      output: expect.stringContaining('--pin-file is missing') as unknown,
    });
    expect(setup('--unattended', '--pin-file', '/root/short')).toMatchObject({
      status: 2,
      output: expect.stringContaining('six digits') as unknown,
    });
    const wrong = setup('--unattended', '--pin-file', '/root/wrong');
    expect([wrong.status, wrong.output]).toEqual([4, expect.stringContaining('it was tried once')]);
    expect(machine.try('ls', '/etc/credstore.encrypted/signetd.pin').status).toBe(2);
    // The same file would bring the token closer to its lock.
    const same = setup('--unattended', '--pin-file', '/root/wrong');
    expect([same.status, same.output]).toEqual([4, expect.stringContaining('correct it first')]);
    const other = ['--private', '--label', 'signetd test', '--id', '01'];
    const tool = [
      'env',
      'SOFTHSM2_CONF=/etc/hsm/softhsm2.conf',
      'pkcs11-tool',
      '--module',
      '/usr/lib/softhsm/libsofthsm2.so',
      '--token-label',
      'rack',
    ];
    machine.run(...tool, '--login', '--pin', hsmPin, '--keypairgen', '--key-type', 'EC:prime256v1', ...other.slice(1));
    // An object of somebody else is no obstacle, a key of signetd is.
    machine.run(
      ...tool,
      '--login',
      '--pin',
      hsmPin,
      '--keypairgen',
      '--key-type',
      'EC:prime256v1',
      '--label',
      'old',
      '--id',
      `52${'ab'.repeat(16)}`,
    );
    const refused = setup('--unattended', '--pin-file', '/root/pin');
    expect([refused.status, refused.output]).toEqual([5, expect.stringMatching(/has \d keys? of signetd already/)]);
    machine.run(...tool, '--login', '--pin', hsmPin, '--delete-object', '--type', 'privkey', '--id', `52${'ab'.repeat(16)}`);
    machine.try(...tool, '--login', '--pin', hsmPin, '--delete-object', '--type', 'pubkey', '--id', `52${'ab'.repeat(16)}`);
    machine.run('chown', '-R', 'signetd-token', '/etc/hsm/tokens');
    expect(setup('--unattended')).toMatchObject({ status: 0 });
    expect(machine.run(...tool, '--login', '--pin', hsmPin, '--list-objects')).toContain('signetd test');
  });

  it('waits for the certificates of outside CAs, and goes on with them', async () => {
    await boot();
    // What an existing configuration is worth.
    shell('umask 027; echo "listeners: {}" >/etc/signetd/signetd.yaml');
    const options = [
      ...usual,
      '--token',
      'softhsm',
      '--authority',
      'outside',
      '--server',
      'request',
      '--clients',
      'outside',
      '--host',
      'sign.example.test',
    ];
    expect(setup(...options)).toMatchObject({ status: 5, output: expect.stringContaining('--overwrite') as unknown });
    expect(machine.run('cat', '/etc/signetd/signetd.yaml')).toBe('listeners: {}\n');
    const waiting = setup(...options, '--overwrite');
    expect([waiting.status, waiting.output]).toEqual([8, expect.stringContaining('setup waits for the certificate of the issuing CA')]);
    expect(waiting.output).toContain('setup waits for the certificate of the API');
    expect(waiting.output).toContain('setup waits for the CA of the clients');
    expect(shell('cat /etc/signetd/signetd.yaml.before-setup-*')).toBe('listeners: {}\n');

    const key = openssl(['genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256']);
    const root = openssl(['req', '-x509', '-new', '-key', '{key}', '-days', '30', '-subj', '/CN=Outside Root'], { key });
    writeFileSync(join(material, 'root.key'), key);
    writeFileSync(join(material, 'app.key'), key);
    writeFileSync(join(material, 'app.csr'), openssl(['req', '-new', '-key', '{key}', '-subj', '/CN=app'], { key }));
    writeFileSync(join(material, 'root.pem'), root);
    const certify = (csr: string, extensions: string, out: string): string =>
      `printf '%s\\n' ${extensions} >/root/ext; openssl x509 -req -in ${csr} -CA /srv/root.pem -CAkey /srv/root.key -CAcreateserial -CAserial /root/serial -days 20 -extfile /root/ext -out ${out}`;
    shell(`set -eu
      ${certify('/etc/signetd/pki/issuing.csr', "'basicConstraints=critical,CA:TRUE,pathlen:0' 'keyUsage=critical,keyCertSign,cRLSign' 'subjectKeyIdentifier=hash'", '/root/issuing.pem')}
      ${certify('/etc/signetd/tls/server.csr', "'subjectAltName=DNS:sign.example.test' 'extendedKeyUsage=serverAuth'", '/root/server.pem')}
      ${certify('/srv/app.csr', "'extendedKeyUsage=clientAuth'", '/root/app.pem')}`);
    const goesOn = commandIn('Outside CAs', ['setup', 'setup --unattended'], ['intermediate.pem root.pem', '/srv/root.pem']);
    const some = machine.try('sh', '-c', `cd /root && ${goesOn}`);
    expect([some.status, some.output]).toEqual([8, expect.not.stringContaining('certificate of the issuing CA:')]);
    const wrong = setup('--unattended', '--server-certificate', '/root/app.pem', '--server-ca', '/srv/root.pem');
    expect([wrong.status, wrong.output]).toEqual([5, expect.stringContaining('does not match the key')]);
    const { status, output } = setup(
      ...['--unattended', '--server-certificate', '/root/server.pem', '--server-ca', '/srv/root.pem', '--client-ca', '/srv/root.pem'],
      ...['--client-certificate', '/root/app.pem', '--client-key', '/srv/app.key'],
    );
    expect([status, output]).toEqual([0, expect.stringContaining('OpenSSL has verified it')]);
    expect(JSON.parse(shell(curlIn(output)))).toMatchObject({ result: { resultMajor: 0 } });
  });
});
