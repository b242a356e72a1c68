import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { BootedSystemd, whyNotBootable } from '../support/booted-systemd.ts';
import { kryopticModule, noSecondToken } from '../support/second-token.ts';
import { skipNote } from '../support/skip-note.ts';
import { firstBlock, shellBlocks } from './shell-blocks.ts';

/** docs/moving.md, "To an HSM", followed on a machine with systemd: from SoftHSM to Kryoptic, or to another token of SoftHSM where there is none. */
const reason = whyNotBootable();
const isOther = noSecondToken === undefined;
const material = mkdtempSync(join(tmpdir(), 'signetd-moving-hsm-'));
const machine = new BootedSystemd();
const page = readFileSync('docs/moving.md', 'utf8');
const place = '/var/lib/signetd-token/hsm';

type Config = Record<string, unknown>;

/** Runs commands as an operator in root's home directory. Answers what they print, standard error last. */
function shell(commands: string): string {
  const signetctl = 'signetctl() { /usr/lib/signetd/runtime/node --disable-sigusr1 /usr/lib/signetd/dist/cli.js "$@"; }';
  // The machine has no TPM and no terminal.
  const here = commands
    .replaceAll('systemd-creds encrypt ', 'systemd-creds encrypt --with-key=host ')
    .replace(/systemd-ask-password -n '[^']*'/, 'printf %s 123456');
  return machine.run('env', 'HOME=/root', 'bash', '-euo', 'pipefail', '-c', `cd /root\n${signetctl}\n${here}`);
}

const commandsUnder = (heading: string): string[] => {
  const blocks = shellBlocks(page, heading).map(({ commands }) => commands);
  expect(blocks, heading).not.toEqual([]);
  return blocks;
};
const isSection = (value: unknown): value is Config => typeof value === 'object' && value !== null && !Array.isArray(value);

function merge(into: Config, from: Config): void {
  for (const [name, value] of Object.entries(from)) {
    const present = into[name];
    if (isSection(value) && isSection(present)) merge(present, value);
    else into[name] = value;
  }
}

/** Puts sections into the configuration of the HSM, member by member, as an operator does. */
function configure(...sections: Config[]): void {
  const config = parse(machine.run('cat', '/etc/signetd/hsm.yaml')) as Config;
  for (const section of sections) merge(config, section);
  writeFileSync(join(material, 'hsm.yaml'), stringify(config));
  machine.run('cp', '/srv/hsm.yaml', '/etc/signetd/hsm.yaml');
}

/** The sections of the configuration in what commands printed. */
const sectionsIn = (printed: string): Config[] =>
  Array.from(
    printed.matchAll(/(?:Set|Add) this (?:in|to) the configuration:\n\n((?:[a-z ].*\n)+?)(?=[A-Z]|signetctl: |$(?![^]))/gm),
    ([, section = '']) => parse(section) as Config,
  );

const ready = async (): Promise<void> =>
  machine.until('it serves', () => machine.try('curl', '--silent', 'http://127.0.0.1:9443/health/ready').output.includes('"ready"'));
/** Asks the service as the client that setup has made. Answers JSON. */
function ask(operation: string, body: object): Config {
  writeFileSync(join(material, 'body.json'), JSON.stringify(body));
  const files = '--cacert /etc/signetd/tls/server-ca.pem --cert /root/clients/app2.pem --key /root/clients/app2.key';
  return parse(
    shell(
      `curl --silent ${files} -H 'Content-Type: application/json' --data-binary @/srv/body.json https://localhost:8443/sign/${operation}`,
    ),
  ) as Config;
}

interface Made {
  readonly certificate: string;
  readonly keyReference: object;
}

function made(): Made {
  const certificationRequestInfo = {
    signatureActivationProtocol: 'PASSWORD',
    PKCS10: { attributes: { subscriber: {} }, subject: { country: 'FR', commonName: 'Alice' } },
  };
  return ask('pki/createCertificate', { certificationRequestInfo, certificateFormat: 'CERTIFICATE' }) as unknown as Made;
}
const sign = ({ keyReference }: Made): Config =>
  ask('signature/sign', {
    keyReference,
    parameters: { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } } } },
    inputDocuments: [{ ID: 'd', base64Data: { base64Value: Buffer.from('a contract').toString('base64') } }],
  });

/** Checks a signature with the CRLs that the service publishes for a chain. */
function verify(signature: Config, issuing: string): void {
  const [, cms = ''] = /"base64Value":"([A-Za-z0-9+/=]+)"/.exec(JSON.stringify(signature)) ?? [];
  writeFileSync(join(material, 'signature.p7s'), Buffer.from(cms, 'base64'));
  shell(`printf 'a contract' >contract
    cp /etc/signetd/pki/root.pem trust.pem
    for ca in root ${issuing}; do curl --silent --fail http://127.0.0.1:8080/pki/$ca.crl | openssl crl -inform DER >>trust.pem; done
    openssl cms -verify -binary -inform DER -in /srv/signature.p7s -content contract -CAfile trust.pem -crl_check_all -purpose any -out /dev/null`);
}

beforeAll(async () => {
  if (reason !== undefined) return;
  if (isOther) copyFileSync(kryopticModule, join(material, 'libkryoptic.so'));
  await machine.boot(material);
  shell(
    "signetctl setup --unattended --token softhsm --organization 'Example SA' --country FR --host localhost --credential-key host --public-url http://localhost:8080",
  );
  await ready();
  shell('signetctl client issue --name app2 --tenant main --roles signature,keys,revocation --directory /root/clients');
  const settings = isOther
    ? `printf '[[slots]]\\nslot = 1\\ndbtype = "sqlite"\\ndbargs = "${place}/token.sql"\\n' >${place}/token.conf`
    : `mkdir ${place}/tokens; printf 'directories.tokendir = ${place}/tokens\\n' >${place}/token.conf`;
  const variable = isOther ? 'KRYOPTIC_CONF' : 'SOFTHSM2_CONF';
  const module = isOther ? `${place}/libkryoptic.so` : '/usr/lib/softhsm/libsofthsm2.so';
  const tool = `${variable}=${place}/token.conf pkcs11-tool --module ${module}`;
  shell(`mkdir -p ${place}; ${isOther ? `cp /srv/libkryoptic.so ${place}/` : ''}
    ${settings}
    ${tool} --init-token ${isOther ? '' : '--slot-index 0'} --label hsm --so-pin 87654321
    ${tool} --token-label hsm --init-pin --login --login-type so --so-pin 87654321 --pin 123456
    chown -R --reference=/var/lib/signetd-token ${place}`);
}, 300_000);

afterAll(async () => {
  await machine.remove();
  rmSync(material, { recursive: true, force: true });
});

describe.skipIf(reason !== undefined)(`docs/moving.md, from SoftHSM to an HSM${skipNote(reason)}`, { timeout: 600_000 }, () => {
  let old: Made;
  let before: Config;

  it('describes the HSM, and makes and retires authorities with both tokens', () => {
    old = made();
    before = sign(old);
    const [store, copy, stop] = commandsUnder('1. Describe the HSM');
    shell(store ?? '');
    if (isOther) {
      shell(`printf 'ExecPaths=${place}\\n' >>/etc/systemd/system/signetd-token.service.d/hsm.conf; systemctl daemon-reload`);
    }
    shell(copy ?? '');
    const { token } = parse(firstBlock(page, 'yaml', '1. Describe the HSM')) as { token: Config };
    const environment = { [isOther ? 'KRYOPTIC_CONF' : 'SOFTHSM2_CONF']: `${place}/token.conf` };
    const own = { profile: 'softhsm2', environment, ...(isOther ? { modulePath: `${place}/libkryoptic.so` } : {}) };
    configure({ token: { ...token, ...own } });
    expect(shell(stop ?? '')).toContain('hsm');
    const [make] = commandsUnder('2. Make the new authorities');
    const sections = sectionsIn(shell(make ?? ''));
    expect(sections).toHaveLength(2);
    configure(...sections, parse(firstBlock(page, 'yaml', '2. Make the new authorities')) as Config);
    const [retire] = commandsUnder('3. Retire the former authorities');
    const retired = shell(retire ?? '');
    expect(retired).toContain('which cannot be revoked any more');
    expect(sectionsIn(retired)).toEqual([
      { certificateAuthorities: { issuing: { retired: true } } },
      { certificateAuthorities: { root: { retired: true } } },
      { certificateAuthorities: { client: { retired: true } } },
    ]);
    configure(...sectionsIn(retired));
  });

  it('accepts it, and the service goes on', async () => {
    const [, serial = ''] = / hsm +(\S+) /.exec(shell('signetctl token slots --config /etc/signetd/hsm.yaml')) ?? [];
    const [accept] = commandsUnder('4. Accept the HSM');
    expect(accept).toBe(shellBlocks(readFileSync('docs/signetctl.md', 'utf8'), 'signetctl token accept')[0]?.commands);
    expect(shell((accept ?? '').replace(/--serial \S+/, `--serial ${serial}`))).toMatch(/callers' keys left behind: +[1-9]/);
    for (const commands of commandsUnder('5. Put the configuration in place')) shell(commands);
    const [start] = commandsUnder('6. Start');
    const [starting = '', ...looking] = (start ?? '').split(/(?<=operations.socket\n)/);
    shell(starting);
    await ready();
    expect(shell(looking.join(''))).toContain('LEFT_BEHIND');
  });

  it.each([1, 2])('has everything but the former keys, start %i', async () => {
    shell('systemctl restart signetd-token.service signetd.service');
    await ready();
    expect(JSON.stringify(sign(old))).toMatch(/"resultMajor":2,"resultMinor":204/);
    verify(before, 'issuing');
    const fresh = made();
    verify(sign(fresh), 'issuing-hsm');
    expect(JSON.stringify(ask('pki/revokeCertificate', { certificate: old.certificate }))).toContain('"minorCode":212');
    expect(JSON.stringify(ask('pki/revokeCertificate', { certificate: fresh.certificate }))).toContain('"majorCode":0');
    expect(
      machine.run('curl', '--silent', '--output', '/dev/null', '--write-out', '%{http_code}', 'http://127.0.0.1:8080/ocsp/issuing'),
    ).toBe('404');
    shell('signetctl audit verify && signetctl state compare && signetctl doctor && signetctl server renew && signetctl reload');
    shell(
      'curl --silent --fail --cacert /etc/signetd/tls/server-ca.pem --cert /root/clients/app2.pem --key /root/clients/app2.key https://localhost:8443/openapi.json >/dev/null',
    );
  });
});
