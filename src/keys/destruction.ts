import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/log.ts';
import { parseKeyId, type KeyId } from '../token/key-id.ts';
import type { KeyJournal } from '../token/key-journal.ts';
import type { Token } from '../token/token.ts';
import { LeftKeys, type LeftKey } from './left-keys.ts';

const sweepMs = 30_000;
/** Time that a start spends destroying keys; the rest are destroyed while the service runs. */
const startMs = 20_000;

export interface RecoveryOptions {
  /** Age at which an unfinished step counts as abandoned. */
  readonly abandonedMs: number;
  /** Keys that the configuration names. They are never destroyed, whatever the journal says. */
  readonly configured: readonly string[];
  /** Logs keys that cannot be destroyed. */
  readonly log?: Logger | undefined;
}

/** Result of a recovery from the journal. */
export interface Recovered {
  readonly finished: number;
  /**
   * Keys that are in the journal for destruction although the configuration names them, or a
   * digital identity has them. The service itself never writes such entries.
   */
  readonly kept: readonly string[];
}

/**
 * Destroys private keys, at once or when the token is available again: every step announced in the
 * journal is finished eventually.
 */
export class Destruction {
  readonly #store: StateStore;
  readonly #token: Pick<Token, 'destroyKey'>;
  readonly #journal: KeyJournal;
  readonly #abandonedMs: number;
  readonly #configured: Set<string>;
  readonly #left: LeftKeys;
  #sweeping: NodeJS.Timeout | undefined;

  constructor(store: StateStore, token: Pick<Token, 'destroyKey'>, journal: KeyJournal, { abandonedMs, configured, log }: RecoveryOptions) {
    this.#store = store;
    this.#token = token;
    this.#journal = journal;
    this.#abandonedMs = abandonedMs;
    this.#configured = new Set(configured);
    this.#left = new LeftKeys(async (id) => this.#undoIfAnnounced(id), log);
  }

  /**
   * Keys that are to be destroyed and are still on the token, with the reason why the last try
   * failed.
   */
  get left(): readonly LeftKey[] {
    return this.#left.all;
  }

  /** Protects the keys that a new configuration names, in addition to those of the previous one. */
  keep(ids: readonly string[]): void {
    for (const id of ids) this.#configured.add(id);
  }

  /**
   * Destroys a key whose record says that it is gone. If the token is not available, the key is
   * destroyed later.
   */
  async finish(id: KeyId): Promise<void> {
    await this.#destroy(id).catch((error: unknown) => {
      this.#left.add(id, error);
    });
  }

  /**
   * Destroys a key that is gone by its record, and of which the journal says nothing.
   * @throws if the state store is not available, or another instance has announced it meanwhile
   */
  async finishUnannounced(id: KeyId): Promise<void> {
    await this.#journal.announce(id, 'DESTROY');
    await this.finish(id);
  }

  /**
   * Undoes a failed creation. A key whose record was committed after all is no longer announced,
   * and is kept.
   */
  async undoCreation(id: KeyId): Promise<void> {
    await this.#undoIfAnnounced(id).catch((error: unknown) => {
      this.#left.add(id, error);
    });
  }

  /**
   * Finishes steps that a crash interrupted: keys that were being created or destroyed are removed
   * from the token. If other instances may be running, a step counts as interrupted after a time,
   * whichever instance began it; once taken over, that instance can no longer finish it. Keys that
   * the token does not destroy now are tried again later.
   */
  async recover(): Promise<Recovered> {
    const begunBefore = this.#store.isShared ? this.#store.now() - this.#abandonedMs : Number.MAX_SAFE_INTEGER;
    const ids = await this.#store.run('takeOverSteps', { begunBefore });
    const identities = await this.#store.run('listIdentityKeys');
    const isInUse = new Set([...this.#configured, ...identities.map(({ key_id: keyId }) => keyId)]);
    const kept = ids.filter((id) => isInUse.has(id));
    const deadlineMs = performance.now() + startMs;
    let finished = 0;
    for (const id of ids.filter((each) => !isInUse.has(each)).map(parseKeyId)) {
      if (this.#left.has(id)) continue;
      try {
        if (performance.now() > deadlineMs) throw new Error('the token takes too long to destroy keys');
        await this.#destroy(id);
        finished += 1;
      } catch (error) {
        this.#left.add(id, error);
      }
    }
    return { finished, kept };
  }

  /** Recovers periodically, if other instances may crash. */
  startSweeping(found: (keys: number) => void): void {
    if (!this.#store.isShared) return;
    this.#sweeping = setInterval(
      () => {
        // If the store is unavailable, the next sweep tries again.
        this.recover().then(
          ({ finished }) => {
            if (finished > 0) found(finished);
          },
          () => undefined,
        );
      },
      Math.min(sweepMs, this.#abandonedMs),
    );
  }

  /** Stops sweeping. Unfinished entries stay in the journal for the next start. */
  stopSweeping(): void {
    clearInterval(this.#sweeping);
    this.#left.stop();
  }

  async #undoIfAnnounced(id: KeyId): Promise<void> {
    if (await this.#store.run('takeOverStep', id)) await this.#destroy(id);
  }

  async #destroy(id: KeyId): Promise<void> {
    await this.#token.destroyKey(id);
    await this.#journal.settle(id);
  }
}
