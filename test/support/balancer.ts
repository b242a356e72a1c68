import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from './until.ts';

const program = '/usr/sbin/haproxy';
const startMs = 30_000;

/** Why no balancer can be started here; undefined where it can. */
export const noBalancer = existsSync(program) ? undefined : 'haproxy is not installed';

export interface BalancedInstance {
  readonly name: string;
  readonly api: number;
  readonly operations: number;
  readonly public: number;
}

/** A haproxy with a configuration of its own. */
export class Haproxy {
  readonly directory: string;
  readonly #process: ChildProcess;

  private constructor(directory: string, child: ChildProcess) {
    this.directory = directory;
    this.#process = child;
  }

  /** Starts it, and waits until it works. `configuration` gets the directory, for sockets. */
  static async start(configuration: (directory: string) => string, works: (directory: string) => Promise<unknown>): Promise<Haproxy> {
    const directory = mkdtempSync(join(tmpdir(), 'signetd-balancer-'));
    const path = join(directory, 'haproxy.cfg');
    writeFileSync(path, configuration(directory));
    const child = spawn(program, ['-db', '-q', '-f', path], { stdio: ['ignore', 'ignore', 'inherit'] });
    const haproxy = new Haproxy(directory, child);
    try {
      await until(async () => works(directory), { timeoutMs: startMs });
    } catch (error) {
      await haproxy.stop();
      throw error;
    }
    return haproxy;
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      this.#process.kill();
      await once(this.#process, 'exit');
    }
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Starts the balancer of docs/several-instances.md, with its very configuration but for the addresses. It forwards connections. */
export async function startBalancer(
  ports: { readonly api: number; readonly public: number },
  instances: readonly BalancedInstance[],
): Promise<Haproxy> {
  return Haproxy.start(
    () => configured(documented(), ports, instances),
    async () => fetch(`http://127.0.0.1:${ports.public}/`),
  );
}

function documented(): string {
  const [, text] = /^```haproxy\n(.*?)^```$/ms.exec(readFileSync('docs/several-instances.md', 'utf8')) ?? [];
  if (text === undefined) throw new Error('the page has no configuration of haproxy');
  return text;
}

function configured(
  text: string,
  ports: { readonly api: number; readonly public: number },
  instances: readonly BalancedInstance[],
): string {
  let own = text
    .replace('bind 192.0.2.10:8443', `bind 127.0.0.1:${ports.api}`)
    .replace('bind 192.0.2.10:8080', `bind 127.0.0.1:${ports.public}`);
  for (const { name, ...port } of instances) {
    for (const [listener, documentedPort] of [
      ['api', 8443],
      ['public', 8080],
    ] as const) {
      const line = new RegExp(String.raw`server ${name} 192\.0\.2\.\d+:${documentedPort} port 9443`);
      if (!line.test(own)) throw new Error(`the page has no line for the ${listener} listener of instance ${name}`);
      own = own.replace(line, `server ${name} 127.0.0.1:${port[listener]} port ${port.operations}`);
    }
  }
  return own;
}
