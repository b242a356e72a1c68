import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const script = fileURLToPath(new URL('./service-manager.py', import.meta.url));

const Event = z.discriminatedUnion('event', [
  z.object({ event: z.literal('listening'), ports: z.record(z.string(), z.number()) }),
  z.object({ event: z.literal('started'), pid: z.number() }),
  z.object({ event: z.literal('message'), pid: z.number(), text: z.string() }),
  z.object({ event: z.literal('ended'), pid: z.number(), status: z.number() }),
]);
type Event = z.output<typeof Event>;

export interface SupervisedTask {
  readonly command: readonly string[];
  /** Name to port on 127.0.0.1. */
  readonly sockets?: Readonly<Record<string, number>>;
  readonly watchdogMicroseconds?: number;
  readonly environment?: Readonly<Record<string, string>>;
  /** The socket for messages has a name without a file. */
  readonly abstract?: boolean;
}

/** A process that does for a service what systemd does: `service-manager.py`. */
export class SupervisingProcess {
  readonly #process: ChildProcess;
  readonly #events: Event[] = [];
  #told: () => void = () => undefined;
  readonly #output: Buffer[] = [];

  constructor(task: SupervisedTask) {
    this.#process = spawn('python3', [script, JSON.stringify(task)], { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#process.stderr?.on('data', (chunk: Buffer) => {
      this.#output.push(chunk);
      this.#told();
    });
    if (this.#process.stdout === null) throw new Error('no output');
    createInterface(this.#process.stdout).on('line', (line) => {
      this.#events.push(Event.parse(JSON.parse(line)));
      this.#told();
    });
  }

  /** What the service wrote. */
  get output(): string {
    return Buffer.concat(this.#output).toString('utf8');
  }

  get events(): readonly Event[] {
    return this.#events;
  }

  /** Every message of the service so far, a line each of its lines. */
  get lines(): readonly string[] {
    return this.#events.flatMap((event) => (event.event === 'message' ? event.text.split('\n') : []));
  }

  /** Starts the service and waits until it says that it is ready. Answers its process id. */
  async start(): Promise<number> {
    const from = this.#events.length;
    this.tell('start');
    const started = await this.until((event) => event.event === 'started', from);
    await this.until((event) => event.event === 'ended' || (event.event === 'message' && event.text.startsWith('READY=1')), from);
    const ended = this.#events.slice(from).find(({ event }) => event === 'ended');
    if (ended !== undefined) throw new Error(`the service ended: ${this.output}`);
    return started.event === 'started' ? started.pid : 0;
  }

  /** Ends it by a signal and waits for that. Answers its exit status. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number> {
    const from = this.#events.length;
    this.tell(signal);
    const ended = await this.until(({ event }) => event === 'ended', from);
    return ended.event === 'ended' ? ended.status : 0;
  }

  /** "start", or the name of a signal for the service. */
  tell(word: string): void {
    this.#process.stdin?.write(`${word}\n`);
  }

  /** The first event from an index on that is so. */
  async until(matches: (event: Event) => boolean, from = 0): Promise<Event> {
    for (;;) {
      const found = this.#events.slice(from).find(matches);
      if (found !== undefined) return found;
      await this.#something();
    }
  }

  /** Waits until the service has written this. */
  async wrote(text: string): Promise<void> {
    while (!this.output.includes(text)) await this.#something();
  }

  /** Ends the service, if it runs, and this process. */
  async close(): Promise<void> {
    if (this.#process.exitCode !== null) return;
    this.#process.stdin?.end();
    await once(this.#process, 'exit');
  }

  async #something(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#told = resolve;
    });
  }
}
