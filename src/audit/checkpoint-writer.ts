import { Refusal } from '../result-codes.ts';
import type { Logger } from '../telemetry/log.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import type { AccountHead } from '../token/account-files.ts';
import type { Chain } from './chain.ts';
import { KeyGone } from '../token/token.ts';
import { signCheckpoint, type CheckpointSigner } from './checkpoint.ts';
import type { GroupWriter } from './group-writer.ts';
import type { CheckpointEntry } from './checkpoint-entry.ts';
import type { FilePlace } from './record.ts';

/** After a failure, the next checkpoint comes this much later at the earliest. */
const retrySeconds = 5;
/** Pause after the checkpoint of a backup, which needs less than a second of it. */
const backupPauseSeconds = 15;

/** The log's head, stored apart from the log, so that truncation or rollback is detected. */
export interface AuditMemory {
  head(): Promise<FilePlace | undefined>;
  keepHead(head: FilePlace): Promise<void>;
}

/** The keys of checkpoints, which an operator may replace while the log is written. */
export interface CheckpointKeys {
  /** Returns the signer in force. */
  current(): Promise<CheckpointSigner>;
  /** Puts another key in force. `destroyFormer`: destroys the one before on the token. */
  replace(): Promise<{ readonly destroyFormer: () => Promise<void> }>;
}

/** Result of replacing the key of checkpoints: SubjectPublicKeyInfo of both, DER. */
export interface KeyReplaced {
  readonly publicKey: Uint8Array;
  readonly former: Uint8Array;
  /**
   * Number of the file that names the new key; undefined if no checkpoint could be made with it
   * yet.
   */
  readonly file: number | undefined;
}

export interface CheckpointOptions {
  /** Name of the log: each of several instances on one state store has its own. */
  readonly name: string;
  readonly checkpointSeconds: number;
  readonly checkpointRecords: number;
  /** The first signer. */
  readonly signer: CheckpointSigner;
  /** Absent if the key never changes. */
  readonly keys?: CheckpointKeys | undefined;
  readonly memory: AuditMemory;
  /** Returns the ends of the token host's account of uses; absent if there is none. */
  readonly accountHeads?: (() => Promise<readonly AccountHead[]>) | undefined;
  readonly log: Logger;
}

/** Writes the signed checkpoints of a chain, one at a time. */
export class CheckpointWriter {
  readonly #options: CheckpointOptions;
  readonly #chain: Chain;
  readonly #writer: GroupWriter;
  #kept: number;
  #last: FilePlace | undefined;
  /** Number of the last record that a checkpoint covers. */
  #covered = 0;
  #lastAt: number | undefined;
  #writing: Promise<void> | undefined;
  /** After a failure, the earliest time of the next checkpoint. */
  #notBefore = 0;
  /** For a backup: no checkpoint is written before this time (monotonic clock). */
  #pausedUntil = 0;
  /** Number of backups that wait for their requests: no checkpoint is written meanwhile. */
  #backups = 0;
  #isStopping = false;

  constructor(options: CheckpointOptions, chain: Chain, writer: GroupWriter, kept: number) {
    this.#options = options;
    this.#chain = chain;
    this.#writer = writer;
    this.#kept = kept;
  }

  /** Number of the last record that the state store holds as its place in the log. */
  get kept(): number {
    return this.#kept;
  }

  /** Milliseconds since epoch. */
  get lastAt(): number | undefined {
    return this.#lastAt;
  }

  get recordsSince(): number {
    return this.#chain.tail.n - (this.#last?.n ?? 0);
  }

  /** Writes a checkpoint if there are records without one, and the last one is old enough. */
  async writeIfOld(): Promise<void> {
    const isDue = Date.now() - (this.#lastAt ?? 0) >= this.#options.checkpointSeconds * 1000;
    if (isDue && this.recordsSince > 0) await this.write();
  }

  /** Begins a checkpoint if there are enough records without one. */
  beginIfMany(): void {
    if (this.recordsSince >= this.#options.checkpointRecords && Date.now() >= this.#notBefore) void this.write();
  }

  /** Checks whether a backup holds checkpoints back; it does so for seconds. */
  get isPaused(): boolean {
    return !this.#isStopping && (this.#backups > 0 || performance.now() < this.#pausedUntil);
  }

  /** Writes a checkpoint, except during the pause for a backup. A failure is logged. */
  async write(): Promise<void> {
    if (!this.isPaused) await this.#writeOne();
  }

  /** Has a checkpoint cover the record. Returns false if none can be written. */
  async cover(record: number): Promise<boolean> {
    // One that is being signed already does not cover the record.
    for (let tries = 0; tries < 2 && this.#covered < record; tries += 1) await this.write();
    return this.#covered >= record;
  }

  /**
   * Writes a checkpoint at which a backup can be made, and no other one until `settle` has ended and
   * the backup has had its time, unless another backup begins.
   * @throws {Refusal} STORE_FULL if no checkpoint can be made
   */
  async writeForBackup<T>(settle: (checkpoint: FilePlace) => Promise<T>): Promise<T> {
    while (this.#writing !== undefined) await this.#writing;
    const before = this.#last;
    const checkpoint = this.#writeOne();
    this.#backups += 1;
    try {
      await checkpoint;
      const place = this.#last;
      if (place === undefined || place === before)
        throw new Refusal('STORE_FULL', { message: 'no checkpoint of the audit log can be made' });
      const settled = await settle(place);
      this.#pausedUntil = performance.now() + backupPauseSeconds * 1000;
      return settled;
    } finally {
      this.#backups -= 1;
    }
  }

  /**
   * Has another key sign the checkpoints. The next file names it, and has what the former key says of
   * it; the former key is destroyed.
   * @throws {TokenUnavailable}
   */
  async replaceKey(): Promise<KeyReplaced> {
    const { keys } = this.#options;
    if (keys === undefined) throw new Error('the keys of this log are not replaced');
    const former = await keys.current();
    const { destroyFormer } = await keys.replace();
    // One that is being signed already has the former key.
    const names = async (): Promise<boolean> => this.#chain.namesKey(await keys.current());
    for (let tries = 0; tries < 2 && !(await names()); tries += 1) await this.write();
    await destroyFormer();
    const file = (await names()) ? this.#chain.file : undefined;
    return { publicKey: (await keys.current()).publicKey, former: former.publicKey, file };
  }

  /** Ends every pause for a backup once the checkpoint that is being written has ended. */
  async endPauses(): Promise<void> {
    await this.#writing;
    this.#isStopping = true;
  }

  /** One at a time; the next one covers what comes in the meantime. */
  async #writeOne(): Promise<void> {
    this.#writing ??= this.#sign().finally(() => {
      this.#writing = undefined;
    });
    await this.#writing;
  }

  /** Signs the current end of the chain, with the key that its file names. */
  async #signTail(): Promise<{ readonly entry: CheckpointEntry; readonly n: number }> {
    const { name, signer: first, keys, log } = this.#options;
    const signer = (await keys?.current()) ?? first;
    const isIntact = await this.#writer.between(async (chain) => {
      const isUntouched = await chain.leaveIfTouched();
      await chain.useKey(signer);
      return isUntouched;
    });
    if (!isIntact) log.error('another process changed the audit log; it continues in a new file');
    const { n, hash } = this.#chain.tail;
    const entry = await signCheckpoint({ log: name, records: n, hash, time: new Date().toISOString() }, this.#kept, signer);
    return { entry, n };
  }

  /**
   * Signs the current state of the chain. Records that arrive while the token signs are written
   * before the checkpoint.
   */
  async #sign(): Promise<void> {
    const { name, memory, accountHeads, log } = this.#options;
    if (!this.#writer.writable) return;
    try {
      const account = await accountHeads?.();
      // Another instance may replace the key at this moment, and destroy this one.
      const { entry, n } = await this.#signTail().catch(async (error: unknown) => {
        if (!(error instanceof KeyGone)) throw error;
        return this.#signTail();
      });
      const place = await this.#writer.append({ ...entry, account });
      this.#covered = n;
      this.#last = place;
      this.#lastAt = Date.now();
      await memory.keepHead(place);
      this.#kept = place.n;
      // The service log is a second place for it, which an operator may send elsewhere.
      log.info('audit checkpoint', { log: name, record: place.n, hash: place.hash });
    } catch (error) {
      this.#notBefore = Date.now() + retrySeconds * 1000;
      log.error('cannot write a checkpoint to the audit log', { reason: reasonOf(error) });
    }
  }
}
