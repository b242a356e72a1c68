export interface TokenClientLog {
  info(message: string): void;
  error(message: string, fields?: Record<string, unknown>): void;
  /** Default: `error`. */
  warn?(message: string, fields?: Record<string, unknown>): void;
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
    this.say('error', message);
  }

  /** Messages with other fields are other messages. */
  say(level: 'error' | 'warn', message: string, fields?: Record<string, unknown>): void {
    const nowMs = performance.now();
    const said = fields === undefined ? message : `${message} ${JSON.stringify(fields)}`;
    const lastMs = this.#saidAtMs.get(said);
    if (lastMs !== undefined && nowMs - lastMs < silenceMs) return;
    if (this.#saidAtMs.size >= maxKept) this.#saidAtMs.clear();
    this.#saidAtMs.set(said, nowMs);
    if (level === 'warn' && this.#log.warn !== undefined) this.#log.warn(message, fields);
    else this.#log.error(message, fields);
  }

  /** Forgets all messages, after a success. */
  forget(): void {
    this.#saidAtMs.clear();
  }
}
