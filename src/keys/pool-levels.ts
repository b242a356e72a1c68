import type { KeyType } from '../config/key-types.ts';
import type { StateStore } from '../state/state-store.ts';

const latelyMs = 10_000;

/** Tracks how many keys of each type are ready, as far as is known. */
export class PoolLevels {
  readonly #store: StateStore;
  readonly #told: { targets(): ReadonlyMap<KeyType, number>; levelIs(type: KeyType, keys: number): void };
  readonly #levels = new Map<KeyType, number>();
  readonly #askedMs = new Map<KeyType, number>();
  readonly #filled = new Set<KeyType>();

  constructor(store: StateStore, told: { targets(): ReadonlyMap<KeyType, number>; levelIs(type: KeyType, keys: number): void }) {
    this.#store = store;
    this.#told = told;
  }

  async read(): Promise<ReadonlyMap<KeyType, number>> {
    const rows = await this.#store.run('poolLevels');
    for (const type of this.#told.targets().keys()) this.#set(type, rows.find((row) => row.key_type === type)?.keys ?? 0);
    return this.#levels;
  }

  /** Notes that a key was requested. */
  took(type: KeyType, wasThere: boolean): void {
    this.#askedMs.set(type, performance.now());
    if (wasThere) this.#filled.add(type);
    this.#set(type, wasThere ? Math.max(0, (this.#levels.get(type) ?? 1) - 1) : 0);
  }

  /** Returns the types that callers have requested lately. */
  askedLately(): ReadonlySet<KeyType> {
    const since = performance.now() - latelyMs;
    return new Set([...this.#askedMs].filter(([, at]) => at > since).map(([type]) => type));
  }

  /** Whether a key of the type has been ready since the start. */
  hadKeys(type: KeyType): boolean {
    return this.#filled.has(type);
  }

  #set(type: KeyType, keys: number): void {
    if (keys > 0) this.#filled.add(type);
    this.#levels.set(type, keys);
    this.#told.levelIs(type, keys);
  }
}

/**
 * Returns the type with the smallest share of ready keys. While the token is in use, only a type
 * that callers request and that is below half its target is chosen; others wait until the token is
 * idle, since generating an RSA key delays requests.
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
