import type { Handle } from 'pkcs11js';
import { MacKey, MacKeyMissing } from './mac-key.ts';
import type { ModuleProfile } from './module-profile.ts';
import type { Session } from './session.ts';

/** After this time a missing key is looked for again; a search is slow on a full token. */
const missingMs = 5000;

/** The MAC keys, by number, as used by one thread: the current one, and former ones. */
export class MacKeys {
  readonly #sessionNow: () => Session;
  readonly #profile: ModuleProfile;
  readonly #keys = new Map<number, MacKey>();
  /** When those that were not found are looked for again, on the monotonic clock. */
  readonly #missingUntil = new Map<number, number>();

  /**
   * @param sessionNow the session of this thread, which is reopened after some faults
   * @param first key 0, found at the host's start
   */
  constructor(sessionNow: () => Session, profile: ModuleProfile, first: Handle | undefined) {
    this.#sessionNow = sessionNow;
    this.#profile = profile;
    this.#keys.set(0, new MacKey(sessionNow, profile, first));
  }

  at(generation: number): MacKey {
    const known = this.#keys.get(generation) ?? new MacKey(this.#sessionNow, this.#profile, undefined, generation);
    this.#keys.set(generation, known);
    return known;
  }

  /** The newest key that this thread has used, with its number; undefined before the first use. */
  get newest(): { readonly generation: number; readonly handle: Handle } | undefined {
    let newest: { readonly generation: number; readonly handle: Handle } | undefined;
    for (const [generation, { kept: handle }] of this.#keys)
      if (handle !== undefined && (newest === undefined || generation > newest.generation)) newest = { generation, handle };
    return newest;
  }

  /**
   * Has the token make and verify a MAC with the newest key that is known. Returns false if there is
   * none.
   * @throws what the token answers
   */
  tryNewest(): boolean {
    const generation = this.newest?.generation ?? 0;
    if (!this.at(generation).isKnown) return false;
    this.at(generation).check();
    return true;
  }

  /**
   * Uses a key for a comparison. If it was destroyed, its secrets are wrong from then on: the newest
   * key is used in its place, which takes as long, and `work` is told that.
   * @throws {MacKeyMissing} if there is no key at all
   */
  compare<T>(generation: number, work: (key: Handle, isOwn: boolean) => T): T {
    const until = this.#missingUntil.get(generation) ?? 0;
    if (performance.now() >= until) {
      try {
        return this.at(generation).use((key) => work(key, true));
      } catch (error) {
        const { newest } = this;
        // A newer one is not visible yet.
        if (!(error instanceof MacKeyMissing) || newest === undefined || newest.generation <= generation) throw error;
        this.#missingUntil.set(generation, performance.now() + missingMs);
      }
    }
    const { newest } = this;
    if (newest === undefined) throw new MacKeyMissing('the token has no MAC key');
    return this.at(newest.generation).use((key) => work(key, false));
  }
}
