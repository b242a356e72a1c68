import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { until } from './until.ts';

const patience = { timeoutMs: 120_000 };

/** Keys of a terminal. */
export const keys = { enter: '\r', controlC: '\u0003', controlD: '\u0004' } as const;

/** A program at a pseudo-terminal, with somebody who reads what it shows and types. */
export class Terminal {
  readonly #child: ChildProcessWithoutNullStreams;
  /** Exit code, once it has ended. */
  readonly ended: Promise<number | null>;
  #shown = '';
  /** Up to where it has been read. */
  #read = 0;

  constructor(
    command: readonly string[],
    { uid, gid }: { readonly uid: number; readonly gid: number },
    environment: Readonly<Record<string, string>> = {},
  ) {
    const line = command.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(' ');
    this.#child = spawn('script', ['--quiet', '--return', '--command', `exec ${line}`, '/dev/null'], {
      ...{ uid, gid, cwd: '/', stdio: 'pipe' },
      env: { PATH: process.env['PATH'] ?? '', TERM: 'dumb', SHELL: '/bin/sh', ...environment },
    });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        this.#shown += chunk;
      });
    this.ended = new Promise((resolve) => {
      this.#child.on('close', resolve);
    });
  }

  /** All that it has shown, with line feeds alone. */
  get shown(): string {
    return this.#shown.replaceAll('\r\n', '\n');
  }

  /** Waits until it shows a text after those that were waited for before. */
  async shows(text: string): Promise<void> {
    await until(() => {
      const at = this.#shown.indexOf(text, this.#read);
      if (at < 0) throw new Error(`it does not show ${text}, but ${this.#shown.slice(this.#read)}`);
      this.#read = at + text.length;
    }, patience);
  }

  type(text: string): void {
    this.#child.stdin.write(text);
  }
}
