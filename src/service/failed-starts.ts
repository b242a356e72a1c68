import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/**
 * The first failure is told at once to whoever started the service; the service manager then tries
 * again.
 */
const firstWaitSeconds = 2;
const waitMaxSeconds = 60;
const reasonMaxCharacters = 2000;

const FailedStart = z.strictObject({
  /** Number of starts that failed one after the other. */
  starts: z.int().positive().max(1_000_000),
  /** Why the last one failed. */
  reason: z.string(),
  at: z.iso.datetime(),
});
export type FailedStart = z.output<typeof FailedStart>;

/**
 * The failed starts since the last that succeeded, kept in the runtime directory of the unit. Debian
 * 12's systemd starts a failed service again after the same time each time (RestartSteps= is of
 * version 254), so the process that fails waits before it ends.
 */
export class FailedStarts {
  readonly #path: string | undefined;

  /**
   * @param directory RUNTIME_DIRECTORY of systemd.exec(5); undefined if nobody starts the process
   * again
   */
  constructor(directory: string | undefined) {
    // A unit with several directories has them all in the variable.
    const [first] = directory?.split(':') ?? [];
    this.#path = first === undefined || first === '' ? undefined : join(first, 'failed-starts');
  }

  /** Whether the last start failed, also for those who may not read why. */
  get exists(): boolean {
    return this.#path !== undefined && existsSync(this.#path);
  }

  /** The last failed start; undefined if the last start succeeded, or nothing can be read. */
  get last(): FailedStart | undefined {
    if (this.#path === undefined) return undefined;
    try {
      return FailedStart.safeParse(JSON.parse(readFileSync(this.#path, 'utf8'))).data;
    } catch {
      return undefined;
    }
  }

  /**
   * Counts a failed start, and returns for how many seconds the process should wait before it ends: 0
   * after the first, then 2, 4, 8 and so on up to a minute.
   */
  add(reason: string): number {
    if (this.#path === undefined) return 0;
    const starts = (this.last?.starts ?? 0) + 1;
    const failed: FailedStart = { starts, reason: reason.slice(0, reasonMaxCharacters), at: new Date().toISOString() };
    try {
      const unfinished = `${this.#path}.new`;
      writeFileSync(unfinished, JSON.stringify(failed), { mode: 0o600 });
      renameSync(unfinished, this.#path);
    } catch {
      // Nobody knows how many there were: they are taken to be many.
      return waitMaxSeconds;
    }
    return waitSeconds(starts);
  }

  /** The start succeeded, or the operator stops the process: the next failure is the first. */
  forget(): void {
    if (this.#path === undefined) return;
    try {
      rmSync(this.#path, { force: true });
    } catch {
      // The next failed start waits longer than it needs to.
    }
  }
}

function waitSeconds(starts: number): number {
  return starts === 1 ? 0 : Math.min(waitMaxSeconds, firstWaitSeconds * 2 ** (starts - 2));
}

/**
 * When the service manager starts the process again, to the second (milliseconds since the epoch).
 */
export function nextStartMs({ at, starts }: FailedStart): number {
  return Date.parse(at) + 1000 * waitSeconds(starts);
}
