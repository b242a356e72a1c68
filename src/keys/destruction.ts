import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/log.ts';
import { parseKeyId, type KeyId } from '../token/key-id.ts';
import type { KeyJournal } from '../token/key-journal.ts';
import type { KeyCustody } from './custody.ts';
import { LeftKeys, type LeftKey } from './left-keys.ts';

const sweepMs = 30_000;
/** What a start spends on destruction: what is left is destroyed while the service runs. */
const startMs = 20_000;

export interface RecoveryOptions {
  /** Age at which a step that no instance finished counts as cut short. */
  readonly abandonedMs: number;
  /** Keys that the configuration names: whatever the journal says, they stay. */
  readonly configured: readonly string[];
  /** Told of what cannot be destroyed. */
  readonly log?: Logger | undefined;
}

/** What a look at the journal came to. */
export interface Recovered {
  readonly finished: number;
  /** Keys that the journal wants destroyed though the configuration names them. Nothing of ours writes that. */
  readonly kept: readonly string[];
}

/** Private keys that are to go from the token, now or when it is there again: whatever the journal announces is finished some time. */
export class Destruction {
  readonly #store: StateStore;
  readonly #custody: KeyCustody;
  readonly #journal: KeyJournal;
  readonly #abandonedMs: number;
  readonly #configured: Set<string>;
  readonly #left: LeftKeys;
  #sweeping: NodeJS.Timeout | undefined;

  constructor(store: StateStore, custody: KeyCustody, journal: KeyJournal, { abandonedMs, configured, log }: RecoveryOptions) {
    this.#store = store;
    this.#custody = custody;
    this.#journal = journal;
    this.#abandonedMs = abandonedMs;
    this.#configured = new Set(configured);
    this.#left = new LeftKeys(async (id) => this.#undoIfAnnounced(id), log);
  }

  /** Keys that should be gone from the token, and which it has not destroyed yet, with the reason of the last try. */
  get left(): readonly LeftKey[] {
    return this.#left.all;
  }

  /** Keys that a new configuration names: they stay too, as those of the one before do. */
  keep(ids: readonly string[]): void {
    for (const id of ids) this.#configured.add(id);
  }

  /** The record says that the key is gone, and that stands: where the token is away, the destruction follows later. */
  async finish(id: KeyId): Promise<void> {
    await this.#destroy(id).catch((error: unknown) => {
      this.#left.add(id, error);
    });
  }

  /** A key whose creation failed. One whose record was committed after all is no longer announced, and stays. */
  async undoCreation(id: KeyId): Promise<void> {
    await this.#undoIfAnnounced(id).catch((error: unknown) => {
      this.#left.add(id, error);
    });
  }

  /**
   * Finishes what a crash cut short: keys that were being made or destroyed go from the token. Where other instances may be at work, a step
   * counts as cut short after a time, whoever began it; taking it over keeps that one from finishing it. What the token does not destroy now is left,
   * and tried again.
   */
  async recover(): Promise<Recovered> {
    const begunBefore = this.#store.isShared ? this.#store.now() - this.#abandonedMs : Number.MAX_SAFE_INTEGER;
    const ids = await this.#store.run('takeOverSteps', { begunBefore });
    const kept = ids.filter((id) => this.#configured.has(id));
    const deadlineMs = performance.now() + startMs;
    let finished = 0;
    for (const id of ids.filter((each) => !this.#configured.has(each)).map(parseKeyId)) {
      if (this.#left.has(id)) continue;
      try {
        if (performance.now() > deadlineMs) throw new Error('the token needs long to destroy keys');
        await this.#destroy(id);
        finished += 1;
      } catch (error) {
        this.#left.add(id, error);
      }
    }
    return { finished, kept };
  }

  /** Recovers again and again, where other instances may die. */
  startSweeping(found: (keys: number) => void): void {
    if (!this.#store.isShared) return;
    this.#sweeping = setInterval(
      () => {
        // A store that is away now is asked again next time.
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

  /** What is left stays in the journal, for the next start. */
  stopSweeping(): void {
    clearInterval(this.#sweeping);
    this.#left.stop();
  }

  async #undoIfAnnounced(id: KeyId): Promise<void> {
    if (await this.#store.run('takeOverStep', id)) await this.#destroy(id);
  }

  async #destroy(id: KeyId): Promise<void> {
    await this.#custody.destroy(id);
    await this.#journal.settle(id);
  }
}
