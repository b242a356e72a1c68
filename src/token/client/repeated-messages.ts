export interface TokenClientLog {
  info(message: string): void;
  error(message: string): void;
}

const silenceMs = 60_000;
const maxKept = 100;

/** Says the same thing once a minute at most: a token that is away for a night is tried twice a second. */
export class RepeatedMessages {
  readonly #log: TokenClientLog;
  /** Of the monotonic clock, milliseconds. */
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

  /** After a success everything is news again. */
  forget(): void {
    this.#saidAtMs.clear();
  }
}
