import type { Logger } from '../telemetry/log.ts';

/** Something that a request made outside of its answer and of the state store. */
export interface Delivery {
  /** Takes it back, as if it had never been. */
  undo(): Promise<void>;
  close(): Promise<void>;
}

/** What one run of a request delivers. Until the request has ended it can be taken back. */
export class Deliveries {
  readonly #all: Delivery[] = [];

  get areNone(): boolean {
    return this.#all.length === 0;
  }

  add(delivery: Delivery): void {
    this.#all.push(delivery);
  }

  /** The request has ended: all of it stays, or nothing. */
  async end(isKept: boolean, log: Logger): Promise<void> {
    for (const delivery of this.#all.splice(0)) {
      try {
        if (!isKept) await delivery.undo();
      } catch (error) {
        log.error('evidence of a request that failed could not be removed', {
          reason: error instanceof Error ? error.message : String(error),
        });
      } finally {
        await delivery.close();
      }
    }
  }
}
