import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { parse, stringify } from 'yaml';
import { packageOfThisBuild, writeWithVersion } from '../packaging/made-package.ts';
import { BootedSystemd } from '../support/booted-systemd.ts';
import { Load } from '../support/load.ts';

const log = 'var/life.log';
const daemon = 'signetd.service';
const host = 'signetd-token.service';
export const units = [host, daemon] as const;
/** Metrics that the log shows after each step. */
const told =
  /^signetd_(?:build_info|ready|token_ready|audit_records_total|state_ready|certificate_not_after\w*|clients\w*|filesystem_avail_bytes|clock_behind_seconds)\b/;

export type Config = Record<string, Record<string, unknown>>;

/** One machine from the installation of signetd to its removal. What is done to it, and what it says of itself, is in the log. */
export class Appliance {
  readonly machine = new BootedSystemd('multi-user.target');
  readonly material = mkdtempSync(join(tmpdir(), 'signetd-life-'));

  /** Boots it, with packages of these versions, oldest first, and of this build, at /srv. */
  async boot(versions: readonly string[]): Promise<void> {
    mkdirSync('var', { recursive: true });
    writeFileSync(log, '');
    const file = packageOfThisBuild();
    cpSync(file, join(this.material, 'now.deb'));
    for (const version of versions) writeWithVersion(file, version, join(this.material, `${version}.deb`));
    await this.machine.bootWithoutSignetd(this.material);
    // Otherwise a shutdown would end the journal too.
    this.shell('mkdir -p /var/log/journal && systemd-tmpfiles --create --prefix /var/log/journal && journalctl --flush');
  }

  async remove(): Promise<void> {
    await this.machine.remove();
    rmSync(this.material, { recursive: true, force: true });
  }

  note(text: string): void {
    appendFileSync(log, `${text.trimEnd()}\n`);
  }

  /** Runs commands as an operator in root's home directory; they and what they print are in the log. @throws {Error} where one fails */
  shell(commands: string): string {
    const { status, output } = this.attempt(commands);
    if (status !== 0) throw new Error(`${commands}: exit ${status}\n${output}\n${this.journal()}`);
    return output;
  }

  /** As `shell`, of commands that may fail. */
  attempt(commands: string): { status: number | null; output: string } {
    const { status, output } = this.machine.try('env', 'HOME=/root', 'bash', '--norc', '-euo', 'pipefail', '-c', `cd /root\n${commands}`);
    this.note(`$ ${commands.trim().replaceAll('\n', '\n> ')}\n${output}${status === 0 ? '' : `exit ${status}\n`}`);
    return { status, output };
  }

  /** Writes down what the service, `doctor`, the metrics and the log say now. Answers what `doctor` says. */
  tell(title: string): string {
    this.note(`\n---- ${title}: what the service says ----`);
    this.note(`ready: ${this.health()}`);
    this.attempt('signetctl status');
    const { output } = this.attempt('signetctl doctor');
    this.note(
      this.metrics()
        .filter((line) => told.test(line))
        .join('\n'),
    );
    this.attempt('signetctl audit verify');
    return output;
  }

  health(): string {
    return this.machine.try('curl', '--silent', '--max-time', '5', 'http://127.0.0.1:9443/health/ready').output;
  }

  get ready(): boolean {
    return this.health().includes('"status":"ready"');
  }

  async untilReady(): Promise<void> {
    await this.machine.until('it is ready', () => this.ready);
  }

  metrics(): string[] {
    return this.machine.try('curl', '--silent', '--max-time', '5', 'http://127.0.0.1:9443/metrics').output.split('\n');
  }

  /** The version that the process says to run. */
  get runningVersion(): string | undefined {
    const [, version] = /^signetd_build_info\{.*version="([^"]+)"/m.exec(this.metrics().join('\n')) ?? [];
    return version;
  }

  pids(): string[] {
    return units.map((unit) => this.machine.property(unit, 'MainPID'));
  }

  journal(unit = 'signetd*', options = ''): string {
    return this.machine.run('sh', '-c', `journalctl --no-pager --output=short-iso --unit='${unit}' ${options} | tail -n 400`);
  }

  /** Records of the audit log that contain a text. */
  recordsWith(text: string): Record<string, unknown>[] {
    const lines = this.machine.run('sh', '-c', `signetctl audit export --format jsonl | grep -F -e '${text}' || true`).trim().split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  get recordCount(): number {
    return Number(this.machine.run('sh', '-c', 'signetctl audit export --format jsonl | wc -l'));
  }

  configuration(): Config {
    return parse(this.machine.run('cat', '/etc/signetd/signetd.yaml')) as Config;
  }

  /** Edits the configuration as an operator does. */
  configure(what: string, change: (config: Config) => void): void {
    const config = this.configuration();
    change(config);
    writeFileSync(join(this.material, 'signetd.yaml'), stringify(config));
    this.machine.run('install', '-m', '0640', '-g', 'signetd', '/srv/signetd.yaml', '/etc/signetd/');
    this.note(`# /etc/signetd/signetd.yaml: ${what}`);
  }

  /** The first client's signature by the command that setup printed. Answers what the service says. */
  sign(): string {
    return this.machine.try('sh', '-c', readFileSync(join(this.material, 'first-curl'), 'utf8')).output;
  }

  async untilItSigns(): Promise<void> {
    await this.machine.until('it signs', () => this.sign().includes('"resultMajor":0'));
    this.note('# a signature was made');
  }

  /** Callers of the first client. */
  load(pauseMs = 50): Load {
    const files = { ca: 'server-ca.pem', certificate: 'app.pem', key: 'app.key' };
    for (const [from, name] of [
      ['/etc/signetd/tls/server-ca.pem', files.ca],
      ['/etc/signetd/clients/app.pem', files.certificate],
      ['/etc/signetd/clients/app.key', files.key],
    ] as const)
      writeFileSync(join(this.material, name), this.machine.run('cat', from), { mode: 0o600 });
    const [, url = ''] = /(https:\/\/\S+)\/signature\/sign/.exec(readFileSync(join(this.material, 'first-curl'), 'utf8')) ?? [];
    expect(url).not.toBe('');
    const { ca, certificate, key } = Object.fromEntries(
      Object.entries(files).map(([name, file]) => [name, join(this.material, file)]),
    ) as typeof files;
    return new Load({ url, ca, certificate, key, callers: 8, pauseMs }, this.machine.inItsNetwork);
  }
}
