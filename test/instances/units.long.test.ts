import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { codeBlocks, shellBlocks } from '../docs/shell-blocks.ts';
import { BootedSystemd, whyNotBootable } from '../support/booted-systemd.ts';
import { installation, writeMaterial } from '../support/installed-material.ts';
import { quickstartEnvironment } from '../support/quickstart-environment.ts';
import { skipNote } from '../support/skip-note.ts';

type Config = Record<string, Record<string, object>>;

const reason = whyNotBootable();
const environment = quickstartEnvironment();
const material = mkdtempSync(join(tmpdir(), 'signetd-material-'));
const machine = new BootedSystemd();
const page = readFileSync('docs/several-instances.md', 'utf8');
const heading = 'Two instances on one machine';

/** A server on a Unix socket alone, as the user of the daemon. */
const postgresql = `
set -eu
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
install -d -o signetd -g signetd -m 0750 /run/postgresql-of-test /var/lib/postgresql-of-test
setpriv --reuid=signetd --regid=signetd --clear-groups $bin/initdb --auth=trust --username=signetd -D /var/lib/postgresql-of-test >/dev/null
systemd-run --quiet --unit=postgresql-of-test --uid=signetd --gid=signetd $bin/postgres -D /var/lib/postgresql-of-test \
  -k /run/postgresql-of-test -c listen_addresses=
until $bin/createdb --host=/run/postgresql-of-test --username=signetd signetd 2>/dev/null; do sleep 0.2; done
`;

beforeAll(async () => {
  if (reason !== undefined) return;
  environment.prepare();
  writeMaterial(environment, material);
  const file = join(material, 'signetd.yaml');
  const config = parse(readFileSync(file, 'utf8')) as Config;
  const state = { kind: 'postgresql', host: '/run/postgresql-of-test', database: 'signetd', user: 'signetd' };
  writeFileSync(file, stringify({ ...config, state }));
  // The database is new, and so is the log.
  rmSync(join(material, 'audit'), { recursive: true });
  mkdirSync(join(material, 'audit'));
  await machine.boot(material);
  // The first boot with an empty /etc enables every unit, templates too, which the installation of the package does not.
  machine.run('sh', '-c', 'rm -rf /etc/systemd/system/signetd@.service.wants && systemctl daemon-reload');
  machine.run('sh', '-c', postgresql);
  machine.run('sh', '-c', installation);
});

afterAll(async () => {
  await machine.remove();
  rmSync(material, { recursive: true, force: true });
  if (reason === undefined) environment.remove();
});

function shell(commands: string): string {
  const signetctl = 'signetctl() { /usr/lib/signetd/runtime/node --disable-sigusr1 /usr/lib/signetd/dist/cli.js "$@"; }';
  return machine.run('bash', '-euo', 'pipefail', '-c', `${signetctl}\n${commands}`);
}

const health = (port: number): string => machine.try('curl', '--silent', '--max-time', '5', `http://127.0.0.1:${port}/health/ready`).output;

describe.skipIf(reason !== undefined)(`the templates of the units${skipNote(reason)}`, { timeout: 400_000 }, () => {
  it('run a second instance beside the first, as docs/several-instances.md says', () => {
    const [addresses, start, verify] = shellBlocks(page, heading);
    const changes = codeBlocks(page, heading).find(({ language }) => language === 'yaml')?.text ?? '';
    const config = parse(machine.run('cat', '/etc/signetd/signetd.yaml')) as Config;
    const { audit, admin } = parse(changes) as Config;
    const { api, operations, public: published } = config['listeners'] ?? {};
    const listeners = { api: { ...api, port: 8444 }, operations: { ...operations, port: 9444 }, public: { ...published, port: 8081 } };
    writeFileSync(join(material, 'b.yaml'), stringify({ ...config, listeners, audit, admin: { ...config['admin'], ...admin } }));
    machine.run('install', '-m', '0640', '-g', 'signetd', '/srv/b.yaml', '/etc/signetd/b.yaml');
    shell(addresses?.commands ?? '');
    // The operator needs no client yet to see that it works.
    const said = machine.try('bash', '-c', (start?.commands ?? '').replace('signetctl', 'true'));
    expect(said).toMatchObject({ status: 0 });
    expect(machine.property('signetd@b.service', 'StatusText')).toBe('serving');
    expect([9443, 9444].map(health)).toEqual([expect.stringContaining('"ready"'), expect.stringContaining('"ready"')]);
    expect(machine.property('signetd.service', 'MainPID')).not.toBe(machine.property('signetd@b.service', 'MainPID'));
    expect(machine.run('ls', '/var/log/signetd-b/audit')).toContain('audit-00000001.jsonl');
    const doctor = (): string => shell('signetctl doctor --config /etc/signetd/b.yaml || true');
    expect(doctor()).not.toMatch(/^fault +(?:sockets|service|configuration|network)/m);
    expect(doctor()).toMatch(/^good +service /m);
    expect(doctor()).not.toMatch(/^warning +sockets/m);
    // The CRLs of the one are no uses without a record for the other.
    const ended = (options: string): string => shell(`signetctl audit verify ${options} 2>&1 || echo "ended with $?"`);
    expect(ended('--config /etc/signetd/b.yaml --recent-seconds 0')).toMatch(/the audit log has no record of it[^]*ended with 1$/m);
    for (const round of [1, 2]) {
      const verified = shell(`${(verify?.commands ?? '').trim()} --recent-seconds 0`);
      expect(verified, `in round ${round}`).toMatch(/^verdict: +the log is intact$/m);
      expect(verified).toMatch(/^also: +\/var\/log\/signetd-b\/audit: \d+ records, intact$/m);
      expect(verified).toMatch(/^uses: +\d+ with a record, 0 without$/m);
    }
    expect(ended('--also /etc/signetd/signetd.yaml')).toMatch(/is named twice[^]*ended with 2$/m);
  });

  it.each(['once', 'twice'])('keep one instance serving while the other restarts or fails, %s', async () => {
    machine.run('systemctl', 'stop', 'signetd.service');
    expect(health(9444)).toContain('"ready"');
    machine.run('systemctl', 'start', 'signetd.service');
    machine.run('systemctl', 'disable', '--now', 'signetd-public@b.socket');
    expect(machine.try('systemctl', 'restart', 'signetd@b.service').status).toBe(1);
    expect(machine.property('signetd@b.service', 'ExecMainStatus')).toBe('78');
    expect(machine.property('signetd-api@b.socket', 'ActiveState')).toBe('inactive');
    expect(machine.property('signetd-api.socket', 'ActiveState')).toBe('active');
    const advice = shell('signetctl doctor --config /etc/signetd/b.yaml || true');
    expect(advice).toContain('run systemctl enable signetd-public@b.socket, then systemctl restart signetd@b.service');
    machine.run('systemctl', 'enable', 'signetd-public@b.socket');
    machine.run('systemctl', 'restart', 'signetd@b.service');
    await machine.until('both serve', () => [9443, 9444].every((port) => health(port).includes('"ready"')));
  });
});
