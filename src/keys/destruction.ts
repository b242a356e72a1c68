import type { StateStore } from '../state/state-store.ts';
import { parseKeyId, type KeyId } from '../token/key-id.ts';
import type { KeyJournal } from '../token/key-journal.ts';
import type { KeyCustody } from './custody.ts';

const sweepMs = 30_000;
const retryMs = 1000;

export interface RecoveryOptions {
  /** Age at which a step that no instance finished counts as cut short. */
  readonly abandonedMs: number;
  /** Keys that the configuration names: whatever the journal says, they stay. */
  readonly configured: readonly string[];
}

/** Private keys that are to go from the token, now or when it is there again: whatever the journal announces is finished some time. */
export class Destruction {
  readonly #store: StateStore;
  readonly #custody: KeyCustody;
  readonly #journal: KeyJournal;
  readonly #abandonedMs: number;
  readonly #configured: Set<string>;
  #sweeping: NodeJS.Timeout | undefined;

  constructor(store: StateStore, custody: KeyCustody, journal: KeyJournal, { abandonedMs, configured }: RecoveryOptions) {
    this.#store = store;
    this.#custody = custody;
    this.#journal = journal;
    this.#abandonedMs = abandonedMs;
    this.#configured = new Set(configured);
  }

  /** Keys that a new configuration names: they stay too, as those of the one before do. */
  keep(ids: readonly string[]): void {
    for (const id of ids) this.#configured.add(id);
  }

  /** The record says that the key is gone, and that stands: where the token is away, the destruction follows later. */
  async finish(id: KeyId): Promise<void> {
    await this.#destroy(id).catch(() => {
      this.#later(id);
    });
  }

  /** A key whose creation failed. One whose record was committed after all is no longer announced, and stays. */
  async undoCreation(id: KeyId): Promise<void> {
    await this.#undoIfAnnounced(id).catch(() => {
      this.#later(id);
    });
  }

  /**
   * Finishes what a crash cut short: keys that were being made or destroyed go from the token. Where other instances may be at work, a step
   * counts as cut short after a time, whoever began it; taking it over keeps that one from finishing it. `kept`: keys that the journal wants
   * destroyed though the configuration names them. Nothing of ours writes that.
   */
  async recover(): Promise<{ finished: number; kept: readonly string[] }> {
    const begunBefore = this.#store.isShared ? this.#store.now() - this.#abandonedMs : Number.MAX_SAFE_INTEGER;
    const ids = await this.#store.run('takeOverSteps', { begunBefore });
    const kept = ids.filter((id) => this.#configured.has(id));
    for (const id of ids) {
      if (!this.#configured.has(id)) await this.#destroy(parseKeyId(id));
    }
    return { finished: ids.length - kept.length, kept };
  }

  /** Recovers again and again, where other instances may die. */
  startSweeping(found: (keys: number) => void): void {
    if (!this.#store.isShared) return;
    this.#sweeping = setInterval(
      () => {
        // A store or a token that is away now is asked again next time.
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

  stopSweeping(): void {
    clearInterval(this.#sweeping);
  }

  async #undoIfAnnounced(id: KeyId): Promise<void> {
    if (await this.#store.run('takeOverStep', id)) await this.#destroy(id);
  }

  /** The token was not there: once more when it is. A stop before that leaves it to the next start. */
  #later(id: KeyId): void {
    setTimeout(() => {
      this.#undoIfAnnounced(id).catch(() => {
        this.#later(id);
      });
    }, retryMs).unref();
  }

  async #destroy(id: KeyId): Promise<void> {
    await this.#custody.destroy(id);
    await this.#journal.settle(id);
  }
}
