import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const project = fileURLToPath(new URL('../..', import.meta.url));
const bootSeconds = 60;
const pollMs = 100;
/** Where systemd-nspawn keeps what containers share; it wants a file system that can be unmounted. */
const shared = '/run/systemd/nspawn';

/** Why systemd cannot be booted here; undefined where it can. */
export function whyNotBootable(): string | undefined {
  if (process.getuid?.() !== 0) return 'booting systemd takes root';
  if (spawnSync('systemd-nspawn', ['--version']).error !== undefined) return 'systemd-nspawn (Debian: systemd-container) is not installed';
  if (spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status !== 0) return 'nothing can be mounted here';
  if (realpathSync('/lib') !== '/usr/lib') return 'this system has programs outside /usr';
  return undefined;
}

/**
 * A systemd that is really booted: a container with a root file system of its own, which is empty but for the machine's /usr, in which signetd is
 * installed as its package does it. Its network is its own.
 */
export class BootedSystemd {
  readonly #directory = mkdtempSync(join(tmpdir(), 'signetd-booted-'));
  readonly #console: Buffer[] = [];
  #container: ChildProcess | undefined;
  #pid = '';
  #mounted = false;

  /** Boots, with `material` readable at /srv. */
  async boot(material: string): Promise<void> {
    mkdirSync(shared, { recursive: true });
    if (spawnSync('mountpoint', ['--quiet', shared]).status !== 0) {
      execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', shared]);
      this.#mounted = true;
    }
    const layer = this.#installed();
    const program = '/usr/lib/signetd';
    const binds = [
      [join(project, 'dist'), `${program}/dist`],
      [join(project, 'node_modules'), `${program}/node_modules`],
      [join(project, 'native-config'), `${program}/native-config`],
      [join(project, 'package.json'), `${program}/package.json`],
      [process.execPath, `${program}/runtime/node`],
      [material, '/srv'],
    ];
    this.#container = spawn(
      'systemd-nspawn',
      [
        ...['--boot', '--volatile=yes', '--directory=/', '--private-network', '--register=no', '--keep-unit', '--console=pipe'],
        // As on a machine, the units alone decide who may ask for the state of the clock.
        '--system-call-filter=adjtimex clock_adjtime',
        `--machine=signetd-${process.pid}`,
        `--overlay-ro=/usr/lib:${layer}:/usr/lib`,
        ...binds.map(([from, to]) => `--bind-ro=${from}:${to}`),
        // Arguments of systemd: what starts by itself at the first boot of an empty system is of no use here.
        ...['--', '--unit=basic.target'],
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    this.#container.stdout?.on('data', (chunk: Buffer) => this.#console.push(chunk));
    this.#container.stderr?.on('data', (chunk: Buffer) => this.#console.push(chunk));
    await this.until('systemd has booted', () => {
      this.#pid = this.#childOf(this.#container?.pid);
      if (this.#pid === '') return false;
      return ['running', 'degraded'].includes(this.try('systemctl', 'is-system-running').output.trim());
    });
  }

  /** The command in front of one that is to run in the container's network, and otherwise outside of it. */
  get inItsNetwork(): readonly string[] {
    return ['nsenter', '--target', this.#pid, '--net'];
  }

  /** Runs a command in it. @throws {Error} with its output where it fails */
  run(...command: readonly string[]): string {
    const { status, output } = this.try(...command);
    if (status !== 0) throw new Error(`${command.join(' ')}: ${output}\n${this.#journal()}`);
    return output;
  }

  try(...command: readonly string[]): { status: number | null; output: string } {
    const { status, stdout, stderr } = spawnSync('nsenter', ['--target', this.#pid, '--all', '--', ...command], {
      encoding: 'utf8',
      // Nothing of this process's environment is meant for it.
      env: { PATH: '/usr/sbin:/usr/bin', LANG: 'C.UTF-8' },
    });
    return { status, output: stdout + stderr };
  }

  /** A property of a unit. */
  property(unit: string, name: string): string {
    return this.run('systemctl', 'show', '--value', `--property=${name}`, unit).trim();
  }

  /** Polls: systemd is another process, which tells nobody. */
  async until(what: string, isSo: () => boolean): Promise<void> {
    const deadline = Date.now() + bootSeconds * 1000;
    while (!isSo()) {
      if (Date.now() > deadline || this.#container?.exitCode !== null) {
        throw new Error(`not within ${bootSeconds} s: ${what}\n${Buffer.concat(this.#console).toString('utf8')}\n${this.#journal()}`);
      }
      await delay(pollMs);
    }
  }

  async remove(): Promise<void> {
    const container = this.#container;
    if (container !== undefined && container.exitCode === null) {
      const ended = new Promise((resolve) => {
        container.once('exit', resolve);
      });
      // The end of its systemd is that of the container; that of systemd-nspawn would leave it running.
      if (this.#pid === '') container.kill('SIGKILL');
      else process.kill(Number(this.#pid), 'SIGKILL');
      await ended;
    }
    // Another container may have come to use it: then it stays.
    if (this.#mounted) spawnSync('umount', [shared]);
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** /usr/lib as the package adds to it, with places to mount what is too big to copy. */
  #installed(): string {
    const layer = join(this.#directory, 'usr-lib');
    for (const place of ['dist', 'node_modules', 'native-config', 'runtime']) mkdirSync(join(layer, 'signetd', place), { recursive: true });
    for (const place of ['package.json', 'runtime/node']) writeFileSync(join(layer, 'signetd', place), '');
    const units = ['signetd.service', 'signetd-token.service', 'signetd-api.socket', 'signetd-operations.socket', 'signetd-public.socket'];
    const files = [
      ...units.map((unit) => [unit, `systemd/system/${unit}`]),
      ['sysusers.conf', 'sysusers.d/signetd.conf'],
      ['tmpfiles.conf', 'tmpfiles.d/signetd.conf'],
    ];
    for (const [from = '', to = ''] of files) cpSync(join(project, 'systemd', from), join(layer, to));
    return layer;
  }

  #childOf(pid: number | undefined): string {
    const file = `/proc/${pid}/task/${pid}/children`;
    return pid === undefined || !existsSync(file) ? '' : readFileSync(file, 'utf8').trim();
  }

  #journal(): string {
    return this.#pid === '' ? '' : this.try('journalctl', '--no-pager', '--lines=40', '--unit=signetd*').output;
  }
}
