import type { WriteStream } from 'node:tty';

/** Where progress goes: standard output, or a stand-in. */
export type Output = Pick<WriteStream, 'write'> & Partial<Pick<WriteStream, 'isTTY' | 'columns'>>;

export interface Counts {
  readonly files: number;
  readonly allFiles: number;
  readonly passed: number;
  readonly failed: number;
  readonly running: readonly string[];
}

const terminalMs = 500;
const elsewhereMs = 60_000;
const clear = '\r\u001B[2K';

/** Progress of a run: on a terminal one line that is rewritten, elsewhere a line a minute. */
export class Progress {
  readonly #output: Output;
  readonly #counts: () => Counts;
  readonly #now: () => number;
  readonly #startedAt: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(output: Output, counts: () => Counts, now: () => number = Date.now) {
    this.#output = output;
    this.#counts = counts;
    this.#now = now;
    this.#startedAt = now();
  }

  start(): void {
    this.#timer = setInterval(() => this.show(), this.#isTerminal ? terminalMs : elsewhereMs).unref();
    if (this.#isTerminal) this.show();
  }

  /** Ends the progress and removes its line. */
  stop(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.clear();
  }

  /** Removes the line until it is shown again: what is printed next begins at its place. */
  clear(): void {
    if (this.#isTerminal) this.#output.write(clear);
  }

  show(): void {
    const line = this.#line();
    // A line that wraps could not be rewritten.
    this.#output.write(this.#isTerminal ? clear + line.slice(0, (this.#output.columns ?? 80) - 1) : `${line}\n`);
  }

  get #isTerminal(): boolean {
    return this.#output.isTTY === true;
  }

  #line(): string {
    const { files, allFiles, passed, failed, running } = this.#counts();
    const seconds = Math.floor((this.#now() - this.#startedAt) / 1000);
    const elapsed = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
    if (allFiles === 0) return `${elapsed}  starting the service`;
    const now = this.#isTerminal && running.length > 0 ? `  ${running.join(' ')}` : '';
    return `${elapsed}  ${files}/${allFiles} files  ${passed} tests passed, ${failed} failed${now}`;
  }
}
