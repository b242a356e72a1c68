import { mkdir } from 'node:fs/promises';
import type { SyslogConfig } from '../config/syslog-config.ts';
import { DirectoryLock } from '../service/directory-lock.ts';
import { Refusal } from '../result-codes.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import { AdministeredWork } from './administered-work.ts';
import type { AdministrationWork, Audit, AuditStatus, BackupPoint, Outcome } from './audit.ts';
import { recordingUses } from './use-recorder.ts';
import { AuditedRequest, type Requester } from './audited-request.ts';
import { Chain } from './chain.ts';
import { CheckpointWriter, type CheckpointOptions, type KeyReplaced } from './checkpoint-writer.ts';
import { findTail } from './find-tail.ts';
import { GroupWriter } from './group-writer.ts';
import { LateRecords, recordLost, type WorkEntry } from './late-records.ts';
import { rightRecordTime } from './newest-record.ts';
import type { Outbox } from './outbox.ts';
import type { AdministrationEntry, Entry, FilePlace } from './record.ts';
import { SyslogCopies } from './syslog-copies.ts';
import { CountedRefusals, type RefusedSecret } from './counted-refusals.ts';
import type { RefusedClient } from './refused-clients.ts';
import { RunningRequests } from './running-requests.ts';
import { removableFiles, removeFiles, type Removable } from './removal.ts';
import { UsesOutside } from './uses-outside.ts';

const tickSeconds = 5;
const refusalsSeconds = 60;
const sweepSeconds = 1;
/** How long a backup waits for the requests that were running at its checkpoint. */
const backupWaitSeconds = 30;

export interface AuditLogOptions extends CheckpointOptions {
  readonly directory: string;
  readonly rotateBytes: number;
  /** Holds the records that settlements write in their own commit. */
  readonly outbox?: Outbox | undefined;
  /** Syslog server that receives a copy of each record. */
  readonly syslog?: SyslogConfig | undefined;
  /** `admin.approvals`, for the record of the start. */
  readonly approvals?: number | undefined;
}

/** The hash-chained log with its checkpoints. See docs/audit.md. */
export class AuditLog implements Audit {
  readonly #options: AuditLogOptions;
  readonly #lock: DirectoryLock;
  readonly #chain: Chain;
  readonly #writer: GroupWriter;
  readonly #checkpoints: CheckpointWriter;
  readonly #refused: CountedRefusals;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #late: LateRecords;
  readonly #running = new RunningRequests();
  readonly #usesOutside: UsesOutside;
  #copies: SyslogCopies | undefined;

  private constructor(options: AuditLogOptions, lock: DirectoryLock, chain: Chain, kept: number) {
    this.#options = options;
    this.#lock = lock;
    this.#chain = chain;
    this.#writer = new GroupWriter(chain, options.log, () => {
      void this.#late.write().then(async () => this.#checkpoints.write());
    });
    this.#refused = new CountedRefusals(async (entry) => this.#writer.append(entry), options.log);
    this.#usesOutside = new UsesOutside(this.#writer);
    this.#checkpoints = new CheckpointWriter(options, chain, this.#writer, kept);
    this.#late = new LateRecords(options.outbox, this.#writer, options.log);
  }

  /**
   * Opens the log and completes what a crash left unfinished. It opens even if the disk is full.
   * @throws {Error} if the directory cannot be used
   */
  static async open(options: AuditLogOptions): Promise<AuditLog> {
    await mkdir(options.directory, { recursive: true, mode: 0o700 });
    const lock = new DirectoryLock(options.directory, 'the audit log');
    try {
      const head = await options.memory.head();
      const found = await findTail(options.directory, head);
      if (found.gap !== undefined)
        options.log.error('the audit log is damaged or incomplete; it continues in a new file', { reason: found.gap });
      const { directory, name, rotateBytes, signer } = options;
      const chain = new Chain({ directory, log: name, key: signer, rotateBytes }, { ...found, newestAt: await rightRecordTime(directory) });
      const audit = new AuditLog(options, lock, chain, head?.n ?? 0);
      const append = async (entry: Entry): Promise<unknown> => audit.#writer.append(entry);
      audit.#copies = await SyslogCopies.open(options.syslog, { directory, log: options.log, durable: () => chain.tail.n, append });
      await audit.#start(found.cutBytes);
      await audit.#copies?.start();
      return audit;
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  get status(): AuditStatus {
    return {
      writable: this.#writer.writable,
      lagSeconds: this.#writer.lagSeconds,
      lastCheckpointAt: this.#checkpoints.lastAt,
      recordsSinceCheckpoint: this.#checkpoints.recordsSince,
      newestRecordAt: this.#chain.newestAt,
      syslog: this.#copies?.status,
    };
  }

  begin(requester: Requester): AuditedRequest {
    return new AuditedRequest(this.#options.name, requester);
  }

  checkHandedOver(): void {
    this.#copies?.check();
  }

  async carryOut<T>(request: AuditedRequest, work: () => Promise<T>): Promise<T> {
    this.#writer.checkWritable();
    this.checkHandedOver();
    this.#writer.comesNear(request);
    this.#running.begin(request);
    try {
      return await recordingUses(request, work);
    } finally {
      this.#writer.hasArrived(request);
    }
  }

  async finish(request: AuditedRequest, outcome: Outcome): Promise<void> {
    const { requester, requestID, key, digests, uses, identityToken, tampered, isRepeated, outboxIds, effects } = request;
    const what = {
      ...{ kind: 'request' as const, ...requester, requestID, key, digests: digests.length === 0 ? undefined : [...digests] },
      ...{ uses: uses.record(), identityToken, repeated: isRepeated ? true : undefined },
    };
    const entry = { ...what, effects: effects.length === 0 ? undefined : [...effects], tampered, ...outcome };
    try {
      // If this fails, the caller never learns the outcome, so a later record leaves it out.
      await this.#recordOrKeep(entry, { ...what, tampered }, [...outboxIds]);
    } finally {
      this.#running.end(request);
    }
    request.forgetRecorded();
  }

  async administer<T>(entry: AdministrationEntry, work: AdministrationWork<T>): Promise<T> {
    this.#writer.checkWritable();
    this.checkHandedOver();
    const administered = new AdministeredWork(this.#options.name, entry);
    this.#running.begin(administered);
    try {
      return await administered.run(work);
    } finally {
      const record = administered.record();
      await this.#recordOrKeep(record, record, administered.outboxIds).finally(() => {
        this.#running.end(administered);
      });
    }
  }

  /**
   * Writes a checkpoint at which a backup can be made, waits until everything that was running then
   * has its record, and writes no other checkpoint for a moment: a backup of the token host's
   * account ends with the uses that this checkpoint names, and all of them have their records.
   * @throws {Refusal} STORE_FULL while nothing can be recorded, or nothing signed
   */
  async backupPoint(): Promise<BackupPoint> {
    this.#writer.checkWritable();
    return this.#checkpoints.writeForBackup(async (checkpoint) => {
      const stillRunning = await this.#running.endOfPresent(backupWaitSeconds * 1000);
      await this.#usesOutside.write();
      return { ...checkpoint, stillRunning };
    });
  }

  /**
   * Writes the record. If that fails, keeps `late` to be written once the disk has space:
   * what was committed, and what the token did. @throws {Refusal} STORE_FULL
   */
  async #recordOrKeep(entry: WorkEntry, late: WorkEntry, ids: readonly string[]): Promise<void> {
    try {
      const place = await this.record(entry);
      this.#options.outbox?.done(ids, place);
    } catch (error) {
      this.#late.keep(late, ids.length > 0);
      throw error;
    }
  }

  /** Returns the record's place once it is on disk. @throws {Refusal} STORE_FULL */
  async record(entry: WorkEntry): Promise<FilePlace> {
    const place = await this.#writer.append(entry);
    this.#checkpoints.beginIfMany();
    return place;
  }

  isRecorded(request: string): boolean {
    return !this.#late.lacks(request);
  }

  useOutside(use: string): void {
    this.#usesOutside.add(use);
  }

  refuseClient(reason: string, address: string | undefined, client?: RefusedClient): void {
    this.#refused.addClient(reason, address, client);
  }

  refuseSecret(refused: RefusedSecret): void {
    this.#refused.addSecret(refused);
  }

  /**
   * Removes the oldest files: closed ones, with only records from before a time (milliseconds since
   * the epoch). A record that says so is written and covered by a checkpoint first, so that what is
   * left can be verified. Returns undefined if there are none.
   * @throws {Refusal} STORE_FULL if the record or its checkpoint cannot be written; nothing is
   *   removed then
   */
  async removeBefore(before: number): Promise<Removable | undefined> {
    const { directory, log } = this.#options;
    const found = await removableFiles(directory, {
      ...{ before, current: this.#chain.file },
      kept: Math.min(this.#checkpoints.kept, this.#copies?.receivedRecord ?? Infinity),
    });
    if (found === undefined) return undefined;
    if (this.#checkpoints.isPaused)
      throw new Refusal('STORE_FULL', { message: 'a backup has just been made, so no file was removed; try again in a minute' });
    const place = await this.#writer.append(found.entry);
    if (!(await this.#checkpoints.cover(place.n)))
      throw new Refusal('STORE_FULL', { message: 'no checkpoint can be made, so no file was removed' });
    await removeFiles(directory, found.files);
    log.info('files of the audit log are removed', { files: found.files.map(({ name }) => name), lastRecord: found.entry.records });
    return found;
  }

  /** As in `CheckpointWriter`. */
  async replaceKey(): Promise<KeyReplaced> {
    this.#writer.checkWritable();
    return this.#checkpoints.replaceKey();
  }

  /**
   * Writes the remaining records and a last checkpoint. Call it after the last request and before
   * the token stops.
   */
  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#refused.write();
    await this.#copies?.sumUp();
    await this.#usesOutside.write();
    await this.#late.stop();
    await this.#checkpoints.endPauses();
    await this.#checkpoints.write();
    await this.#sweep();
    // Records that the state store holds the previous checkpoint's place: a store restored from an
    // earlier backup is then detected, whatever happened since.
    await this.#checkpoints.write();
    await this.#writer.close();
    await this.#copies?.stop();
    const lost = this.#usesOutside.waiting;
    if (lost.length > 0) this.#options.log.error(recordLost, { uses: lost });
    this.#lock.release();
  }

  async #start(cutBytes: number): Promise<void> {
    const { approvals } = this.#options;
    const entry = { kind: 'start' as const, approvals, cutBytes: cutBytes === 0 ? undefined : cutBytes };
    // If the disk is full, the group writer has logged it and tries again.
    await this.#writer.append(entry).catch(() => undefined);
    await this.#late.find(this.#options.directory, { ...this.#chain.tail, file: this.#chain.file });
    await this.#late.write();
    await this.#checkpoints.write();
    const every = (seconds: number, work: () => Promise<void>): void => {
      this.#timers.push(setInterval(() => void work(), seconds * 1000).unref());
    };
    every(Math.min(tickSeconds, this.#options.checkpointSeconds), async () => {
      await this.#late.write();
      await this.#checkpoints.writeIfOld();
    });
    every(refusalsSeconds, async () => this.#refused.write());
    every(sweepSeconds, async () => {
      await this.#usesOutside.write();
      await this.#sweep();
    });
  }

  async #sweep(): Promise<void> {
    await this.#options.outbox?.sweep().catch((error: unknown) => {
      this.#options.log.warn('records that are already written stay in the audit outbox', { reason: reasonOf(error) });
    });
  }
}
