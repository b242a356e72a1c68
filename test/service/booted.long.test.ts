import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BootedSystemd, whyNotBootable } from '../support/booted-systemd.ts';
import { installation, writeMaterial } from '../support/installed-material.ts';
import { Load } from '../support/load.ts';
import { quickstartEnvironment } from '../support/quickstart-environment.ts';
import { rounds } from '../support/repetitions.ts';
import { skipNote } from '../support/skip-note.ts';

const restarts = 2;
/** `npm run test:long` with more than one round watches for three minutes. */
const watchedSeconds = (rounds ?? 1) > 1 ? 180 : 15;
const reason = whyNotBootable();
const environment = quickstartEnvironment();
const material = mkdtempSync(join(tmpdir(), 'signetd-material-'));
const machine = new BootedSystemd();

beforeAll(async () => {
  if (reason !== undefined) return;
  environment.prepare();
  writeMaterial(environment, material);
  await machine.boot(material);
});

afterAll(async () => {
  await machine.remove();
  rmSync(material, { recursive: true, force: true });
  if (reason === undefined) environment.remove();
});

describe.skipIf(reason !== undefined)(`the units on a booted systemd${skipNote(reason)}`, () => {
  it('start the token host and the daemon', async () => {
    machine.run('sh', '-c', installation);
    expect(machine.property('signetd.service', 'StatusText')).toBe('serving');
    expect(machine.property('signetd-token.service', 'StatusText')).toMatch(/^serving token /);
    expect(machine.run('curl', '--silent', '--max-time', '5', 'http://127.0.0.1:9443/health/ready')).toContain('"ready"');
  });

  it('name their processes, and leave the command lines as they are', () => {
    for (const [unit, program] of [
      ['signetd', 'dist/main.js'],
      ['signetd-token', 'dist/token-host.js'],
    ] as const) {
      const pid = machine.property(`${unit}.service`, 'MainPID');
      expect(machine.run('ps', '--no-headers', '-o', 'comm', '-p', pid).trim()).toBe(unit);
      expect(machine.run('ps', '--no-headers', '-o', 'args', '-p', pid)).toContain(`${program} --config /etc/signetd/signetd.yaml`);
      expect(machine.run('systemctl', 'status', '--no-pager', unit)).toContain(`Main PID: ${pid} (${unit})`);
    }
  });

  it('lose no request in a restart under load', async () => {
    const { signRoot, clients, caCertificate } = environment.description();
    const files = clients['other'];
    if (files === undefined) throw new Error('no client');
    const url = `https://127.0.0.1:8443${signRoot}`;
    const load = new Load({ url, ca: caCertificate, ...files, callers: 16, pauseMs: 20 }, machine.inItsNetwork);
    await load.busy();
    for (let restart = 0; restart < restarts; restart += 1) machine.run('systemctl', 'restart', 'signetd.service');
    machine.run('systemctl', 'restart', 'signetd-token.service');
    const { requests, failures } = await load.end();
    expect(failures).toEqual([]);
    expect(requests).toBeGreaterThan(16 * restarts);
    // The socket is one for IPv6, and takes IPv4 too.
    const last = machine.run('sh', '-c', 'grep signature/sign /var/log/signetd/audit/*.jsonl | tail -n 1');
    expect(last).toContain('"address":"127.0.0.1"');
  });

  it('end with a checkpoint in a restart of both that names the daemon first, as the pages do', async () => {
    for (let restart = 0; restart < restarts; restart += 1) {
      const before = journalOf('signetd.service').length;
      machine.run('systemctl', 'restart', 'signetd.service', 'signetd-token.service');
      await machine.until('it serves again', () => machine.property('signetd.service', 'StatusText') === 'serving');
      const told = journalOf('signetd.service').slice(before);
      expect(told).toContain('stopped');
      expect(told).not.toMatch(/cannot write a checkpoint|has been down/);
    }
    // Both stops are covered: the last records before a start are checkpoints.
    const kinds = machine.run('sh', '-c', `cat /var/log/signetd/audit/*.jsonl | grep -o '"kind":"[a-z-]*"'`).trim().split('\n');
    const stops = kinds.flatMap((kind, index) => (kind === '"kind":"start"' && index > 1 ? [kinds[index - 1]] : []));
    expect(stops.slice(-restarts)).toEqual(Array.from({ length: restarts }, () => '"kind":"checkpoint"'));
  });

  it('let those administrate who are in the group for it, and keep them and the readers of logs from the token host', () => {
    const [operator, reader, daemon] = [
      ['--reuid=64001', '--regid=signetd', '--groups=signetd-admin'],
      ['--reuid=64002', '--regid=signetd', '--clear-groups'],
      ['--reuid=signetd', '--regid=signetd', '--init-groups'],
    ];
    const signetctl = (user: readonly string[], ...command: readonly string[]): { status: number | null; output: string } =>
      machine.try('setpriv', ...user, '/usr/lib/signetd/runtime/node', '--disable-sigusr1', '/usr/lib/signetd/dist/cli.js', ...command);
    expect(signetctl(operator, 'client', 'list')).toMatchObject({ status: 0 });
    expect(machine.run('sh', '-c', 'tail -n 20 /var/log/signetd/audit/*')).toMatch(
      /"command":"client list"[^\n]*64001|64001[^\n]*"client list"/,
    );
    expect(signetctl(reader, 'client', 'list')).toMatchObject({
      status: 6,
      output: expect.stringContaining('permission denied') as unknown,
    });
    for (const user of [operator, reader]) {
      expect(signetctl(user, 'token', 'slots')).toMatchObject({
        status: 3,
        output: expect.stringContaining('permission denied') as unknown,
      });
    }
    expect(signetctl(daemon, 'token', 'slots')).toMatchObject({ status: 0 });
    // Somebody who came to be in the group all the same is told from the daemon.
    const stranger = ['--reuid=64003', '--regid=signetd', '--groups=signetd-token-client'];
    expect(signetctl(stranger, 'token', 'slots')).toMatchObject({
      status: 3,
      output: expect.stringContaining('token.clientUser') as unknown,
    });
    expect(journalOf('signetd-token.service')).toContain('refused a connection from user 64003');
  });

  it.each([
    ['signetd', '/run/credentials/signetd-token.service/pin'],
    ['signetd', '/etc/credstore.encrypted/signetd.pin'],
    ['signetd', '/var/lib/signetd-token/tokens'],
    ['signetd-token', '/run/credentials/signetd.service/tls-key'],
    ['signetd-token', '/var/lib/signetd/state.sqlite'],
    ['signetd-token', '/var/log/signetd/audit'],
  ])('keep from user %s what is in %s', (user, path) => {
    // What the other one may not have is there.
    machine.run('test', '-e', path);
    const { status, output } = machine.try('setpriv', `--reuid=${user}`, '--regid=signetd', '--clear-groups', 'ls', '-R', path);
    const { output: text } = machine.try('setpriv', `--reuid=${user}`, '--regid=signetd', '--clear-groups', 'cat', path);
    expect([status, output, text]).toEqual([2, expect.stringContaining('Permission denied'), expect.stringContaining('Permission denied')]);
  });

  it('reload the configuration, or keep the old one whole and say why', async () => {
    const pid = machine.property('signetd.service', 'MainPID');
    machine.run('systemctl', 'reload', 'signetd.service');
    await machine.until('the reload is done', () => journalOf('signetd.service').includes('configuration reloaded'));
    machine.run('sh', '-c', 'echo "surplus: 1" >>/etc/signetd/signetd.yaml');
    machine.run('systemctl', 'reload', 'signetd.service');
    await machine.until('the reload has failed', () => machine.property('signetd.service', 'StatusText').includes('surplus'));
    expect(machine.property('signetd.service', 'MainPID')).toBe(pid);
    expect(machine.run('curl', '--silent', '--max-time', '5', 'http://127.0.0.1:9443/health/ready')).toContain('"ready"');
    machine.run('sed', '-i', '$d', '/etc/signetd/signetd.yaml');
    machine.run('systemctl', 'reload', 'signetd.service');
    await machine.until('the fault is mended', () => machine.property('signetd.service', 'StatusText') === 'serving');
  });

  it('let the daemon ask the kernel whether its clock is synchronised', async () => {
    machine.run('sed', '-i', '/^timeStampAuthority:/a \\  clockErrorMaxMilliseconds: 0.000001', '/etc/signetd/signetd.yaml');
    machine.run('systemctl', 'reload', 'signetd.service');
    const said = /the time-stamp authority gives no tokens.*"reason":"the clock (is not synchronised|may be \d+ ms off)/;
    await machine.until('the kernel was asked', () => said.test(journalOf('signetd.service')));
    machine.run('sed', '-i', '/clockErrorMaxMilliseconds/d', '/etc/signetd/signetd.yaml');
    machine.run('systemctl', 'reload', 'signetd.service');
  });

  it.each(['signetd.service', 'signetd-token.service'])('restart a %s that hangs', async (unit) => {
    // Without a main process it is 0, and that would stop the process group of this test.
    await machine.until('it runs', () => Number(machine.property(unit, 'MainPID')) > 0);
    const pid = machine.property(unit, 'MainPID');
    expect(Number(pid)).toBeGreaterThan(0);
    machine.run('kill', '-STOP', pid);
    await machine.until('the watchdog has ended it', () => journalOf(unit).includes('Watchdog timeout'));
    await machine.until(
      'it serves again',
      () => machine.property(unit, 'StatusText').startsWith('serving') && machine.property(unit, 'MainPID') !== pid,
    );
    await machine.until('it is ready', () =>
      machine.try('curl', '--silent', '--max-time', '5', 'http://127.0.0.1:9443/health/ready').output.includes('"ready"'),
    );
  });

  it('hold the operations listener at a Unix socket where a drop-in says so', () => {
    const dropIn = '/etc/systemd/system/signetd-operations.socket.d';
    const path = '/run/signetd-operations.sock';
    const lines = ['[Socket]', 'ListenStream=', `ListenStream=${path}`, 'SocketGroup=adm', 'SocketMode=0660', 'NoDelay=no'];
    machine.run('mkdir', '-p', dropIn);
    machine.run('sh', '-c', `printf '%s\\n' ${lines.map((line) => `'${line}'`).join(' ')} >${dropIn}/address.conf`);
    machine.run('systemctl', 'daemon-reload');
    machine.run('systemctl', 'stop', 'signetd.service', 'signetd-operations.socket');
    machine.run('systemctl', 'start', 'signetd-operations.socket', 'signetd.service');
    const ask = ['curl', '--silent', '--unix-socket', path, 'http://signetd/health/ready'];
    expect(machine.run(...ask)).toContain('"ready"');
    expect(machine.run('setpriv', '--reuid=64001', '--regid=adm', '--clear-groups', ...ask)).toContain('"ready"');
    expect(machine.try('setpriv', '--reuid=64001', '--regid=64001', '--clear-groups', ...ask)).toMatchObject({ status: 7 });
    machine.run('systemctl', 'restart', 'signetd.service');
    expect(machine.run(...ask)).toContain('"ready"');
    machine.run('rm', '-r', dropIn);
    machine.run('systemctl', 'daemon-reload');
    machine.run('systemctl', 'stop', 'signetd.service', 'signetd-operations.socket');
    machine.run('systemctl', 'start', 'signetd-operations.socket', 'signetd.service');
  });

  it.each(['once', 'twice'])(
    'start nothing again where a listener has no socket, and refuse callers at once, %s',
    { timeout: 300_000 },
    async () => {
      const before = countsSince(machine.run('date', '+%F %T').trim());
      machine.run('systemctl', 'disable', '--now', 'signetd-public.socket');
      machine.run('systemctl', 'stop', 'signetd.service');
      // A caller starts the daemon, too.
      expect(machine.try('curl', '--silent', '--max-time', '20', 'http://127.0.0.1:9443/health/live')).toMatchObject({ status: 56 });
      await machine.until('it has ended', () => machine.property('signetd.service', 'ActiveState') === 'failed');
      expect(machine.try('systemctl', 'start', 'signetd.service')).toMatchObject({ status: 1 });
      await delay(watchedSeconds * 1000);
      expect(machine.property('signetd.service', 'ExecMainStatus')).toBe('78');
      expect(machine.property('signetd-api.socket', 'ActiveState')).toBe('inactive');
      expect(machine.try('curl', '--silent', '--max-time', '5', 'http://127.0.0.1:9443/health/live')).toMatchObject({ status: 7 });
      const after = before();
      // That of the caller, and that of systemctl. The checkpoints are of the stop.
      expect(after).toMatchObject({ starts: 2, requests: 0 });
      expect(after.records).toBeLessThan(5);
      const said = machine.try('/usr/lib/signetd/runtime/node', '--disable-sigusr1', '/usr/lib/signetd/dist/cli.js', 'doctor').output;
      const advice =
        /listeners\.public: .*: run (systemctl enable signetd-public\.socket), then (systemctl restart signetd\.service)\n/.exec(said);
      expect(advice, said).not.toBeNull();
      for (const command of advice?.slice(1) ?? []) machine.run(...command.split(' '));
      expect(machine.property('signetd.service', 'StatusText')).toBe('serving');
      expect(machine.run('curl', '--silent', '--max-time', '5', 'http://127.0.0.1:8080/')).not.toBe('');
    },
  );

  it.each(['once', 'twice'])(
    'wait longer and longer between failed starts, and answer callers meanwhile, %s',
    { timeout: 300_000 },
    async () => {
      const before = countsSince(machine.run('date', '+%F %T').trim());
      machine.run('chown', 'root:root', '/var/log/signetd/audit');
      machine.try('systemctl', 'restart', 'signetd.service');
      const ready = (): string => machine.try('curl', '--silent', '--max-time', '5', 'http://127.0.0.1:9443/health/ready').output;
      await machine.until('callers are told', () => ready().includes('EACCES: permission denied'));
      await delay(watchedSeconds * 1000);
      const { starts, records } = before();
      // After 0, 2, 4, 8, 16, 32 and 60 seconds, and one each.
      expect(starts).toBeLessThanOrEqual(watchedSeconds > 60 ? 9 : 5);
      expect(starts).toBeGreaterThan(1);
      expect(records).toBeLessThan(5);
      const begun = Date.now();
      machine.run('systemctl', 'stop', 'signetd.service');
      expect(Date.now() - begun).toBeLessThan(5000);
      machine.run('chown', 'signetd:signetd', '/var/log/signetd/audit');
      machine.run('systemctl', 'start', 'signetd.service');
      expect(machine.property('signetd.service', 'StatusText')).toBe('serving');
    },
  );

  it.each(['once', 'twice'])(
    'have the token host wait longer and longer for a token that is missing, and say why, %s',
    { timeout: 300_000 },
    async () => {
      const since = machine.run('date', '+%F %T').trim();
      machine.run('sed', '-i', 's/^  label: /&gone-/', '/etc/signetd/signetd.yaml');
      machine.try('systemctl', 'restart', 'signetd-token.service');
      const missing = String.raw`no token with the label \"gone-signetd\" found (token.label)`;
      await machine.until('the reason is told', () => journalOf('signetd-token.service').includes(missing));
      await delay(watchedSeconds * 1000);
      const starts =
        machine.run('journalctl', '--no-pager', '--output=cat', '--unit=signetd-token.service', `--since=${since}`).split('Starting ')
          .length - 1;
      expect(starts).toBeLessThanOrEqual(watchedSeconds > 60 ? 9 : 5);
      machine.run('sed', '-i', 's/^  label: gone-/  label: /', '/etc/signetd/signetd.yaml');
      machine.run('systemctl', 'restart', 'signetd-token.service');
      await machine.until('it serves', () =>
        machine.try('curl', '--silent', '--max-time', '5', 'http://127.0.0.1:9443/health/ready').output.includes('"ready"'),
      );
    },
  );

  it('stop within a moment, and let the sockets start the daemon again', async () => {
    machine.run('systemctl', 'stop', 'signetd.service');
    expect(machine.property('signetd.service', 'Result')).toBe('success');
    expect(machine.run('curl', '--silent', '--retry', '0', 'http://127.0.0.1:9443/health/live')).toContain('"live"');
  });
});

interface Counts {
  readonly starts: number;
  /** Lines of the audit log, and those of them that record requests. */
  readonly records: number;
  readonly requests: number;
}

/** Returns a function that counts what the daemon has done since. */
function countsSince(since: string): () => Counts {
  const counted = (): { records: number; requests: number } => {
    const log = machine.run('sh', '-c', 'cat /var/log/signetd/audit/*').split('\n');
    return { records: log.length, requests: log.filter((line) => line.includes('"kind":"request"')).length };
  };
  const before = counted();
  return () => {
    const after = counted();
    const journal = machine.run('journalctl', '--no-pager', '--output=cat', '--unit=signetd.service', `--since=${since}`);
    return {
      starts: journal.split('Starting ').length - 1,
      records: after.records - before.records,
      requests: after.requests - before.requests,
    };
  };
}

function journalOf(unit: string): string {
  return machine.run('journalctl', '--no-pager', '--output=cat', `--unit=${unit}`);
}
