import { randomUUID } from 'node:crypto';
import type { SettledOutcome, SettlementParty } from '../state/settlement.ts';
import { step, type Step } from '../state/step.ts';
import type { OutputDirectory } from './paths/output-directory.ts';
import { dueMs, publicationEnd, type JournalEntry, type Publications, type RenamedPaths } from './publications.ts';
import type { StagedTransfer } from './transfer/transfer-store.ts';

/**
 * Evidence that one run of a request delivers outside its answer. It is staged where only the
 * service can read it; the commit that settles the request makes it due; and it is published once
 * the audit record of the request is on disk (contract §10, order of delivery). This applies to
 * every format and destination.
 */
export class Deliveries implements SettlementParty {
  /** Identifier of the entry in the journal. */
  readonly id = randomUUID();
  readonly #publications: Publications;
  readonly #request: string;
  readonly #directories: OutputDirectory[] = [];
  readonly #transfers: StagedTransfer[] = [];
  #state: 'staging' | 'offered' | 'publishing' | 'published' = 'staging';

  /** `request`: the service's identifier of the request. */
  constructor(publications: Publications, request: string) {
    this.#publications = publications;
    this.#request = request;
  }

  /** Adds a directory in which evidence is staged. It is closed when the run ends. */
  addDirectory(directory: OutputDirectory): void {
    this.#directories.push(directory);
  }

  addTransfer(transfer: StagedTransfer): void {
    this.#transfers.push(transfer);
  }

  /** Whether nothing is to be delivered outside of the answer. */
  get isEmpty(): boolean {
    return this.#transfers.length === 0 && this.#directories.length === 0;
  }

  get needsCommit(): boolean {
    return this.#transfers.length > 0 || this.#directories.some(({ hasStaged }) => hasStaged);
  }

  async steps(outcome: SettledOutcome): Promise<readonly Step[]> {
    if (!('answer' in outcome) || !this.needsCommit) return [];
    this.#state = 'offered';
    const due = { id: this.id, owner: this.#publications.owner, request: this.#request, ends_at: Date.now() + dueMs };
    const added = step('addPublication', { ...due, items: JSON.stringify(this.#items) });
    return Promise.resolve([...this.#transfers.map((one) => one.staging()), added]);
  }

  /**
   * Publishes the staged evidence of a successful request whose audit record is on disk. Returns
   * the paths that differ from the planned ones.
   * @throws {Refusal} STORE_FULL, FILE_ACCESS_DENIED; it is then published as soon as possible
   */
  async publish(): Promise<RenamedPaths> {
    const renamed = new Map<string, string>();
    if (!this.needsCommit) return renamed;
    if (this.#state !== 'offered') throw new Error('evidence is staged, and no commit has settled its request');
    this.#state = 'publishing';
    for (const directory of this.#directories) for (const [planned, given] of await directory.publish()) renamed.set(planned, given);
    await this.#publications.commit([...this.#transfers.map((one) => one.publishing()), publicationEnd(this.id, renamed)]);
    this.#state = 'published';
    for (const transfer of this.#transfers) transfer.published();
    for (const directory of this.#directories) await directory.clear();
    return renamed;
  }

  /**
   * Ends the run. Published evidence remains; evidence that no commit has made due is removed.
   * Evidence that is due is removed too, unless `staysDue`: a repetition is then answered with it.
   */
  async end({ staysDue }: { readonly staysDue: boolean }): Promise<void> {
    try {
      if (this.#state === 'staging') await this.#discard();
      else if (this.#state !== 'published') {
        const isDue = staysDue || this.#state === 'publishing';
        const left = { id: this.id, request: this.#request, items: this.#items, staysDue: isDue, endsAt: Date.now() + dueMs };
        await this.#publications.leave(left);
      }
    } finally {
      for (const transfer of this.#transfers.splice(0)) transfer.release();
      for (const directory of this.#directories.splice(0)) await directory.close();
    }
  }

  async #discard(): Promise<void> {
    for (const transfer of this.#transfers) await transfer.discard();
    for (const directory of this.#directories) await directory.clear();
  }

  get #items(): JournalEntry[] {
    return [
      ...this.#directories.filter(({ hasStaged }) => hasStaged).map(({ journal }) => journal),
      ...this.#transfers.map(({ file: { fileID } }) => ({ kind: 'transfer' as const, fileID })),
    ];
  }
}
