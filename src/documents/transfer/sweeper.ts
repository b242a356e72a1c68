import type { TransferParts } from './transfer-parts.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';

const sweepEveryMs = 30_000;
const strayEveryMs = 3_600_000;
const atOnce = 100;

/**
 * Removes expired and unknown files. Several instances may run it at the same time.
 */
export class Sweeper {
  readonly #parts: TransferParts;
  #timers: NodeJS.Timeout[] = [];
  #sweeping: Promise<void> | undefined;

  constructor(parts: TransferParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    await this.#sweep();
    const { keepSeconds } = this.#parts.config;
    this.#timers = [
      setInterval(() => void this.#sweep(), Math.min(sweepEveryMs, 1000 * keepSeconds)).unref(),
      setInterval(() => void this.#removeStrays(), strayEveryMs).unref(),
    ];
    void this.#removeStrays();
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#sweeping;
  }

  /** Removes a file that has expired or is incomplete. If it fails, the next sweep tries again. */
  async discard(id: string): Promise<boolean> {
    const { store, contents, log } = this.#parts;
    try {
      await contents.remove(id);
      await store.run('forgetTransfer', id);
      return true;
    } catch (error) {
      log.warn('a file of the transfer store could not be removed yet', { reason: reasonOf(error) });
      return false;
    }
  }

  async #sweep(): Promise<void> {
    this.#sweeping ??= this.#removeEnded().finally(() => {
      this.#sweeping = undefined;
    });
    return this.#sweeping;
  }

  async #removeEnded(): Promise<void> {
    const { store, contents, log, metrics } = this.#parts;
    try {
      await contents.probe();
      // Each removal would only find the same again.
      if (contents.fault !== undefined) return;
      for (;;) {
        const ended = await store.run('endedTransfers', { now: Date.now(), limit: atOnce });
        const removed = await Promise.all(ended.map(async (id) => this.discard(id)));
        metrics.removed(removed.filter(Boolean).length);
        if (ended.length < atOnce || !removed.includes(true)) return;
      }
    } catch (error) {
      log.warn('sweeping the transfer store failed', { reason: reasonOf(error) });
    }
  }

  /**
   * Removes files unknown to the state store, such as those uploaded after the backup from which it
   * was restored. They are kept until any file would have expired, so that another service that
   * shares their place by mistake loses nothing.
   */
  async #removeStrays(): Promise<void> {
    const { store, contents, config, log } = this.#parts;
    try {
      let removed = 0;
      for await (const listed of contents.list()) {
        const before = Date.now() - 1000 * config.keepSeconds;
        const old = listed.filter(({ changedAtMs }) => changedAtMs <= before).map(({ id }) => id);
        if (old.length === 0) continue;
        const known = new Set(await store.run('knownTransfers', old));
        for (const id of old.filter((one) => !known.has(one))) {
          await contents.remove(id);
          removed += 1;
        }
      }
      if (removed > 0) log.warn('removed files of the transfer store that are unknown to the state store', { files: removed });
    } catch (error) {
      log.warn('searching the transfer store for stray files failed', { reason: reasonOf(error) });
    }
  }
}
