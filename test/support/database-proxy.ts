import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Haproxy } from './balancer.ts';
import type { ScratchPostgresql } from './postgresql.ts';

const page = 'docs/several-instances.md';
const socket = '.s.PGSQL.5432';
type Place = 'a' | 'b';

/** The proxy in front of PostgreSQL of docs/several-instances.md, with its very configuration and commands but for the addresses. */
export class DatabaseProxy {
  readonly #haproxy: Haproxy;
  #place: Place = 'a';

  private constructor(haproxy: Haproxy) {
    this.#haproxy = haproxy;
  }

  /** Starts it in front of a primary. */
  static async start(primary: ScratchPostgresql): Promise<DatabaseProxy> {
    const haproxy = await Haproxy.start(
      (directory) => {
        mkdirSync(join(directory, 'host'));
        lead(directory, 'a', primary);
        return configured(directory);
      },
      async (directory) => {
        if (!existsSync(join(directory, 'host', socket))) throw new Error('the proxy does not listen');
        return Promise.resolve();
      },
    );
    return new DatabaseProxy(haproxy);
  }

  /** Directory of its Unix socket, which is a host to signetd. */
  get host(): string {
    return join(this.#haproxy.directory, 'host');
  }

  /** Switches to a new primary, as the page says. */
  async switchTo(primary: ScratchPostgresql): Promise<void> {
    const [from, to]: [Place, Place] = this.#place === 'a' ? ['a', 'b'] : ['b', 'a'];
    lead(this.#haproxy.directory, to, primary);
    const commands = documented(/^```text\n(disable server .*?)^```$/ms).replaceAll(/postgresql\/([ab])/g, (_name, place: string) =>
      place === 'a' ? `postgresql/${from}` : `postgresql/${to}`,
    );
    for (const command of commands.trim().split('\n')) {
      const said = await this.#command(command);
      if (said.trim() !== '') throw new Error(`${command}: ${said}`);
    }
    this.#place = to;
  }

  async stop(): Promise<void> {
    await this.#haproxy.stop();
  }

  async #command(line: string): Promise<string> {
    const connection = connect(join(this.#haproxy.directory, 'admin'));
    connection.end(`${line}\n`);
    return text(connection);
  }
}

/** Lets a place of the configuration lead to a server. */
function lead(directory: string, place: Place, server: ScratchPostgresql): void {
  rmSync(join(directory, place), { force: true });
  symlinkSync(dirname(server.socketPath), join(directory, place));
}

function documented(block: RegExp): string {
  const [, found] = block.exec(readFileSync(page, 'utf8')) ?? [];
  if (found === undefined) throw new Error(`${page} has no block ${block.source}`);
  return found;
}

function configured(directory: string): string {
  const listen = documented(/^```haproxy\n(listen postgresql\n.*?)^```$/ms)
    .replace('192.0.2.10:5432', `unix@${join(directory, 'host', socket)} mode 777`)
    .replace('192.0.2.21:5432', `unix@${join(directory, 'a', socket)}`)
    .replace('192.0.2.22:5432', `unix@${join(directory, 'b', socket)}`);
  return `global\n    stats socket ${join(directory, 'admin')} level admin\ndefaults\n    mode tcp\n    timeout connect 2s\n${listen}`;
}
