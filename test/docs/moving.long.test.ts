import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { BootedSystemd, whyNotBootable } from '../support/booted-systemd.ts';
import { skipNote } from '../support/skip-note.ts';
import { firstBlock, shellBlocks } from './shell-blocks.ts';

/** docs/moving.md and the database of docs/setup.md, followed on a machine with systemd and a PostgreSQL of its own, which knows users by peer. */
const reason = whyNotBootable();
const material = mkdtempSync(join(tmpdir(), 'signetd-moving-'));
const page = (name: string): string => readFileSync(`docs/${name}.md`, 'utf8');
let machine: BootedSystemd;

/** As an operator, with the built signetctl. Answers what is printed, standard error last. */
function shell(commands: string): string {
  const signetctl = 'signetctl() { /usr/lib/signetd/runtime/node --disable-sigusr1 /usr/lib/signetd/dist/cli.js "$@"; }';
  return machine.run('env', 'HOME=/root', 'bash', '-euo', 'pipefail', '-c', `cd /root\n${signetctl}\n${commands}`);
}

const setup =
  "signetctl setup --unattended --token softhsm --organization 'Example SA' --country FR --host localhost --credential-key host";
const ready = async (): Promise<void> =>
  machine.until('it serves', () => machine.try('curl', '--silent', 'http://127.0.0.1:9443/health/ready').output.includes('"ready"'));

beforeEach(async () => {
  if (reason !== undefined) return;
  machine = new BootedSystemd();
  await machine.boot(material);
  machine.run('systemctl', 'mask', 'systemd-networkd-wait-online.service');
  shell(`getent group postgres >/dev/null || groupadd --system postgres
    getent passwd postgres >/dev/null || useradd --system --gid postgres --home-dir /var/lib/postgresql postgres
    # The empty /etc has no rules for runuser.
    mkdir -p /etc/pam.d
    printf '%s\\n' 'auth sufficient pam_rootok.so' 'account required pam_permit.so' 'session required pam_permit.so' >/etc/pam.d/runuser
    bin=$(echo /usr/lib/postgresql/*/bin)
    install -d -o postgres -g postgres /var/lib/postgresql /run/postgresql
    cd /var/lib/postgresql
    runuser -u postgres -- $bin/initdb -D data --auth-local=peer --auth-host=reject --no-sync >/dev/null
    systemd-run --quiet --unit=database --uid=postgres $bin/postgres -D /var/lib/postgresql/data -k /run/postgresql -c listen_addresses=
    until [ -S /run/postgresql/.s.PGSQL.5432 ]; do sleep 0.1; done`);
}, 200_000);

afterEach(async () => {
  if (reason === undefined) await machine.remove();
});

afterAll(() => {
  rmSync(material, { recursive: true, force: true });
});

describe.skipIf(reason !== undefined)(`PostgreSQL of the same machine${skipNote(reason)}`, { timeout: 600_000 }, () => {
  it('takes over the state as docs/moving.md says, and gives it back', async () => {
    shell(setup);
    await ready();
    const [make, copy, check, stop, start] = shellBlocks(page('moving'), 'To PostgreSQL').map(({ commands }) => commands);
    shell(make ?? '');
    expect(stop).toContain(shellBlocks(page('signetctl'), 'signetctl state copy')[0]?.commands);
    const state: unknown = (parse(firstBlock(page('moving'), 'yaml', 'To PostgreSQL')) as Record<string, unknown>)['state'];
    const back = { kind: 'sqlite', path: '/var/lib/signetd/again.sqlite' };
    for (const section of [state, back]) {
      shell(copy ?? '');
      const config = parse(machine.run('cat', '/etc/signetd/moved.yaml')) as object;
      writeFileSync(join(material, 'moved.yaml'), stringify({ ...config, state: section }));
      machine.run('cp', '/srv/moved.yaml', '/etc/signetd/moved.yaml');
      shell(check ?? '');
      expect(shell(stop ?? '')).toContain('State store copied');
      expect(shell(start ?? '')).toMatch(/missing: +0 changes/);
      await ready();
      for (const command of ['client list', 'audit verify', 'doctor', 'status']) shell(`signetctl ${command}`);
      machine.run('systemctl', 'stop', 'signetd-api.socket', 'signetd-operations.socket', 'signetd.service');
      for (const command of ['client list', 'audit verify', 'state compare']) shell(`signetctl ${command}`);
      shell('systemctl start signetd.service signetd-api.socket signetd-operations.socket');
      await ready();
    }
    expect(shell('signetctl client list')).toMatch(/^app +main /m);
    // A file that the service could not open would have been reported.
    expect(machine.run('stat', '--format=%U %a', '/var/lib/signetd/again.sqlite').trim()).toBe('signetd 600');
  });

  it('has the state from the first start on as docs/setup.md says', async () => {
    const program = '/usr/lib/signetd/runtime/node --disable-sigusr1 /usr/lib/signetd/dist/cli.js';
    const refused = machine.try('bash', '-c', `${setup.replace('signetctl', program)} --state postgresql`);
    expect([refused.status, refused.output]).toEqual([5, expect.stringContaining('createdb --owner signetd signetd')]);
    shell(
      shellBlocks(page('setup'), 'PostgreSQL')
        .map(({ commands }) => commands)
        .join(''),
    );
    expect(shell(`${setup} --state postgresql`)).toContain('signetd is set up and ready');
    expect(machine.try('ls', '/var/lib/signetd/state.sqlite').status).toBe(2);
    expect(shell('signetctl status')).toContain('PostgreSQL at /run/postgresql');
    for (const round of [1, 2]) {
      shell('systemctl restart signetd.service');
      await ready();
      expect([round, shell('signetctl client list')]).toEqual([round, expect.stringContaining('app')]);
    }
  });
});
