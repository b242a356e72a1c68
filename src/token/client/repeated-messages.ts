export interface TokenClientLog {
  info(message: string): void;
  error(message: string): void;
}

const silenceMs = 60_000;
const maxKept = 100;

/**
 * Logs the same message at most once a minute: while the token is down, connecting is tried twice a
 * second.
 */
export class RepeatedMessages {
  readonly #log: TokenClientLog;
  /** Time of the last log entry for each message (monotonic clock). */
  readonly #saidAtMs = new Map<string, number>();

  constructor(log: TokenClientLog) {
    this.#log = log;
  }

  error(message: string): void {
    const nowMs = performance.now();
    const lastMs = this.#saidAtMs.get(message);
    if (lastMs !== undefined && nowMs - lastMs < silenceMs) return;
    if (this.#saidAtMs.size >= maxKept) this.#saidAtMs.clear();
    this.#saidAtMs.set(message, nowMs);
    this.#log.error(message);
  }

  /** Forgets all messages, after a success. */
  forget(): void {
    this.#saidAtMs.clear();
  }
}
