import { changedMembers, checkChangeable } from './changes.ts';
import { loadConfig, type Config } from './config.ts';
import { ConfigError } from './config-error.ts';
import { locatedFault } from './yaml-file.ts';
import { reasonOf } from '../telemetry/reason-of.ts';

/** Activates what was prepared. It must neither fail nor wait. */
export type Switch = () => void;

/** A part of the service that can change its configuration while running. */
export interface Participant {
  /**
   * Reads and checks everything in the new configuration that concerns it, without changing
   * anything.
   * @throws if the part cannot work with it
   */
  prepare(next: Config): Promise<Switch> | Switch;
}

export interface LastReload {
  /** Milliseconds since epoch. */
  readonly at: number;
  /** Faults; empty if the new configuration is active. */
  readonly faults: readonly string[];
}

export interface ReloaderOptions {
  readonly path: string;
  readonly initial: Config;
  /** Called when a reload begins, and when it ends with any outcome; `last` is the outcome. */
  announce(state: 'reloading' | 'ready', last: LastReload | undefined): void;
}

/**
 * Applies the configuration file to the running service, either completely or not at all. First
 * every participant prepares; if all succeed, all are switched in one turn of the event loop, so
 * that no request sees a mixture.
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

  /** Adds a part to every reload from now on. Parts switch in the order in which they joined. */
  join(participant: Participant): void {
    this.#participants.push(participant);
  }

  /** The active configuration. */
  get config(): Config {
    return this.#config;
  }

  get last(): LastReload | undefined {
    return this.#last;
  }

  /**
   * Reloads, one reload at a time, and returns the members that changed.
   * @throws {ConfigError} with one line for each fault; nothing is changed then
   */
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
      this.#last = { at: Date.now(), faults: reasonOf(error).split('\n') };
      throw error;
    } finally {
      this.#options.announce('ready', this.#last);
    }
  }

  /** Prepares all participants, so that the operator sees all faults at once. */
  async #prepare(next: Config): Promise<Switch[]> {
    const prepared = await Promise.allSettled(this.#participants.map(async (participant) => participant.prepare(next)));
    const faults = prepared.flatMap((one) => (one.status === 'rejected' ? reasonOf(one.reason).split('\n') : []));
    if (faults.length > 0) throw new ConfigError(faults.map((fault) => locatedFault(this.#options.path, fault)).join('\n'));
    return prepared.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  }
}
