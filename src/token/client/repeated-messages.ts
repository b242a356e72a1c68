export interface TokenClientLog {
  info(message: string): void;
  error(message: string): void;
}

const silenceMs = 60_000;
const maxKept = 100;

/** Says the same thing once a minute at most: a token that is away for a night is tried twice a second. */
export class RepeatedMessages {
  readonly #log: TokenClientLog;
  readonly #saidAt = new Map<string, number>();

  constructor(log: TokenClientLog) {
    this.#log = log;
  }

  error(message: string): void {
    const now = Date.now();
    const last = this.#saidAt.get(message);
    if (last !== undefined && now - last < silenceMs) return;
    if (this.#saidAt.size >= maxKept) this.#saidAt.clear();
    this.#saidAt.set(message, now);
    this.#log.error(message);
  }

  /** After a success everything is news again. */
  forget(): void {
    this.#saidAt.clear();
  }
}
