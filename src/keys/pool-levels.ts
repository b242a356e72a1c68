import type { KeyType } from '../config/profile.ts';
import type { StateStore } from '../state/state-store.ts';

const latelyMs = 10_000;

/** How many keys of each type are ready, as far as is known. */
export class PoolLevels {
  readonly #store: StateStore;
  readonly #told: { targets(): ReadonlyMap<KeyType, number>; levelIs(type: KeyType, keys: number): void };
  readonly #levels = new Map<KeyType, number>();
  readonly #askedMs = new Map<KeyType, number>();

  constructor(store: StateStore, told: { targets(): ReadonlyMap<KeyType, number>; levelIs(type: KeyType, keys: number): void }) {
    this.#store = store;
    this.#told = told;
  }

  async read(): Promise<ReadonlyMap<KeyType, number>> {
    const rows = await this.#store.run('poolLevels');
    for (const type of this.#told.targets().keys()) this.#set(type, rows.find((row) => row.key_type === type)?.keys ?? 0);
    return this.#levels;
  }

  /** A key was asked for. */
  took(type: KeyType, wasThere: boolean): void {
    this.#askedMs.set(type, performance.now());
    this.#set(type, wasThere ? Math.max(0, (this.#levels.get(type) ?? 1) - 1) : 0);
  }

  /** The types that callers want these days. */
  askedLately(): ReadonlySet<KeyType> {
    const since = performance.now() - latelyMs;
    return new Set([...this.#askedMs].filter(([, at]) => at > since).map(([type]) => type));
  }

  #set(type: KeyType, keys: number): void {
    this.#levels.set(type, keys);
    this.#told.levelIs(type, keys);
  }
}

/**
 * The type of which the smallest share is ready. While the token is in use, only one that callers ask for and that has fallen below half its target is
 * made: the rest waits until the token is at rest, since the making of an RSA key holds up that of others.
 */
export function mostWanted(
  levels: ReadonlyMap<KeyType, number>,
  targets: ReadonlyMap<KeyType, number>,
  askedInUse: ReadonlySet<KeyType> | undefined,
): KeyType | undefined {
  let wanted: KeyType | undefined;
  let lowest = askedInUse === undefined ? 1 : 0.5;
  for (const [type, target] of targets) {
    const share = target === 0 ? 1 : (levels.get(type) ?? 0) / target;
    if (share < lowest && (askedInUse?.has(type) ?? true)) {
      wanted = type;
      lowest = share;
    }
  }
  return wanted;
}
