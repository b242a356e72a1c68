import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { instanceTemplate, instanceUnits, templateName } from '../../packaging/deb/instance-units.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const bootSeconds = 60;
const pollMs = 100;
const commandMilliseconds = 200_000;
/** Where systemd-nspawn keeps what containers share; it wants a file system that can be unmounted. */
const shared = '/run/systemd/nspawn';

/** Trees of control groups, of version 1 and of version 2, in which systemd keeps processes. */
const groupTrees = ['/sys/fs/cgroup/systemd', '/sys/fs/cgroup/unified', '/sys/fs/cgroup'];
/**
 * Starts a program in control groups of its own: systemds in the same one would count and end each other's processes. It
 * stays where it is if it may make none.
 */
const inOwnGroups = `for tree in ${groupTrees.join(' ')}; do
  [ -e "$tree/cgroup.procs" ] && mkdir "$tree/$0" && echo $$ >"$tree/$0/cgroup.procs"
done 2>/dev/null
exec "$@"`;

/** Why a system cannot be booted here to which packages are added; undefined where it can. */
export function whyNotInstallable(): string | undefined {
  const reason = whyNotBootable();
  if (reason !== undefined) return reason;
  if (spawnSync('apt-get', ['--version']).error !== undefined) return 'this is not a Debian system';
  const trial =
    'mount -t tmpfs tmpfs /mnt && mkdir /mnt/u /mnt/w /mnt/r && mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/u,workdir=/mnt/w /mnt/r';
  if (spawnSync('unshare', ['--mount', 'sh', '-c', trial]).status !== 0) return 'nothing can be laid over the root file system here';
  return undefined;
}

/** Why systemd cannot be booted here; undefined where it can. */
export function whyNotBootable(): string | undefined {
  if (process.getuid?.() !== 0) return 'booting systemd takes root';
  if (spawnSync('systemd-nspawn', ['--version']).error !== undefined) return 'systemd-nspawn (Debian: systemd-container) is not installed';
  if (spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status !== 0) return 'nothing can be mounted here';
  if (realpathSync('/lib') !== '/usr/lib') return 'this system has programs outside /usr';
  return undefined;
}

/**
 * A systemd that is really booted, in a container. Its root file system is empty but for the machine's /usr, in which signetd is installed as its
 * package does it; or it is the machine's own, in which nothing is installed yet. Its network is its own.
 */
export class BootedSystemd {
  readonly #directory = mkdtempSync(join(tmpdir(), 'signetd-booted-'));
  readonly #console: Buffer[] = [];
  #container: ChildProcess | undefined;
  #pid = '';
  readonly #target: string;
  #options: readonly string[] = [];
  #mounted = false;
  #layers: string | undefined;

  /** `target`: what it boots to. What starts by itself at the first boot of an empty system is of no use to most tests. */
  constructor(target = 'basic.target') {
    this.#target = target;
  }

  /** Boots, with `material` readable at /srv. */
  async boot(material: string): Promise<void> {
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
    await this.#start([
      '--volatile=yes',
      '--directory=/',
      `--overlay-ro=/usr/lib:${layer}:/usr/lib`,
      ...binds.map(([from, to]) => `--bind-ro=${from}:${to}`),
    ]);
  }

  /**
   * Boots this machine's own system, to which signetd is not added: packages can be installed and removed, in a layer of memory over it. `material`
   * is readable at /srv.
   */
  async bootWithoutSignetd(material: string): Promise<void> {
    this.#layers = join(this.#directory, 'layers');
    const [upper, work, root] = ['upper', 'work', 'root'].map((name) => join(this.#directory, 'layers', name));
    mkdirSync(this.#layers);
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', this.#layers]);
    for (const directory of [upper, work, root]) mkdirSync(directory ?? '');
    execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', `lowerdir=/,upperdir=${upper},workdir=${work}`, root ?? '']);
    // An image for containers forbids its packages to start anything; another machine has an identity of its own, and no data.
    const data = ['etc/signetd', 'var/lib/signetd', 'var/lib/signetd-token', 'var/log/signetd'];
    for (const path of ['usr/sbin/policy-rc.d', 'etc/machine-id', ...data])
      rmSync(join(root ?? '', path), { recursive: true, force: true });
    // The index of all manual pages would be written at each change of packages, which takes longer than the change.
    rmSync(join(root ?? '', 'var/lib/man-db/auto-update'), { force: true });
    // There is no network to wait for.
    symlinkSync('/dev/null', join(root ?? '', 'etc/systemd/system/systemd-networkd-wait-online.service'));
    await this.#start([`--directory=${root}`, `--bind-ro=${material}:/srv`]);
  }

  /** Shuts it down, and boots it again with the files that it has; after `bootWithoutSignetd` only. */
  async reboot(): Promise<void> {
    const ended = this.#end();
    this.try('systemctl', 'poweroff');
    await ended;
    await this.#start(this.#options);
  }

  async #start(options: readonly string[]): Promise<void> {
    this.#options = options;
    mkdirSync(shared, { recursive: true });
    if (spawnSync('mountpoint', ['--quiet', shared]).status !== 0) {
      execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', shared]);
      this.#mounted = true;
    }
    this.#container = spawn(
      'sh',
      [
        ...['-c', inOwnGroups, basename(this.#directory), 'systemd-nspawn'],
        ...['--boot', '--private-network', '--register=no', '--keep-unit', '--console=pipe'],
        // As on a machine, the units alone decide who may ask for the state of the clock.
        '--system-call-filter=adjtimex clock_adjtime',
        `--machine=signetd-${process.pid}`,
        ...options,
        ...['--', `--unit=${this.#target}`],
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
      timeout: commandMilliseconds,
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
      const ended = this.#end();
      // The end of its systemd is that of the container; that of systemd-nspawn would leave it running.
      if (this.#pid === '') container.kill('SIGKILL');
      else process.kill(Number(this.#pid), 'SIGKILL');
      await ended;
    }
    for (const tree of groupTrees) spawnSync('find', [join(tree, basename(this.#directory)), '-depth', '-type', 'd', '-delete']);
    // Another container may have come to use it: then it stays.
    if (this.#mounted) spawnSync('umount', [shared]);
    if (this.#layers !== undefined) {
      for (const place of [join(this.#layers, 'root'), this.#layers]) spawnSync('umount', ['--lazy', place]);
    }
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #end(): Promise<void> {
    const container = this.#container;
    await new Promise((resolve) => {
      container?.once('exit', resolve);
    });
    this.#pid = '';
  }

  /** /usr/lib as the package adds to it, with places to mount what is too big to copy. */
  #installed(): string {
    const layer = join(this.#directory, 'usr-lib');
    for (const place of ['dist', 'node_modules', 'native-config', 'runtime']) mkdirSync(join(layer, 'signetd', place), { recursive: true });
    mkdirSync(join(layer, 'signetd-running'));
    for (const place of ['package.json', 'runtime/node']) writeFileSync(join(layer, 'signetd', place), '');
    const units = ['signetd.service', 'signetd-token.service', 'signetd-api.socket', 'signetd-operations.socket', 'signetd-public.socket'];
    const files = [
      ...units.map((unit) => [unit, `systemd/system/${unit}`]),
      ['sysusers.conf', 'sysusers.d/signetd.conf'],
      ['tmpfiles.conf', 'tmpfiles.d/signetd.conf'],
    ];
    for (const [from = '', to = ''] of files) cpSync(join(project, 'systemd', from), join(layer, to));
    for (const unit of instanceUnits) {
      const template = instanceTemplate(readFileSync(join(project, 'systemd', unit), 'utf8'));
      writeFileSync(join(layer, 'systemd/system', templateName(unit)), template);
    }
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
