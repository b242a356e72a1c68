import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/log.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import { keyOwner, parseKeyId } from '../token/key-id.ts';
import type { Token } from '../token/token.ts';
import type { Destruction } from './destruction.ts';

/** The start has priority. */
const firstLookMs = 60_000;
const lookEveryMs = 6 * 3_600_000;
/** Keys that are looked up in the state store at once. */
const pageKeys = 500;

interface Rooms {
  readonly store: Pick<StateStore, 'run'>;
  readonly token: Pick<Token, 'listKeys' | 'findKeys'>;
  readonly destruction: Pick<Destruction, 'finishUnannounced'>;
  readonly log: Logger;
}

/**
 * Destroys keys that callers were told are gone and that the token has all the same, such as after a
 * restore of the token from an older backup.
 */
export class RemovedKeys {
  readonly #rooms: Rooms;
  #timer: NodeJS.Timeout | undefined;

  constructor(rooms: Rooms) {
    this.#rooms = rooms;
  }

  start({ firstMs = firstLookMs, everyMs = lookEveryMs } = {}): void {
    this.#timer = setTimeout(() => {
      this.#look(everyMs);
    }, firstMs).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /**
   * Looks once. Returns how many keys were found.
   * @throws if token or state store cannot be asked
   */
  async look(): Promise<number> {
    const { store, token, destruction, log } = this.#rooms;
    const ids = (await token.listKeys()).map(({ id }) => id).filter((id) => keyOwner(id) === 'caller');
    let found = 0;
    for (let from = 0; from < ids.length; from += pageKeys) {
      const destroyed = (await store.run('destroyedAmong', ids.slice(from, from + pageKeys))).map(parseKeyId);
      // Since the keys were listed, some may have been removed.
      for (const id of await token.findKeys(destroyed)) {
        log.warn('a key that was removed is still on the token, and is destroyed', { key: id });
        await destruction.finishUnannounced(id);
        found += 1;
      }
    }
    return found;
  }

  #look(everyMs: number): void {
    this.look()
      .catch((error: unknown) => {
        // What is asked at the end of the service has no answer.
        if (this.#timer === undefined) return;
        this.#rooms.log.warn('it is not known whether removed keys are still on the token', { reason: reasonOf(error) });
      })
      .finally(() => {
        if (this.#timer !== undefined) this.start({ firstMs: everyMs, everyMs });
      });
  }
}
