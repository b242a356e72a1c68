import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { BootedSystemd, whyNotBootable } from '../support/booted-systemd.ts';
import { skipNote } from '../support/skip-note.ts';
import { firstBlock, shellBlocks } from './shell-blocks.ts';

/** docs/rotating.md, followed twice in a row on one machine with systemd. */
const reason = whyNotBootable();
const material = mkdtempSync(join(tmpdir(), 'signetd-rotating-'));
const machine = new BootedSystemd();
const page = readFileSync('docs/rotating.md', 'utf8');

type Config = Record<string, unknown>;
type Change = readonly [from: string | RegExp, to: string];

/** Runs commands as an operator in root's home directory. Answers what they print, standard error last. */
function shell(commands: string): string {
  const signetctl = 'signetctl() { /usr/lib/signetd/runtime/node --disable-sigusr1 /usr/lib/signetd/dist/cli.js "$@"; }';
  // The machine has no TPM, and a root file system in memory.
  const here = commands.replaceAll('systemd-creds encrypt ', 'systemd-creds encrypt --with-key=host ');
  return machine.run('env', 'HOME=/root', 'bash', '-euo', 'pipefail', '-c', `cd /root\n${signetctl}\n${here}`);
}

const changed = (text: string, changes: readonly Change[]): string => changes.reduce((done, [from, to]) => done.replaceAll(from, to), text);

/** The commands of the blocks under a heading. */
const commandsUnder = (heading: string, changes: readonly Change[]): string[] => {
  const blocks = shellBlocks(page, heading).map(({ commands }) => changed(commands, changes));
  expect(blocks, heading).not.toEqual([]);
  return blocks;
};

const configOf = (): Config => parse(machine.run('cat', '/etc/signetd/signetd.yaml')) as Config;

/** Puts a section into the configuration, member by member, as an operator does. */
function configure(section: Config): void {
  const config = configOf();
  merge(config, section);
  writeFileSync(join(material, 'signetd.yaml'), stringify(config));
  machine.run('install', '-m', '0640', '-g', 'signetd', '/srv/signetd.yaml', '/etc/signetd/');
}

function merge(into: Config, from: Config): void {
  for (const [name, value] of Object.entries(from)) {
    const present = into[name];
    if (isSection(value) && isSection(present)) merge(present, value);
    else into[name] = value;
  }
}

const isSection = (value: unknown): value is Config => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The section of the configuration in what a command printed. */
function sectionIn(printed: string): Config {
  const [, section = ''] = /Set this in the configuration:\n\n([^]*)$/.exec(printed) ?? [];
  return parse(section.replaceAll(/^signetctl: .*$/gm, '')) as Config;
}

const ready = async (): Promise<void> =>
  machine.until('it serves', () => machine.try('curl', '--silent', 'http://127.0.0.1:9443/health/ready').output.includes('"ready"'));

/** Asks the service all the time, until `quiet`. */
function busy(): void {
  shell(`rm -f load.stop load.log; cat >load.sh <<'END'
while [ ! -e /root/load.stop ]; do
  curl --silent --output /dev/null --write-out '%{http_code}\\n' --max-time 20 --cacert /etc/signetd/tls/server-ca.pem \\
    --cert ${client}.pem --key ${client}.key -H 'Content-Type: application/json' -d '{}' https://localhost:8443/sign/pki/checkKey >>/root/load.log || echo failed >>/root/load.log
done
END
systemd-run --quiet --unit=load --collect bash /root/load.sh`);
}
/** Every answer of the time since `busy`. */
function quiet(): void {
  shell('touch load.stop; while systemctl is-active --quiet load; do sleep 0.1; done');
  const answers = shell('cat load.log').trim().split('\n');
  expect(answers.length).toBeGreaterThan(3);
  expect(new Set(answers)).toEqual(new Set(['200']));
}

let client = '';

beforeAll(async () => {
  if (reason !== undefined) return;
  await machine.boot(material);
  // The first boot with an empty /etc enables every unit, which the installation of the package does not.
  machine.run('systemctl', 'disable', '--now', 'signetd-public.socket');
  shell(shellBlocks(readFileSync('docs/setup.md', 'utf8'), 'Unattended')[0]?.commands ?? '');
  shell('signetctl client issue --name billing --tenant main --roles signature,keys --directory /root/clients');
  client = '/root/clients/billing';
});

afterAll(async () => {
  await machine.remove();
  rmSync(material, { recursive: true, force: true });
});

describe.skipIf(reason !== undefined).each([1, 2])(`docs/rotating.md, time %i${skipNote(reason)}`, { timeout: 400_000 }, (time) => {
  /** The second time, the names are those after the first. */
  const names: readonly Change[] =
    time === 1
      ? []
      : [
          ['root-2', 'root-3'],
          [/root-(?=last)/g, 'root-2-'],
          [/(?<=--replaces |--authority )root(?= )/g, 'root-2'],
          ['Root CA 2', 'Root CA 3'],
          ['client-ca-2', 'client-ca-3'],
          ['TLS CA 2', 'TLS CA 3'],
          ['clients-2', 'clients-3'],
        ];

  it('the root CA', async () => {
    const [make, start] = commandsUnder('1. Make the new root', names);
    configure(sectionIn(shell(make ?? '')));
    shell(start ?? '');
    await ready();
    busy();
    const [certify, apply] = commandsUnder('2. Certify the issuing CAs under the new root', names);
    configure(sectionIn(shell(certify ?? '')));
    expect(shell(apply ?? '')).toContain('certificateAuthorities.issuing');
    quiet();
    configure(parse(changed(firstBlock(page, 'yaml', '4. Retire the old root'), names)) as Config);
    const [retire, startAgain, destroy] = commandsUnder('4. Retire the old root', names);
    configure(sectionIn(shell(retire ?? '')));
    shell(startAgain ?? '');
    await ready();
    expect(shell(destroy ?? '')).toMatch(/key: +destroyed/);
    await ready();
    shell('signetctl audit verify');
  });

  it('the CA of the clients', async () => {
    const [make, start, server, renew, apply, destroy] = commandsUnder('The CA of the clients', names);
    const former = (configOf()['clientAuthority'] as { keyId: string }).keyId;
    configure(sectionIn(shell(make ?? '')));
    shell(start ?? '');
    await ready();
    busy();
    shell(server ?? '');
    const said = shell(renew ?? '');
    const [, renewed = ''] = /^certificate: +(\S+)\.pem$/m.exec(said) ?? [];
    quiet();
    client = renewed;
    shell(/signetctl client revoke \w{64}/.exec(said)?.[0] ?? 'false');
    const [, own = ''] = /CertificateAuthority: (\S+)/.exec(changed(firstBlock(page, 'yaml', 'The CA of the clients'), names)) ?? [];
    busy();
    configure(parse(changed(firstBlock(page, 'yaml', 'The CA of the clients'), names)) as Config);
    // Clients trust the new CA by now.
    shell(`cat ${own} >>/etc/signetd/tls/server-ca.pem`);
    shell(apply ?? '');
    quiet();
    shell((destroy ?? '').replace(/--key-id \w+/, `--key-id ${former}`));
  });

  it('the MAC key', () => {
    busy();
    const [rotate, status] = commandsUnder('The MAC key', names);
    expect(shell(rotate ?? '')).toContain('Made another MAC key');
    expect(shell(status ?? '')).toMatch(new RegExp(`^current MAC key: +${time}$`, 'm'));
    // Nobody uses the key of the first signature any more.
    shell('signetctl --json key list | grep -o \'[0-9a-f]\\{40\\}\' | while read -r key; do signetctl key remove "$key" || true; done');
    const [, , destroy] = commandsUnder('The MAC key', names);
    expect(shell(destroy ?? '')).toMatch(/^former MAC keys: +0$/m);
    quiet();
  });

  it('the key of kept answers', () => {
    busy();
    const [rotate, status] = commandsUnder('The key of kept answers', names);
    expect(shell(rotate ?? '')).toContain('Made another key of kept answers');
    expect(shell(status ?? '')).toMatch(/^former key: .*, replaced at /m);
    quiet();
  });

  it('the key of checkpoints', () => {
    busy();
    const [rotate, verify] = commandsUnder('The key of checkpoints', names);
    const [, key = 'none'] = /^key: +([0-9a-f]{64})$/m.exec(shell(rotate ?? '')) ?? [];
    expect(shell(verify ?? '')).toMatch(new RegExp(`^key: +${key}, .* checkpoints, the last of record`, 'm'));
    quiet();
  });

  it('the PIN of the token', async () => {
    const [change, start] = commandsUnder('The PIN of the token', [[/systemd-ask-password -n '[^']*'/g, `printf %s 11223344${time}`]]);
    expect(shell((change ?? '').replace('--new-pin', '--credential-key host --new-pin'))).toContain('The PIN was changed');
    shell(start ?? '');
    await ready();
    expect(shell('systemd-creds decrypt --name=pin /etc/credstore.encrypted/signetd.pin -')).toBe(`11223344${time}`);
    expect(shell('signetctl doctor')).toContain('the token');
  });
});
