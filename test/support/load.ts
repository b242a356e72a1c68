import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const script = fileURLToPath(new URL('./callers.ts', import.meta.url));
const Summary = z.object({ requests: z.number(), failures: z.array(z.string()), longestMs: z.number() });
export type Summary = z.output<typeof Summary>;

export interface Callers {
  readonly url: string;
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
  readonly callers: number;
  /** On average, between an answer and the next request. */
  readonly pauseMs: number;
}

/** Callers that sign until they are told to end. */
export class Load {
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  /** `prefix`: a command in front of theirs, which puts them elsewhere. */
  constructor(callers: Callers, prefix: readonly string[] = []) {
    const [program, ...rest] = [...prefix, process.execPath, '--disable-sigusr1', script, JSON.stringify(callers)];
    this.#process = spawn(program, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
    if (this.#process.stdout === null) throw new Error('no output');
    this.#lines = createInterface(this.#process.stdout)[Symbol.asyncIterator]();
  }

  /** Waits until each caller has had its first answer. */
  async busy(): Promise<void> {
    if ((await this.#line()) !== 'busy') throw new Error('the callers did not begin');
  }

  /** Lets them finish. What became of every request. */
  async end(): Promise<Summary> {
    this.#process.stdin?.end();
    return Summary.parse(JSON.parse(await this.#line()));
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }

  async #line(): Promise<string> {
    const next = await this.#lines.next();
    if (next.done === true) throw new Error('the callers ended');
    return next.value;
  }
}
