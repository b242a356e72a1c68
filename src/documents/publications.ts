import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { Refusal } from '../result-codes.ts';
import type { StateStore } from '../state/state-store.ts';
import { step, type Step } from '../state/step.ts';
import type { Logger } from '../telemetry/log.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import { isFileName } from './document.ts';
import { OutputDirectory, type StagedDirectory } from './paths/output-directory.ts';
import { EvidenceGone } from './paths/file-publication.ts';
import { stagedNameForm, type StagedNames } from './paths/staged-names.ts';
import { fileIdForm } from './transfer/transfer-parts.ts';
import type { TransferStore } from './transfer/transfer-store.ts';

const FileName = z.string().refine(isFileName);

/** Parsed strictly, since publishing renames the file and changes its permissions. */
const JournalEntry = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('directory'),
    path: z.string(),
    mode: z.int().min(0).max(0o777),
    files: z
      .array(
        z.strictObject({
          staged: z.string().regex(stagedNameForm),
          inode: z.string().regex(/^\d+$/),
          fileName: FileName,
          ending: z.string().regex(/^\.[a-z0-9]+$/),
          name: FileName,
        }),
      )
      .readonly(),
  }),
  z.strictObject({ kind: z.literal('transfer'), fileID: z.string().regex(fileIdForm) }),
]);

/** Evidence of one request that is staged in one place. */
export type JournalEntry = z.output<typeof JournalEntry>;

/** Planned paths, mapped to the actual paths of files. */
export type RenamedPaths = ReadonlyMap<string, string>;

/** Evidence whose request is settled, or may be: it is unknown whether the commit succeeded. */
export interface LeftPublication {
  readonly id: string;
  readonly request: string;
  readonly items: readonly JournalEntry[];
  /** Whether to publish it if its request is settled; otherwise it is withdrawn. */
  readonly staysDue: boolean;
  /** Time when it is given up if it cannot be found, milliseconds since 1970 (UTC). */
  readonly endsAt: number;
}

export interface PublicationParts {
  readonly store: StateStore;
  /** Name of this instance. */
  readonly owner: string;
  readonly names: StagedNames;
  readonly transfers: TransferStore | undefined;
  /** Returns every directory to which evidence may be written. */
  writeDirectories(): readonly string[];
  /** Checks whether the record of a settled request is in the audit log. */
  isRecorded(request: string): boolean;
  readonly log: Logger;
}

/** Thrown if the evidence of a stored answer is not published yet. */
export class NotPublishedYet extends Error {
  constructor() {
    super('the evidence of this request is not published yet');
    this.name = 'NotPublishedYet';
  }
}

/** Time for which evidence that cannot be found stays due. */
export const dueMs = 7 * 24 * 3_600_000;
/** Longer than answers are stored. */
const namesKeptMs = 25 * 3_600_000;
const tickMs = 1000;
const backOffMaxMs = 60_000;
const sweepMs = 3_600_000;
const waitMs = 10_000;

interface Waiting {
  readonly left: LeftPublication;
  backOffMs: number;
  notBeforeMs: number;
  attempt: Promise<void> | undefined;
}

/**
 * Journal of publications. An entry is added by the commit that settles a request and removed once
 * its evidence is in place. Publications interrupted by a crash or a full disk are finished here,
 * once the record of the request is in the audit log (contract §10, order of delivery).
 */
export class Publications {
  readonly #parts: PublicationParts;
  readonly #waiting = new Map<string, Waiting>();
  readonly #timers: NodeJS.Timeout[];

  private constructor(parts: PublicationParts) {
    this.#parts = parts;
    this.#timers = [setInterval(() => void this.#tryAll(), tickMs).unref(), setInterval(() => void this.#sweep(), sweepMs).unref()];
  }

  /**
   * Finishes publications of an earlier run as far as possible. Call it after the audit log has
   * replayed its records.
   */
  static async open(parts: PublicationParts): Promise<Publications> {
    const { store, owner, names, log } = parts;
    const publications = new Publications(parts);
    for (const { id, request, items, ends_at: endsAt } of await store.run('duePublications', store.isShared ? owner : undefined)) {
      const { success, data: entries } = z.array(JournalEntry).safeParse(JSON.parse(items));
      if (!success) {
        log.error('an entry in the journal of publications was not written by this service', { publication: id });
        continue;
      }
      for (const entry of entries) if (entry.kind === 'directory') for (const { staged } of entry.files) names.takeAgain(staged);
      publications.#leave({ id, request, items: entries, staysDue: true, endsAt });
    }
    await publications.#tryAll();
    return publications;
  }

  get owner(): string {
    return this.#parts.owner;
  }

  async commit(steps: readonly Step[]): Promise<void> {
    await this.#parts.store.commit(steps);
  }

  /**
   * Takes over unfinished evidence of a request. Resolves after the first attempt to withdraw it,
   * or at once if it stays due.
   */
  async leave(left: LeftPublication): Promise<void> {
    const attempt = this.#try(this.#leave(left));
    if (!left.staysDue) await attempt;
  }

  /**
   * Returns the paths that differ from the planned ones, once the evidence is published.
   * @throws {NotPublishedYet} if that takes too long
   */
  async renamed(id: string): Promise<RenamedPaths> {
    const deadlineMs = performance.now() + waitMs;
    for (let pauseMs = 20; ; pauseMs = Math.min(2 * pauseMs, 250)) {
      const row = await this.#parts.store.run('findPublication', id);
      if (row === undefined) return new Map();
      // Written by `publicationEnd`.
      if (row.renamed !== null) return new Map(JSON.parse(row.renamed) as [string, string][]);
      if (performance.now() > deadlineMs) throw new NotPublishedYet();
      await delay(pauseMs);
    }
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    for (const { attempt } of this.#waiting.values()) await attempt;
  }

  #leave(left: LeftPublication): Waiting {
    const waiting: Waiting = { left, backOffMs: tickMs, notBeforeMs: 0, attempt: undefined };
    this.#waiting.set(left.id, waiting);
    return waiting;
  }

  async #tryAll(): Promise<void> {
    for (const waiting of this.#waiting.values()) if (performance.now() >= waiting.notBeforeMs) await this.#try(waiting);
  }

  /** Tries to finish a publication, with one attempt at a time. */
  async #try(waiting: Waiting): Promise<void> {
    waiting.attempt ??= this.#attempt(waiting).finally(() => {
      waiting.attempt = undefined;
    });
    return waiting.attempt;
  }

  async #attempt(waiting: Waiting): Promise<void> {
    const { left } = waiting;
    try {
      if (await this.#finished(left)) this.#waiting.delete(left.id);
    } catch (error) {
      this.#parts.log.error('evidence of a settled request is not published yet', { request: left.request, reason: reasonOf(error) });
      waiting.notBeforeMs = performance.now() + waiting.backOffMs;
      waiting.backOffMs = Math.min(2 * waiting.backOffMs, backOffMaxMs);
    }
  }

  /** Finishes a publication. Returns false if the record of its request is still missing. */
  async #finished(left: LeftPublication): Promise<boolean> {
    const { store, log } = this.#parts;
    const row = await store.run('findPublication', left.id);
    if (row === undefined) {
      // No commit has made it due. Its files in the transfer store expire on their own.
      await this.#clear(left);
      return true;
    }
    if (!left.staysDue) {
      const withdrawals = left.items.flatMap((item) => (item.kind === 'transfer' ? [step('withdrawTransfer', item.fileID)] : []));
      await this.commit([...withdrawals, step('endPublication', left.id)]);
      await this.#clear(left);
      return true;
    }
    if (!this.#parts.isRecorded(left.request)) return false;
    try {
      await this.#publish(left);
      log.warn('published evidence left by an earlier request or run', { request: left.request });
    } catch (error) {
      if (!isGone(error) || Date.now() < left.endsAt) throw error;
      log.error('evidence of a settled request is given up: it cannot be found', { request: left.request });
      await this.commit([step('endPublication', left.id)]);
    }
    return true;
  }

  async #publish({ id, items }: LeftPublication): Promise<void> {
    const { transfers } = this.#parts;
    const renamed = new Map<string, string>();
    const opened: OutputDirectory[] = [];
    try {
      for (const item of items) {
        if (item.kind !== 'directory') continue;
        const directory = await this.#opened(item);
        opened.push(directory);
        for (const [planned, given] of await directory.publish()) renamed.set(planned, given);
      }
      const stored = items.flatMap((item) =>
        item.kind === 'transfer' && transfers !== undefined ? [transfers.publishing(item.fileID)] : [],
      );
      await this.commit([...stored, publicationEnd(id, renamed)]);
      for (const directory of opened) await directory.clear();
    } finally {
      for (const directory of opened) await directory.close();
    }
  }

  async #clear({ items }: LeftPublication): Promise<void> {
    for (const item of items) {
      if (item.kind !== 'directory') continue;
      const directory = await this.#opened(item);
      try {
        await directory.clear();
      } finally {
        await directory.close();
      }
    }
  }

  async #opened(staged: StagedDirectory): Promise<OutputDirectory> {
    return OutputDirectory.openAgain(staged, this.#parts.writeDirectories(), this.#parts.names);
  }

  async #sweep(): Promise<void> {
    // A failure is repeated next time.
    await this.#parts.store.run('deleteEndedPublications', Date.now()).catch(() => undefined);
  }
}

/** Returns the step that ends the entry, or that stores changed names for repeated answers. */
export function publicationEnd(id: string, renamed: RenamedPaths): Step {
  if (renamed.size === 0) return step('endPublication', id);
  return step('keepPublishedNames', { id, renamed: JSON.stringify([...renamed]), endsAt: Date.now() + namesKeptMs });
}

/** Returns the answer with the actual paths of its files. */
export function withPaths<T>(answer: T, renamed: RenamedPaths): T {
  if (renamed.size === 0) return answer;
  return withoutOldPaths(answer, renamed) as T;
}

function withoutOldPaths(value: unknown, renamed: RenamedPaths): unknown {
  if (Array.isArray(value)) return value.map((element) => withoutOldPaths(element, renamed));
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const members = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withoutOldPaths(member, renamed)]));
  const { filePathData } = value as { readonly filePathData?: { readonly filePath: string } };
  const given = filePathData === undefined ? undefined : renamed.get(filePathData.filePath);
  if (given === undefined) return members;
  return { ...members, filePathData: { filePath: given }, fileName: given.slice(given.lastIndexOf('/') + 1) };
}

function isGone(error: unknown): boolean {
  return error instanceof EvidenceGone || (error instanceof Refusal && error.code !== 'STORE_FULL');
}
