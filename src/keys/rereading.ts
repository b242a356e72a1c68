import type { ActivatableKey, KeyReferenceId } from './key-record.ts';
import type { KnownSecrets } from './known-secrets.ts';

type Record = Pick<ActivatableKey, 'reference' | 'isStale'>;

/** Reads the rows of stale records again, those of one record one after the other. */
export class Rereading<R extends Record> {
  readonly #read: (record: R) => Promise<void>;
  readonly #reading = new Map<KeyReferenceId, Promise<void>>();

  /** @param read reads the row and changes the record accordingly */
  constructor(read: (record: R) => Promise<void>) {
    this.#read = read;
  }

  /** Whether nothing about the record is still to be read. */
  isUpToDate({ isStale, reference }: R): boolean {
    return !isStale && !this.#reading.has(reference);
  }

  /**
   * Refreshes a stale record. A change reported while the row is read makes the record stale again;
   * callers that came with that change read it once more.
   */
  async bringUpToDate(record: R): Promise<void> {
    if (record.isStale) {
      record.isStale = false;
      const { reference } = record;
      const reading = this.#readAfter(record, this.#reading.get(reference)).finally(() => {
        if (this.#reading.get(reference) === reading) this.#reading.delete(reference);
      });
      this.#reading.set(reference, reading);
    }
    await this.#reading.get(record.reference);
  }

  /**
   * Reads the row after the previous read has ended, so that an older row never overwrites a newer
   * one.
   */
  async #readAfter(record: R, previous: Promise<void> | undefined): Promise<void> {
    try {
      await previous?.catch(() => undefined);
      await this.#read(record);
    } catch (error) {
      record.isStale = true;
      throw error;
    }
  }
}

/** The part of a record that its row changes. */
export type RowFields = Pick<ActivatableKey, 'secret' | 'state' | 'failuresInRow' | 'failuresSinceSuccess' | 'lockedUntil' | 'seal'>;

/**
 * Applies a row that was read again; `undefined`: it no longer exists. A row with a fault changes
 * only that. A password that was accepted before is forgotten unless the row confirms it.
 */
export function applyRow(
  record: ActivatableKey,
  { row, fault }: { readonly row: RowFields | undefined; readonly fault: string | undefined },
  known: Pick<KnownSecrets, 'forget'>,
): void {
  const before = record.secret?.mac;
  record.fault = fault;
  if (fault === undefined) Object.assign(record, row ?? { state: 'REMOVED', secret: undefined });
  const { state, secret } = record;
  const isSame = before !== undefined && secret !== undefined && Buffer.compare(secret.mac, before) === 0;
  if (!isSame || state !== 'ACTIVE' || fault !== undefined) known.forget(record.id);
}
