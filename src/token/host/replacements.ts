import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

const firstPauseMs = 1000;
const longestPauseMs = 8000;
/** A host that was replaced longer ago than this has nothing to do with the present fault. */
const forgottenMs = 60_000;

const Kept = z.strictObject({ count: z.int().min(1), atMs: z.number() });

/**
 * Counts hosts that were replaced in a row for a fault of unknown kind. Where another host does not
 * help either, each serves longer than the one before: it may serve again by itself, and each start
 * takes a login.
 */
export class Replacements {
  readonly #path: string;
  readonly #count: number;
  #isNoted = false;

  /** Beside the host's socket, in a directory that is the host's. */
  constructor(socketPath: string) {
    this.#path = `${socketPath}.replaced`;
    this.#count = readCount(this.#path);
  }

  /** How long this host serves before it may be replaced for a fault of unknown kind. */
  get pauseMs(): number {
    return this.#count === 0 ? 0 : Math.min(firstPauseMs * 2 ** (this.#count - 1), longestPauseMs);
  }

  /** This host is replaced. */
  note(): void {
    if (this.#isNoted) return;
    this.#isNoted = true;
    try {
      writeFileSync(this.#path, JSON.stringify({ count: this.#count + 1, atMs: Date.now() }), { mode: 0o600 });
    } catch {
      // The next host may be replaced at once, as this one.
    }
  }
}

function readCount(path: string): number {
  try {
    const { count, atMs } = Kept.parse(JSON.parse(readFileSync(path, 'utf8')));
    const ageMs = Date.now() - atMs;
    return ageMs >= 0 && ageMs < forgottenMs ? count : 0;
  } catch {
    return 0;
  }
}
