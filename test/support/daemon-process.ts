import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { randomInt } from 'node:crypto';
import { appendFileSync, closeSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { nodeFlags } from '../../src/service/node-flags.ts';
import type { QuickstartEnvironment } from './quickstart-environment.ts';
import { logFile } from './suite-logs.ts';
import { setTimeout as delay } from 'node:timers/promises';

const readyPollMs = 20;
/** A token with thousands of keys on a busy machine is walked over for a while. An end of the process is told at once. */
const readySeconds = 120;

export interface Addresses {
  readonly baseUrl: string;
  readonly opsUrl: string;
}

/**
 * Gives a stopped quickstart ports far from those that quickstarts choose: while a test kills and starts its service, another one must not
 * take its place. Files that run at the same time have ports of their own.
 */
export function withOwnPorts(environment: QuickstartEnvironment): Addresses {
  const { configFile, baseUrl, opsUrl, publicUrl = 'http://absent' } = environment.description();
  const api = nextPorts();
  const ports = new Map([
    [new URL(baseUrl).port, String(api)],
    [new URL(opsUrl).port, String(api + 1)],
    [new URL(publicUrl).port, String(api + 2)],
  ]);
  const config = readFileSync(configFile, 'utf8').replaceAll(/port: (\d+)/g, (line, port: string) =>
    line.replace(port, ports.get(port) ?? port),
  );
  writeFileSync(configFile, config);
  return { baseUrl: `https://127.0.0.1:${api}`, opsUrl: `http://127.0.0.1:${api + 1}` };
}

/** Ports of a service, and services that one file may have before they come around again. */
const portsOfService = 3;
const services = 300;
/** Files run at the same time, each in a worker of its own number. */
const workers = 10;
let begun = randomInt(services);

function nextPorts(): number {
  const worker = Number(process.env['VITEST_POOL_ID'] ?? '0') % workers;
  begun += 1;
  return 20_000 + portsOfService * (worker * services + (begun % services));
}

/** For tests that count the keys on the token: none is made ahead from the next start on. */
export function withoutKeyPool(environment: QuickstartEnvironment): void {
  appendFileSync(environment.description().configFile, 'keyPool: { keys: 0 }\n');
}

/** The service as a child of the test, so that it can be killed at any moment and started again. */
export class DaemonProcess {
  readonly #configFile: string;
  readonly #opsUrl: string;
  #program: string;
  #child: ChildProcess | undefined;

  constructor(configFile: string, opsUrl: string, program = 'dist/main.js') {
    this.#configFile = configFile;
    this.#opsUrl = opsUrl;
    this.#program = program;
  }

  /** The next start is of another build. */
  upgradeTo(program: string): void {
    this.#program = program;
  }

  /** Starts it and waits until it is ready. */
  async start(): Promise<void> {
    this.#spawn();
    await this.ready();
  }

  /** Starts it and answers the first thing that it says of its readiness: status and body. */
  async startAndAsk(): Promise<{ readonly status: number; readonly text: string }> {
    this.#spawn();
    const deadline = Date.now() + readySeconds * 1000;
    for (;;) {
      const said = await this.#readiness();
      if (said !== undefined) return said;
      this.#checkAlive(deadline);
      await delay(readyPollMs);
    }
  }

  /** Waits until it has ended by itself. Answers its exit status. */
  async ended(): Promise<number | null> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return null;
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    return child.exitCode;
  }

  /** Waits until it answers ready, which takes a signature of the token. */
  async ready(): Promise<void> {
    const deadline = Date.now() + readySeconds * 1000;
    while ((await this.#readiness())?.status !== 200) {
      this.#checkAlive(deadline);
      await delay(readyPollMs);
    }
  }

  /** kill -9, and its end. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** kill -9 of the token host. */
  killHost(): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    for (const task of readdirSync(`/proc/${pid}/task`)) {
      const children = readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean);
      for (const child of children) process.kill(Number(child), 'SIGKILL');
    }
  }

  #spawn(): void {
    const log = openSync(logFile(), 'a');
    this.#child = spawn(process.execPath, [...nodeFlags, this.#program, '--config', this.#configFile], { stdio: ['ignore', log, log] });
    closeSync(log);
  }

  #checkAlive(deadline: number): void {
    // Between a kill and the next start there is none; who waits then waits for the next.
    if (this.#child !== undefined && this.#child.exitCode !== null)
      throw new Error(`the service ended with status ${this.#child.exitCode}`);
    if (Date.now() > deadline) throw new Error('the service is not ready');
  }

  /** Undefined where it does not answer, or somebody else does. */
  async #readiness(): Promise<{ readonly status: number; readonly text: string } | undefined> {
    try {
      const response = await fetch(`${this.#opsUrl}/health/ready`);
      const body = await response.text();
      return body.includes(`"pid":${this.#child?.pid}`) ? { status: response.status, text: body } : undefined;
    } catch {
      return undefined;
    }
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, 'exit');
  }
}
