import type { Logger } from '../telemetry/log.ts';

interface Closing {
  readonly name: string;
  readonly close: () => Promise<void> | void;
}

/**
 * The open parts of the service. They are closed in the reverse order of their opening, at a stop
 * and after a failed start.
 */
export class Parts {
  readonly #closings: Closing[] = [];
  #closed: Promise<boolean> | undefined;

  /** Notes how an open part is closed, and returns the part. */
  opened<T>(name: string, part: T, close: (part: T) => Promise<void> | void): T {
    this.#closings.push({ name, close: () => close(part) });
    return part;
  }

  /**
   * Closes all parts, once; one that cannot be closed does not keep the others open.
   * @returns whether all could be closed
   */
  async close(log: Logger): Promise<boolean> {
    this.#closed ??= this.#close(log);
    return this.#closed;
  }

  async #close(log: Logger): Promise<boolean> {
    let areClosed = true;
    for (let closing = this.#closings.pop(); closing !== undefined; closing = this.#closings.pop()) {
      try {
        await closing.close();
      } catch (error) {
        areClosed = false;
        log.error('a part of the service could not be closed', {
          part: closing.name,
          reason: error instanceof Error ? error.message : String(error),
        });
      }
    }
    return areClosed;
  }
}
