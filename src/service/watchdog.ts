import { reasonOf } from '../telemetry/reason-of.ts';
import type { ServiceManager } from './service-manager.ts';

/**
 * A part of the service to be checked. The check throws, or never returns, if the part is not
 * healthy.
 */
export interface VitalSign {
  readonly name: string;
  check(): Promise<void> | void;
}

/** Pings per watchdog interval: one or two may be late. */
const pingsInTime = 4;

/**
 * Tells the service manager that the service is alive as long as its event loop runs and every
 * vital sign responds. Otherwise no ping is sent, and the manager restarts the service when the
 * interval has passed.
 */
export class Watchdog {
  readonly #manager: ServiceManager;
  readonly #signs: readonly VitalSign[];
  readonly #failed: (name: string, reason: string) => void;
  #timer: NodeJS.Timeout | undefined;
  #checking = false;

  constructor(manager: ServiceManager, signs: readonly VitalSign[], failed: (name: string, reason: string) => void) {
    this.#manager = manager;
    this.#signs = signs;
    this.#failed = failed;
  }

  start(): void {
    const { watchdogMs } = this.#manager;
    if (watchdogMs === undefined) return;
    this.#timer = setInterval(() => {
      void this.#round();
    }, watchdogMs / pingsInTime);
    void this.#round();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #round(): Promise<void> {
    // A check that never returns prevents every later ping.
    if (this.#checking) return;
    this.#checking = true;
    const outcomes = await Promise.all(this.#signs.map(async (sign) => this.#well(sign)));
    this.#checking = false;
    if (outcomes.every(Boolean) && this.#timer !== undefined) this.#manager.alive();
  }

  async #well(sign: VitalSign): Promise<boolean> {
    try {
      await sign.check();
      return true;
    } catch (error) {
      this.#failed(sign.name, reasonOf(error));
      return false;
    }
  }
}
