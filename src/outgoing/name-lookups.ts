import { Places } from './places.ts';

/** Resolves a name to its addresses. */
export type Resolve = (hostname: string) => Promise<string[]>;

/**
 * As many as libuv runs at a time for the whole process: half of its four threads. Further ones would
 * wait in its own queue, without regard to whose they are.
 */
const lookupsAtOnceMax = 2;

/**
 * Resolves names for tenants, each of which has one of the two look-ups at a time at most: a name whose
 * servers do not answer takes ten seconds and more, and cannot be given up.
 */
export class NameLookups {
  readonly #resolve: Resolve;
  readonly #places = new Places(lookupsAtOnceMax);
  /** By name. */
  readonly #running = new Map<string, Promise<string[]>>();

  constructor(resolve: Resolve) {
    this.#resolve = resolve;
  }

  /**
   * Returns the addresses of a name. Requests for the same name share a look-up. `signal`: ends the
   * wait for a turn; a look-up that was begun goes on.
   * @throws {FetchFailed} if no turn comes before the signal; what the look-up throws
   */
  async addresses(hostname: string, tenant: string | undefined, signal: AbortSignal): Promise<readonly string[]> {
    const running = this.#running.get(hostname);
    if (running !== undefined) return running;
    const giveBack = await this.#places.take(tenant, signal);
    const begun = this.#running.get(hostname);
    if (begun !== undefined) {
      giveBack();
      return begun;
    }
    const lookup = this.#resolve(hostname).finally(() => {
      this.#running.delete(hostname);
      giveBack();
    });
    this.#running.set(hostname, lookup);
    return lookup;
  }
}
