import { randomUUID } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { chainedLine, entryBody, lineHash } from '../../src/audit/line.ts';
import { description, directory } from '../support/api.ts';
import { BootedSystemd, whyNotBootable } from '../support/booted-systemd.ts';
import { openssl } from '../support/openssl.ts';
import { skipNote } from '../support/skip-note.ts';
import { codeBlocks, firstBlock, shellBlocks, type ShellBlock } from './shell-blocks.ts';

/** The pages of operators, followed on one machine with systemd, from the first command of docs/setup.md on. */
const reason = whyNotBootable();
const material = mkdtempSync(join(tmpdir(), 'signetd-pages-'));
const machine = new BootedSystemd();
const newPin = '24681357';

type Changes = readonly (readonly [from: string | RegExp, to: string])[];
type Config = Record<string, Record<string, unknown>>;

const pageOf = (name: string): string => readFileSync(`docs/${name}.md`, 'utf8');

/** Runs commands as an operator in root's home directory. Answers what they print, standard error last. */
function shell(commands: string): string {
  const signetctl = 'signetctl() { /usr/lib/signetd/runtime/node --disable-sigusr1 /usr/lib/signetd/dist/cli.js "$@"; }';
  // The machine has no TPM, and a root file system in memory.
  const here = commands.replaceAll('systemd-creds encrypt ', 'systemd-creds encrypt --with-key=host ');
  return machine.run('env', 'HOME=/root', 'bash', '-euo', 'pipefail', '-c', `cd /root\n${signetctl}\n${here}`);
}

/** Labels as in `name: value`, and headings of tables: what examples of output have in common with real ones. */
function shapeOf(output: string): string[] {
  const lines = output.split('\n').filter((line) => !line.startsWith('signetctl: '));
  return lines.flatMap((line) => {
    if (/^ *[A-Z_]{2,}(?: +[A-Z_]+)+$/.test(line)) return [line.trim().replaceAll(/ +/g, ' ')];
    const label = /^[\w][\w #]*(?=: +\S)/.exec(line)?.[0];
    return label === undefined ? [] : [label];
  });
}

/** Runs the commands under a heading of a page, changed where the machine differs from the page. Answers all that they printed. */
function follow(page: string, heading: string, changes: Changes = []): string {
  const blocks: ShellBlock[] = shellBlocks(pageOf(page), heading);
  expect(blocks, `${page}: ${heading}`).not.toEqual([]);
  return blocks
    .map(({ commands, output = '' }) => {
      const printed = shell(changes.reduce((text, [from, to]) => text.replaceAll(from, to), commands));
      // Samples of faults have little in common with a good result.
      if (!/^signetctl: (?!note:)/m.test(output)) expect(shapeOf(printed), commands).toEqual(expect.arrayContaining(shapeOf(output)));
      return printed;
    })
    .join('');
}

/** The section of the configuration in what a command printed. */
function sectionIn(printed: string): Config {
  const [, section = ''] = /\n\n([^]*)$/.exec(printed) ?? [];
  return parse(section.replaceAll(/^signetctl: .*$/gm, '')) as Config;
}

/** Edits the configuration as an operator does. */
function configure(change: (config: Config) => void): void {
  const config = parse(machine.run('cat', '/etc/signetd/signetd.yaml')) as Config;
  change(config);
  writeFileSync(join(material, 'signetd.yaml'), stringify(config));
  machine.run('install', '-m', '0640', '-g', 'signetd', '/srv/signetd.yaml', '/etc/signetd/');
}

const ready = async (): Promise<void> =>
  machine.until('it serves', () => machine.try('curl', '--silent', 'http://127.0.0.1:9443/health/ready').output.includes('"ready"'));

beforeAll(async () => {
  if (reason !== undefined) return;
  const request = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc', '-keyout', join(material, 'invoices.key')];
  openssl(['req', '-x509', ...request, '-subj', '/CN=invoices', '-days', '30', '-out', join(material, 'invoices.pem')]);
  copyFileSync(join(directory, 'first-signature', 'bill.png'), join(material, 'code.png'));
  copyFileSync(description.twoDDoc?.certificate ?? '', join(material, 'FR00-0001.pem'));
  await machine.boot(material);
  // The first boot with an empty /etc enables every unit, which the installation of the package does not.
  machine.run('systemctl', 'disable', '--now', 'signetd-public.socket');
  machine.run('cp', '/srv/invoices.pem', '/root/');
});

afterAll(async () => {
  await machine.remove();
  rmSync(material, { recursive: true, force: true });
});

describe.skipIf(reason !== undefined)(`the commands of the operators' pages${skipNote(reason)}`, { timeout: 400_000 }, () => {
  it('docs/setup.md: leads to a first signature', () => {
    expect(follow('setup', 'Unattended')).toContain('OpenSSL has verified it');
  });

  it('docs/tutorial.md: with the client that setup made', () => {
    const page = pageOf('tutorial');
    const [connect, ...blocks] = shellBlocks(page);
    const text = firstBlock(page, 'bash', 'Connect');
    const start = text + (connect?.commands ?? '').replaceAll(/^(?:quickstart=|member\(\)).*\n/gm, '');
    const separator = '---- end of a block ----';
    const printed = shell(
      ['mkdir tutorial; cd tutorial', start, ...blocks.flatMap(({ commands }) => [commands, `echo '${separator}'`])].join('\n'),
    );
    expect(printed.split(`${separator}\n`).slice(0, -1)).toEqual(blocks.map(({ output }) => output ?? ''));
  });

  it('docs/signetctl.md, docs/console.md, docs/new-profile.md: with the running service', () => {
    for (const name of ['server renew', 'client add', 'client issue', 'client renew', 'client list', 'key list, key show REFERENCE'])
      follow('signetctl', `signetctl ${name}`);
    for (const name of ['state compare', 'reload', 'status', 'doctor', 'token slots', 'token mechanisms', 'token inventory', 'token probe'])
      follow('signetctl', `signetctl ${name}`);
    follow('signetctl', 'signetctl config check');
    expect(follow('console', 'Open it')).toMatch(/^http:\/\/127\.0\.0\.1:9443\/console\/#code=\S{43}\n/);
    shell('age-keygen -o backup-key.txt 2>/dev/null; age-keygen -y backup-key.txt >backup-operators.txt');
    follow('signetctl', 'signetctl backup create');
    // Nothing differs here, unlike in the page.
    expect(shell(shellBlocks(pageOf('signetctl'), 'signetctl backup compare')[0]?.commands ?? '')).toMatch(
      / 0 missing .* 0 only on the token/,
    );
  });

  it('docs/backup.md: restores an earlier backup on the same machine, the state alone and the whole', async () => {
    const commands = codeBlocks(pageOf('backup'), 'On the same machine').map(({ text }) => text);
    const [stop = '', state = '', compare = '', confirm = '', whole = '', check = ''] = commands;
    shell(`sha256sum monday.age | cut -d' ' -f1 >monday.sha256
      signetctl client issue --name later --roles keys --directory /root/later`);
    const isInLog = (): boolean => machine.try('sh', '-c', `grep -q '"client":"later"' /var/log/signetd/audit/*.jsonl`).status === 0;
    shell(stop + state);
    expect(machine.property('signetd.service', 'StatusText')).toContain('not ready');
    expect(shell(`${compare.trim()} || echo "exit $?"`)).toContain('exit 1');
    shell(confirm);
    await ready();
    expect(isInLog()).toBe(true);
    expect(shell('signetctl client list')).not.toContain('later');
    expect(shell(check)).toMatch(/the log is intact[^]*before-restore-/);
    shell(stop + whole);
    await ready();
    expect(isInLog()).toBe(false);
    expect(shell(check)).toMatch(/the log is intact[^]*before-restore-/);
    shell('find /etc /var -name "*.before-restore-*" -prune -exec rm -r {} +');
  });

  it('docs/configuring.md: turns on the public listener after setup', async () => {
    expect(machine.try('curl', '--silent', 'http://127.0.0.1:8080/pki/issuing.crl').status).not.toBe(0);
    const added = parse(firstBlock(pageOf('configuring'), 'yaml', 'The public listener')) as Config;
    configure((config) => {
      for (const [name, section] of Object.entries(added))
        for (const [member, value] of Object.entries(section)) {
          const present = config[name]?.[member];
          const isBoth = typeof present === 'object' && typeof value === 'object' && !Array.isArray(present);
          config[name] = { ...config[name], [member]: isBoth ? { ...present, ...value } : value };
        }
    });
    const [turnOn, see] = codeBlocks(pageOf('configuring'), 'The public listener').filter(({ language }) => language === 'bash');
    shell(turnOn?.text ?? 'false');
    await ready();
    expect(shell(see?.text ?? 'false')).toMatch(/^active\n[^]*issuer=.*\nnextUpdate=/);
  });

  it('docs/signetctl.md: confirms a clock that is behind the audit log', async () => {
    machine.run('systemctl', 'stop', 'signetd.service');
    const log = '/var/log/signetd/audit/audit-00000001.jsonl';
    const last = machine.run('tail', '-n', '1', log).trimEnd();
    const { n } = JSON.parse(last) as { n: number };
    const body = entryBody({ kind: 'administration', request: randomUUID(), command: 'SIGHUP' });
    const line = chainedLine({ n, hash: lineHash(last) }, new Date(Date.now() + 7_200_000).toISOString(), body);
    writeFileSync(join(material, 'record'), `${line}\n`);
    shell(`cat /srv/record >>${log}; systemctl start signetd.service`);
    expect(machine.property('signetd.service', 'StatusText')).toContain('not ready: the clock shows');
    follow('signetctl', 'signetctl clock confirm');
    await ready();
  });

  it('docs/signetctl.md: shows what a 2D-Doc code says', () => {
    expect(
      follow('signetctl', 'signetctl twoddoc decode', [
        ['code.png', '/srv/code.png'],
        ['FR00-0001.pem', '/srv/FR00-0001.pem'],
      ]),
    ).toContain('verified with the certificate');
  });

  it('docs/audit.md: verifies, exports and prunes', () => {
    const day = (offset: number): string => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);
    const first = shell(
      'signetctl audit export --format bundle --output first.tar; tar -xf first.tar --wildcards "*.pem" --transform "s|.*|audit-key.pem|"',
    );
    shell('mkdir -p /mnt/archive; cp -r /var/log/signetd/audit /mnt/archive/');
    const [, record = '', hash = ''] = /^last: +(\d+):(\w+)$/m.exec(first) ?? [];
    const [, key = ''] = /^key: +(\w+)$/m.exec(first) ?? [];
    const changes: Changes = [
      [/--since \S+/g, `--since ${day(-1)}`],
      [/--until \S+/g, `--until ${day(1)}`],
      [/^/g, `record=${record} hash=${hash} key=${key}\n`],
    ];
    expect(follow('audit', 'Verifying', changes).match(/^verdict: +the log is intact$/gm)).toHaveLength(2);
    follow('audit', 'Bundles: verifying on another machine', changes);
    expect(follow('audit', 'Records as CSV or JSON lines', changes)).toContain('"signature/sign"');
    const [, request = ''] =
      /"request":"([\w-]{36})"[^\n]*"operation":"signature\/sign"/.exec(shell('signetctl audit export --format jsonl')) ?? [];
    const [found, ...others] = shellBlocks(pageOf('audit'), 'Why was a request refused yesterday?');
    // That one was not refused.
    const labels = shapeOf(found?.output ?? '').filter((label) => label !== 'reason');
    expect(shapeOf(shell((found?.commands ?? '').replace('abb1cef2-1c9b-456b-9746-7303ecd45f6d', request)))).toEqual(
      expect.arrayContaining(labels),
    );
    for (const { commands } of others) expect(shell(commands)).toContain('No record was found.');
    expect(follow('audit', 'Retention', changes)).toContain('No file of the log is that old');
  });

  it('docs/renewing-authorities.md: the same key has a new certificate, of which the service knows after a reload', () => {
    const [certify, apply] = shellBlocks(pageOf('renewing-authorities'), 'The same key, a new certificate');
    const text = firstBlock(pageOf('renewing-authorities'), 'yaml', 'The same key, a new certificate');
    shell(certify?.commands ?? '');
    configure(({ certificateAuthorities }) => {
      Object.assign(certificateAuthorities?.['issuing'] ?? {}, (parse(text) as Config)['certificateAuthorities']?.['issuing']);
    });
    expect(shell(apply?.commands ?? '')).toContain('Changed: certificateAuthorities.issuing.certificate');
  });

  it('docs/renewing-authorities.md, docs/new-profile.md, docs/signetctl.md, docs/time-stamps.md: what is done while the service is stopped', async () => {
    const [stopAndIssue, start] = shellBlocks(pageOf('renewing-authorities'), 'A new key');
    const issued = sectionIn(shell(stopAndIssue?.commands ?? ''));
    const trials = shellBlocks(pageOf('new-profile')).map(({ commands }) => commands);
    expect(shell(trials.join(''))).toMatch(/works +P-521 keys/);
    const authority = sectionIn(follow('time-stamps', 'Setting it up'));
    shell('umask 077; printf 12345678 >so-pin; printf 87654321 >new-pin');
    follow('signetctl', 'signetctl token init', [
      ['--label signetd', '--label trial'],
      ['/etc/signetd/pin', '/root/new-pin'],
    ]);
    expect(
      Object.keys(sectionIn(follow('signetctl', 'signetctl ca init', [['/etc/signetd/pki', '/root/pki']]))['certificateAuthorities'] ?? {}),
    ).toEqual(['issuing', 'root']);
    follow('signetctl', 'signetctl twoddoc identity add');
    const [, keyId = ''] = /--key-id (\w+)/.exec(shellBlocks(pageOf('signetctl'), 'signetctl token purpose')[0]?.commands ?? '') ?? [];
    shell(`SOFTHSM2_CONF=/etc/signetd/softhsm2.conf pkcs11-tool --module /usr/lib/softhsm/libsofthsm2.so --token-label signetd \
      --login --pin "$(systemd-creds decrypt --name=pin /etc/credstore.encrypted/signetd.pin -)" \
      --keypairgen --key-type EC:prime256v1 --id ${keyId} && chown -R signetd-token: /var/lib/signetd-token/tokens`);
    follow('signetctl', 'signetctl token purpose');
    const pin = '/etc/credstore.encrypted/signetd.pin';
    shell(`mv ${pin} /root/right-pin && printf 471100 | systemd-creds encrypt --name=pin - ${pin}
      ! systemctl start signetd-token.service; mv /root/right-pin ${pin}`);
    follow('signetctl', 'signetctl token retry-pin');
    configure((config) => {
      Object.assign(config['certificateAuthorities'] ?? {}, issued['certificateAuthorities']);
      Object.assign(config, authority);
      Object.assign(config['tenants']?.['main'] ?? {}, { certificateAuthority: 'issuing-2' });
    });
    shell(start?.commands ?? '');
    await ready();
    follow('time-stamps', 'Renewal');
    follow('signetctl', 'signetctl twoddoc identity list');
    expect(follow('signetctl', 'signetctl twoddoc identity unlock, twoddoc identity remove')).toContain('Private key destroyed');
  });

  it('docs/lost-pin.md: the security officer sets a new PIN, and the service signs again', () => {
    const soPin = '"$(systemd-creds decrypt --name=so-pin /etc/credstore.encrypted/signetd.so-pin -)"';
    follow('lost-pin', 'The PIN is lost, or locked after wrong attempts', [
      ['--init-pin', `--init-pin --so-pin ${soPin} --new-pin ${newPin}`],
    ]);
    const stored = follow('lost-pin', 'The PIN has been changed on the token', [
      [/systemd-ask-password -n '[^']*'/g, `printf %s ${newPin}`],
    ]);
    expect(stored).toContain('the token signs');
  });

  it('docs/installing-by-hand.md, docs/backup.md, docs/health.md: the installation by hand, and health over a Unix socket', () => {
    shell(`mkdir by-hand; cd by-hand; umask 077; cp /etc/signetd/signetd.yaml .
      systemd-creds decrypt --name=pin /etc/credstore.encrypted/signetd.pin pin-file
      systemd-creds decrypt --name=tls-key /etc/credstore.encrypted/signetd.tls-key key-file
      systemctl disable --now signetd-token.service signetd.service
      rm /etc/signetd/signetd.yaml /etc/credstore.encrypted/signetd.pin /etc/credstore.encrypted/signetd.tls-key`);
    const [secrets, publicSocket, start] = codeBlocks(pageOf('backup'), 'On a new machine').filter(({ language }) => language === 'bash');
    shell(`cd by-hand; ${secrets?.text}`);
    follow('installing-by-hand', '', [[/^/g, 'cd by-hand\n']]);
    expect(machine.property('signetd.service', 'StatusText')).toBe('serving');
    // As on a new machine: the configuration has the listener, and nobody has enabled its socket.
    configure(({ listeners }) => Object.assign(listeners ?? {}, { public: {} }));
    shell('systemctl stop signetd.service; systemctl disable --now signetd-public.socket');
    expect(machine.try('systemctl', 'start', 'signetd.service').status).toBe(1);
    for (const block of [publicSocket, start]) shell(block?.text ?? 'false');
    expect(machine.property('signetd.service', 'StatusText')).toBe('serving');
    const text = firstBlock(pageOf('health'), 'ini', 'Health');
    const [, path = ''] = /^# (\S+)$/m.exec(text) ?? [];
    shell(`groupadd --system prometheus; mkdir -p ${path.replace(/\/[^/]*$/, '')}; cat >${path} <<'END'\n${text}END`);
    expect(follow('health', 'Health')).toContain('"ready"');
  });
});
