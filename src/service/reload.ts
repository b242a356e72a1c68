import type { ServiceManager } from './service-manager.ts';

export interface ReloadLog {
  info(message: string): void;
  error(message: string, fields: Record<string, unknown>): void;
}

/**
 * Runs `reload` and tells the manager about it. A call during a run makes one more run after it, however many calls there were. What `reload`
 * rejects with is logged: it has changed nothing then.
 */
export class Reloader {
  readonly #manager: ServiceManager;
  readonly #log: ReloadLog;
  readonly #reload: () => Promise<void>;
  #running: Promise<void> | undefined;
  #again = false;

  constructor(manager: ServiceManager, log: ReloadLog, reload: () => Promise<void>) {
    this.#manager = manager;
    this.#log = log;
    this.#reload = reload;
  }

  /** Resolves when everything asked for until now is done. */
  async request(): Promise<void> {
    if (this.#running === undefined) this.#running = this.#run();
    else this.#again = true;
    return this.#running;
  }

  async #run(): Promise<void> {
    do {
      this.#again = false;
      await this.#once();
    } while (this.#asked());
    this.#running = undefined;
  }

  // A call, since the compiler takes a field that it has seen false once for false for ever.
  #asked(): boolean {
    return this.#again;
  }

  async #once(): Promise<void> {
    this.#manager.reloading('reading the configuration anew');
    try {
      await this.#reload();
      this.#log.info('reloaded');
      this.#manager.ready('serving');
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#log.error('the reload failed; everything stays as it was', { reason });
      this.#manager.ready(`serving; the last reload failed: ${reason}`);
    }
  }
}
