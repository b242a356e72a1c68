import { changedMembers, checkChangeable } from './changes.ts';
import { ConfigError, loadConfig, type Config } from './config.ts';

/** Makes what was prepared the valid one. It must not fail, nor wait. */
export type Switch = () => void;

/** A part of the service that works by the configuration and can change. */
export interface Participant {
  /** Reads and checks all that the new configuration wants of it, and changes nothing yet. @throws where the part could not work by it */
  prepare(next: Config): Promise<Switch> | Switch;
}

export interface LastReload {
  /** Milliseconds since epoch. */
  readonly at: number;
  /** What was wrong; empty where the new configuration is the valid one. */
  readonly faults: readonly string[];
}

export interface ReloaderOptions {
  readonly path: string;
  readonly initial: Config;
  /** Told when a reload begins, and when it ends, however it ends; `last` is how. */
  announce(state: 'reloading' | 'ready', last: LastReload | undefined): void;
}

/**
 * Takes over the configuration file while the service runs: all of the new one or all of the old. Every participant prepares; where all of them
 * could, all are switched in one turn of the event loop, so that no request sees both.
 */
export class Reloader {
  readonly #options: ReloaderOptions;
  readonly #participants: Participant[] = [];
  #config: Config;
  #last: LastReload | undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: ReloaderOptions) {
    this.#options = options;
    this.#config = options.initial;
  }

  /** Has a part take part in every reload from now on. Parts switch in the order in which they joined. */
  join(participant: Participant): void {
    this.#participants.push(participant);
  }

  /** The configuration in force. */
  get config(): Config {
    return this.#config;
  }

  get last(): LastReload | undefined {
    return this.#last;
  }

  /** Answers the members that changed. One at a time: the next one reads the file anew. @throws {ConfigError} a line a fault; all is as it was */
  async reload(): Promise<readonly string[]> {
    const reload = this.#running.then(async () => this.#reload());
    this.#running = reload.catch(() => undefined);
    return reload;
  }

  async #reload(): Promise<readonly string[]> {
    this.#options.announce('reloading', this.#last);
    try {
      const next = loadConfig(this.#options.path);
      const changed = changedMembers(this.#config, next);
      checkChangeable(changed, this.#options.path);
      const switches = await this.#prepare(next);
      this.#config = next;
      for (const change of switches) change();
      this.#last = { at: Date.now(), faults: [] };
      return changed;
    } catch (error) {
      this.#last = { at: Date.now(), faults: textOf(error).split('\n') };
      throw error;
    } finally {
      this.#options.announce('ready', this.#last);
    }
  }

  /** All are asked, so that the operator reads every fault at once. */
  async #prepare(next: Config): Promise<Switch[]> {
    const prepared = await Promise.allSettled(this.#participants.map(async (participant) => participant.prepare(next)));
    const faults = prepared.flatMap((one) => (one.status === 'rejected' ? [`${this.#options.path}: ${textOf(one.reason)}`] : []));
    if (faults.length > 0) throw new ConfigError(faults.join('\n'));
    return prepared.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
