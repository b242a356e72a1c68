import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { StateConfig } from '../../src/config/state-config.ts';
import { until } from './until.ts';

const debianDirectories = ['15', '16', '17', '14', '13'].map((version) => `/usr/lib/postgresql/${version}/bin`);
const startMs = 30_000;
const standbyName = 'standby';
/** Names the directory of an empty server, which servers are copies of; the first server of a test run makes it. */
export const postgresqlTemplate = 'SIGNETD_TEST_POSTGRESQL';
/** In tests the server may crash, but never the machine. */
const quick = ['-c', 'fsync=off', '-c', 'full_page_writes=off'];

/** A PostgreSQL server of its own, in a temporary directory, on a Unix socket alone. */
export class ScratchPostgresql {
  readonly directory: string;
  readonly #bin: string;
  #server: ChildProcess | undefined;
  #databases = 0;

  private constructor(directory: string, bin: string) {
    this.directory = directory;
    this.#bin = bin;
  }

  static async start(): Promise<ScratchPostgresql> {
    const server = ScratchPostgresql.#inNewDirectory();
    server.#initialise();
    await server.restart();
    return server;
  }

  static #inNewDirectory(): ScratchPostgresql {
    const directory = mkdtempSync(join(tmpdir(), 'signetd-postgresql-'));
    mkdirSync(join(directory, 'socket'));
    if (process.getuid?.() === 0) execFileSync('chown', ['-R', 'postgres:', directory]);
    chmodSync(directory, 0o755);
    return new ScratchPostgresql(directory, binaries());
  }

  /** Starts a standby, a server of its own that replicates this one from now on. */
  async startStandby(): Promise<ScratchPostgresql> {
    const standby = ScratchPostgresql.#inNewDirectory();
    const primary = `host=${join(this.directory, 'socket')} user=signetd application_name=${standbyName}`;
    standby.#execute('pg_basebackup', ['-D', standby.#data, '-d', primary, '-X', 'stream', '-c', 'fast', '-R', '--no-sync']);
    await standby.restart();
    return standby;
  }

  /** Lets commits return when a standby has them on its disk too. */
  async replicateSynchronously(): Promise<void> {
    await this.query('postgres', `alter system set synchronous_standby_names = '${standbyName}'`);
    await this.query('postgres', 'select pg_reload_conf()');
    await until(
      async () => {
        const [row] = await this.query('postgres', "select count(*)::int as count from pg_stat_replication where sync_state = 'sync'");
        if (row?.['count'] !== 1) throw new Error('no standby replicates synchronously');
      },
      { timeoutMs: startMs },
    );
  }

  /** Waits until a standby has what the primary has now. */
  async hasAllOf(primary: ScratchPostgresql): Promise<void> {
    const [end] = await primary.query('postgres', 'select pg_current_wal_lsn()::text as lsn');
    await until(
      async () => {
        const [row] = await this.query('postgres', `select pg_last_wal_replay_lsn() >= '${String(end?.['lsn'])}' as has_all`);
        if (row?.['has_all'] !== true) throw new Error('the standby lags behind');
      },
      { timeoutMs: startMs },
    );
  }

  /** Makes a standby the primary. */
  async promote(): Promise<void> {
    await this.query('postgres', `select pg_promote(true, ${startMs / 1000})`);
  }

  /** Path of its Unix socket. */
  get socketPath(): string {
    return join(this.directory, 'socket', '.s.PGSQL.5432');
  }

  get #data(): string {
    return join(this.directory, 'data');
  }

  /** Configuration of the state store in a database of its own. */
  async newDatabase(settings: Record<string, unknown> = {}): Promise<StateConfig> {
    this.#databases += 1;
    const database = `test_${this.#databases}`;
    await this.query('postgres', `create database ${database}`);
    return StateConfig.parse({ kind: 'postgresql', host: join(this.directory, 'socket'), database, user: 'signetd', ...settings });
  }

  /** Runs statements as the operator would, and answers the rows of the last. */
  async query(database: string, text: string): Promise<Record<string, unknown>[]> {
    const client = new Client({ host: join(this.directory, 'socket'), database, user: 'signetd' });
    await client.connect();
    try {
      const { rows } = await client.query<Record<string, unknown>>(text);
      return rows;
    } finally {
      await client.end();
    }
  }

  /** A backup of a database, which may be in use. */
  dump(database: string): Buffer {
    return execFileSync(join(this.#bin, 'pg_dump'), [...this.#asSignetd, '--format=custom', database], { maxBuffer: 64 * 1024 * 1024 });
  }

  /** Puts a backup into an empty database. */
  restore(database: string, dump: Buffer): void {
    execFileSync(join(this.#bin, 'pg_restore'), [...this.#asSignetd, '--exit-on-error', '--dbname', database], { input: dump });
  }

  get #asSignetd(): string[] {
    return ['--host', join(this.directory, 'socket'), '--username', 'signetd'];
  }

  /** From now on, the server admits one user of this machine alone, as `signetd`. */
  async authenticateByPeer(user: string): Promise<void> {
    writeFileSync(join(this.#data, 'pg_hba.conf'), 'local all all peer map=service\n');
    writeFileSync(join(this.#data, 'pg_ident.conf'), `service ${user} signetd\n`);
    await this.query('postgres', 'select pg_reload_conf()');
    await until(
      async () => {
        const refused = await this.query('postgres', 'select 1').then(
          () => false,
          () => true,
        );
        if (!refused) throw new Error('the server still admits everybody');
      },
      { timeoutMs: startMs },
    );
  }

  /** Starts the server (again) and waits until it answers. */
  async restart(): Promise<void> {
    const child = this.#spawn('postgres', [
      ...['-D', this.#data, '-k', join(this.directory, 'socket')],
      ...['-c', 'listen_addresses=', '-c', 'log_min_messages=panic', '-c', 'max_connections=40'],
      ...(postgresqlTemplate in process.env ? quick : []),
    ]);
    this.#server = child;
    const deadline = Date.now() + startMs;
    for (;;) {
      try {
        await this.query('postgres', 'select 1');
        return;
      } catch (error) {
        if (child.exitCode !== null || Date.now() > deadline) throw error;
        await delay(20);
      }
    }
  }

  /** `immediate`: as a crash would. `killed`: all its processes at once, which write nothing more. */
  async stop(how: 'fast' | 'immediate' | 'killed' = 'fast'): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    const ended = new Promise((resolve) => server.once('exit', resolve));
    if (how === 'killed') this.#signalAll('SIGKILL');
    else server.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT');
    this.#server = undefined;
    await ended;
  }

  /** Suspends all its processes: connections stay open, and nothing answers. */
  pause(): void {
    this.#signalAll('SIGSTOP');
  }

  resume(): void {
    this.#signalAll('SIGCONT');
  }

  async remove(): Promise<void> {
    this.resume();
    await this.stop('immediate');
    rmSync(this.directory, { recursive: true, force: true });
  }

  #signalAll(signal: NodeJS.Signals): void {
    const pid = this.#server?.pid;
    if (pid === undefined) return;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
    for (const each of [pid, ...children]) {
      try {
        process.kill(each, signal);
      } catch (error) {
        // A process for a connection has ended meanwhile.
        if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
      }
    }
  }

  /** Makes the files of an empty server: a copy of those that the first server of the run made. */
  #initialise(): void {
    const template = process.env[postgresqlTemplate];
    if (template === undefined || !existsSync(template)) {
      this.#execute('initdb', ['-D', this.#data, '-U', 'signetd', '--auth=trust', '--no-sync', '--no-locale', '--encoding=UTF8']);
      if (template === undefined) return;
      const copy = `${template}.${process.pid}`;
      execFileSync('cp', ['-a', this.#data, copy]);
      try {
        renameSync(copy, template);
      } catch {
        // Another test file was first.
        rmSync(copy, { recursive: true });
      }
    } else {
      execFileSync('cp', ['-a', template, this.#data]);
    }
  }

  #execute(program: string, args: readonly string[]): void {
    const [command, all] = this.#asServerUser(program, args);
    execFileSync(command, all, { cwd: this.directory, stdio: ['ignore', 'ignore', 'pipe'] });
  }

  #spawn(program: string, args: readonly string[]): ChildProcess {
    const [command, all] = this.#asServerUser(program, args);
    return spawn(command, all, { cwd: this.directory, stdio: ['ignore', 'ignore', 'inherit'] });
  }

  /** The server refuses to run as root. `setpriv` becomes it, so that signals reach the server itself. */
  #asServerUser(program: string, args: readonly string[]): [string, string[]] {
    const path = join(this.#bin, program);
    if (process.getuid?.() !== 0) return [path, [...args]];
    return ['setpriv', ['--reuid', 'postgres', '--regid', 'postgres', '--init-groups', '--pdeathsig', 'QUIT', path, ...args]];
  }
}

/** The directory of `initdb` and `postgres`: Debian's, or one in PATH. */
function binaries(): string {
  const directories = [...debianDirectories, ...(process.env['PATH'] ?? '').split(delimiter)];
  const found = directories.find((directory) => existsSync(join(directory, 'initdb')) && existsSync(join(directory, 'postgres')));
  if (found === undefined) throw new Error('PostgreSQL is not installed (Debian package postgresql)');
  return found;
}
