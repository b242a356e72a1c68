import { spawn, type ChildProcessByStdio, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { errorCode } from '../../telemetry/error-code.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';

/** Thrown if the program does not exist on this machine. */
export class PgRestoreMissing extends Error {
  constructor() {
    super('pg_restore is not installed (Debian package postgresql-client)');
  }
}

/** pg_restore, which reads a dump in the custom format while it arrives. */
export class PgRestore {
  readonly #child: ChildProcessByStdio<Writable, null, Readable>;
  readonly #said: Promise<string>;
  readonly #closed: Promise<unknown[]>;
  #failure: unknown;

  constructor(options: readonly string[], process: Pick<SpawnOptions, 'env' | 'uid' | 'gid'> = {}) {
    this.#child = spawn('pg_restore', options, { ...process, stdio: ['pipe', 'ignore', 'pipe'] });
    this.#said = text(this.#child.stderr);
    this.#closed = once(this.#child, 'close').catch((error: unknown) => {
      this.#failure = error;
      return [];
    });
    // It ended early: its exit status says why.
    this.#child.stdin.on('error', () => undefined);
  }

  /** Writes a piece of the dump, as fast as the program reads it. One that has ended takes no more. */
  async write(piece: Uint8Array): Promise<void> {
    const { stdin } = this.#child;
    if (stdin.destroyed || stdin.write(piece)) return;
    await Promise.race([once(stdin, 'drain').catch(() => undefined), this.#closed]);
  }

  /**
   * Waits for the program's end, once the whole dump is written.
   * @throws {PgRestoreMissing}
   * @throws {Error} if it failed, with what it printed
   */
  async end(): Promise<void> {
    this.#child.stdin.end();
    const [code] = await this.#closed;
    if (errorCode(this.#failure) === 'ENOENT') throw new PgRestoreMissing();
    if (code === 0) return;
    const said = this.#failure === undefined ? await this.#said : reasonOf(this.#failure);
    throw new Error(`pg_restore failed: ${said.trim().replaceAll('\n', '; ')}`);
  }

  /** Kills the program, which then commits nothing, unless it has ended. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#closed;
  }
}
