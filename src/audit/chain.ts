import { AppendFile } from './append-file.ts';
import { auditFile, fileName } from './file-names.ts';
import { chainedLine, entryBody, lineHash } from './line.ts';
import type { Succession } from './checkpoint-entry.ts';
import type { Entry, FilePlace, Place } from './record.ts';

/** The key that signs the checkpoints of a file. */
export interface ChainKey {
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Uint8Array;
  readonly succession?: Succession | undefined;
}

export interface ChainOptions {
  readonly directory: string;
  /** Name of the log. */
  readonly log: string;
  readonly key: ChainKey;
  /** A file of at least this length is closed, and the next one is started. */
  readonly rotateBytes: number;
}

/** Point at which the chain continues. */
export interface ChainStart {
  /** The last existing record. */
  readonly tail: Place;
  /** Number of the file to continue or to create. */
  readonly file: number;
  /**
   * Length of the valid part of that file; the rest is cut off. 0: the file's first record must be
   * written.
   */
  readonly goodBytes: number;
  /** Reason why the file does not continue the existing chain. */
  readonly gap?: string | undefined;
  /** The key that the file to be continued names: SubjectPublicKeyInfo, DER, base64. */
  readonly publicKey?: string | undefined;
  /** Time of the last existing record, in milliseconds since the epoch. */
  readonly newestAt?: number | undefined;
}

/** The chain of records across its files. It allows one call at a time. */
export class Chain {
  readonly #options: ChainOptions;
  #tail: Place;
  #number: number;
  #goodBytes: number;
  #gap: string | undefined;
  #newestAt: number | undefined;
  #file: AppendFile | undefined;
  /** The key that the next file names. */
  #key: ChainKey;
  /**
   * The key that the current file names, base64; undefined if it is not known, or there is no
   * record yet.
   */
  #namedKey: string | undefined;

  constructor(options: ChainOptions, start: ChainStart) {
    this.#options = options;
    this.#tail = start.tail;
    this.#number = start.file;
    this.#goodBytes = start.goodBytes;
    this.#gap = start.gap;
    this.#newestAt = start.newestAt;
    this.#key = options.key;
    this.#namedKey = start.goodBytes === 0 ? undefined : start.publicKey;
  }

  /** The latest time of a record, in milliseconds since the epoch; the clock may be behind it. */
  get newestAt(): number | undefined {
    return this.#newestAt;
  }

  get tail(): Place {
    return this.#tail;
  }

  /** Number of the current file. */
  get file(): number {
    return this.#number;
  }

  /**
   * Appends records (made by `entryBody`), all or none, and returns their places once they are on
   * disk.
   */
  async write(bodies: readonly string[]): Promise<FilePlace[]> {
    const file = await this.#openFile();
    const isNew = file.size === 0;
    const key = this.#key;
    const now = new Date();
    const time = now.toISOString();
    const lines: string[] = [];
    const places: FilePlace[] = [];
    const number = this.#number;
    let place = this.#tail;
    for (const body of isNew ? [this.#openBody(), ...bodies] : bodies) {
      const line = chainedLine(place, time, body);
      place = { n: place.n + 1, hash: lineHash(line) };
      lines.push(line);
      places.push({ ...place, file: number });
    }
    await file.append(Buffer.from(`${lines.join('\n')}\n`));
    this.#tail = place;
    this.#newestAt = Math.max(now.getTime(), this.#newestAt ?? 0);
    if (isNew) {
      this.#gap = undefined;
      this.#namedKey = textOf(key);
    }
    // The records are written: if the file cannot be closed now, the next write tries again.
    if (file.size >= this.#options.rotateBytes) await this.#rotate(file).catch(() => undefined);
    return isNew ? places.slice(1) : places;
  }

  /**
   * Has the checkpoints that follow signed with this key. A file names one key, so that another one
   * begins a new file.
   */
  async useKey(key: ChainKey): Promise<void> {
    this.#key = key;
    if (this.#namedKey === undefined || this.#namedKey === textOf(key)) return;
    const file = await this.#openFile();
    if (file.size > 0) await this.#rotate(file);
  }

  /** Whether the current file names this key. */
  namesKey(key: ChainKey): boolean {
    return this.#namedKey === textOf(key);
  }

  /**
   * Abandons the current file if it was removed or changed, so that no record is lost in it.
   * Returns whether the file was intact.
   */
  async leaveIfTouched(): Promise<boolean> {
    if (this.#file === undefined || (await this.#file.isIntact())) return true;
    this.#gap = `${fileName(this.#number)} was changed by another process while it was written`;
    await this.#leave(this.#file);
    return false;
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    this.#goodBytes = file?.size ?? this.#goodBytes;
    await file?.close();
  }

  async #openFile(): Promise<AppendFile> {
    this.#file ??= await AppendFile.open(auditFile(this.#options.directory, this.#number).path, this.#goodBytes);
    return this.#file;
  }

  #openBody(): string {
    const { log } = this.#options;
    const { succession } = this.#key;
    return entryBody({ kind: 'open', log, file: this.#number, publicKey: textOf(this.#key), succession, gap: this.#gap });
  }

  async #rotate(file: AppendFile): Promise<void> {
    const close: Entry = { kind: 'close', next: fileName(this.#number + 1) };
    const line = chainedLine(this.#tail, new Date().toISOString(), entryBody(close));
    await file.append(Buffer.from(`${line}\n`));
    this.#tail = { n: this.#tail.n + 1, hash: lineHash(line) };
    await this.#leave(file);
  }

  async #leave(file: AppendFile): Promise<void> {
    this.#file = undefined;
    this.#number += 1;
    this.#goodBytes = 0;
    this.#namedKey = undefined;
    await file.close();
  }
}

function textOf({ publicKey }: ChainKey): string {
  return Buffer.from(publicKey).toString('base64');
}
