import type { KeyObject } from 'node:crypto';
import { checkpointVerifies, keyDigest } from './checkpoint.ts';
import { fileName } from './file-names.ts';
import { beginning, isCanonicalBase64, type Line } from './line.ts';
import type { LogLine } from './log-lines.ts';
import type { Checkpoint } from './checkpoint-entry.ts';
import type { Place } from './record.ts';
import { checkpointKeyIn, keyObjectOf, successionVerifies } from './succession.ts';

export interface Expected {
  /**
   * Trusted keys of checkpoints: SubjectPublicKeyInfo, DER. Those are trusted too that follow them
   * by their own word.
   */
  readonly publicKeys: readonly Uint8Array[];
  /**
   * Places that the log must contain: the last checkpoint in the state store, and any that were
   * kept elsewhere.
   */
  readonly heads: readonly Place[];
  /** False if older files are archived: nothing before the first line is checked. */
  readonly fromBeginning: boolean;
}

/** A key and the checkpoints that it verified. */
export interface KeyUse {
  /** SHA-256 of the SubjectPublicKeyInfo, hexadecimal. */
  readonly sha256: string;
  checkpoints: number;
  /** Number of the first record of the first file that names it. */
  readonly from: number;
  /** Number of the last record that it covers; 0: none. */
  to: number;
}

/** Verifies a chain line by line. */
export class ChainCheck {
  readonly #keys: Map<string, KeyObject>;
  readonly #heads: ReadonlyMap<number, string>;
  readonly #fromBeginning: boolean;
  #last: Place | undefined;
  #log: string | undefined;
  #key: KeyObject | undefined;
  /** Hashes of the records since the last covered one, inclusive. */
  readonly #uncovered = new Map<number, string>();
  /** The keys that files name, in order. */
  readonly keys: KeyUse[] = [];
  checkpoints = 0;
  covered: Checkpoint | undefined;
  /** Place before the first record that was read. */
  #before: Place | undefined;
  /** Hashes of the closing records. */
  readonly #closings = new Map<number, string>();
  readonly #removals: Extract<Line, { kind: 'removal' }>[] = [];

  constructor({ publicKeys, heads, fromBeginning }: Expected) {
    this.#keys = new Map(publicKeys.map((key) => [Buffer.from(key).toString('base64'), keyObjectOf(key)]));
    this.#heads = new Map(heads.map(({ n, hash }) => [n, hash]));
    this.#fromBeginning = fromBeginning;
    this.#last = fromBeginning ? beginning : undefined;
  }

  get last(): Place | undefined {
    return this.#last;
  }

  /** Number of the first record that was read. */
  get first(): number | undefined {
    return this.#before === undefined ? undefined : this.#before.n + 1;
  }

  /** Number of the last record that the log is known to have had. */
  get lastKnown(): number {
    return Math.max(0, ...this.#heads.keys());
  }

  /**
   * Whether the log itself says that the files before its first one were removed, in a record that
   * a checkpoint covers. A crash may have left some of the files that the record names.
   */
  get isBeginningRemoved(): boolean {
    const before = this.#before;
    if (before === undefined) return false;
    return this.#removals.some(
      ({ n, records, hash }) =>
        n <= (this.covered?.records ?? 0) && hash === (records === before.n ? before.hash : this.#closings.get(records)),
    );
  }

  /**
   * Checks a line, given the two after it, and returns what is wrong with it. Only its successor
   * confirms a line's content, so if the two disagree, the second successor decides which of them
   * was changed.
   */
  take(here: LogLine, next: LogLine | undefined, afterNext: LogLine | undefined): string | undefined {
    const { record, hash } = here;
    if (typeof record === 'string') return record;
    const expected = this.#last === undefined ? record.n : this.#last.n + 1;
    if (record.n !== expected) return `it is record ${record.n}; record ${expected} belongs here`;
    if (this.#last !== undefined && record.previous !== this.#last.hash) return 'its hash of the previous record is wrong';
    if ((here.line === 1) !== (record.kind === 'open')) return 'a file must begin with an opening record and have no other';
    const head = this.#heads.get(record.n);
    if (head !== undefined && head !== hash) return 'it is not the record that was here';
    if (head === undefined && this.#isContradicted(here, next, afterNext))
      return 'it was changed: the next record has a different hash of it';
    const isFirst = this.#last === undefined;
    this.#before ??= { n: record.n - 1, hash: record.previous };
    if (record.kind === 'close') this.#closings.set(record.n, hash);
    if (record.kind === 'removal') this.#removals.push(record);
    this.#last = { n: record.n, hash };
    this.#uncovered.set(record.n, hash);
    if (record.kind === 'open') return this.#open(record, here, isFirst);
    return record.kind === 'checkpoint' ? this.#checkpoint(record) : undefined;
  }

  #isContradicted({ record, hash }: LogLine, next: LogLine | undefined, afterNext: LogLine | undefined): boolean {
    if (typeof record === 'string' || !isAfter(record, next) || next.record.previous === hash) return false;
    if (this.#heads.has(next.record.n)) return this.#heads.get(next.record.n) === next.hash;
    if (isAfter(next.record, afterNext)) return afterNext.record.previous === next.hash;
    return next.record.kind === 'checkpoint' && next.record.checkpoint.hash === next.record.previous && this.#isSigned(next.record);
  }

  /** Checks an opening record. A gap before the first file that is read does not matter. */
  #open(record: Extract<Line, { kind: 'open' }>, { file }: LogLine, isFirst: boolean): string | undefined {
    if (record.gap !== undefined && !isFirst) return `the service found a gap here: ${record.gap}`;
    if (record.file !== file.number) return `it is the first record of ${fileName(record.file)}`;
    if (this.#log !== undefined && record.log !== this.#log) return `it belongs to another log, ${record.log}`;
    this.#log = record.log;
    this.#follow(record);
    this.#key = this.#keys.get(record.publicKey);
    if (this.#key === undefined) return 'its checkpoint key is not trusted';
    const sha256 = keyDigest(Buffer.from(record.publicKey, 'base64'));
    if (this.keys.at(-1)?.sha256 !== sha256) this.keys.push({ sha256, checkpoints: 0, from: record.n, to: 0 });
    return undefined;
  }

  /** Trusts the key of a file that a trusted key has named as the next. */
  #follow({ publicKey, succession }: Extract<Line, { kind: 'open' }>): void {
    if (succession === undefined || this.#keys.has(publicKey)) return;
    const former = this.#keys.get(succession.former);
    const next = Buffer.from(publicKey, 'base64');
    if (former === undefined || !successionVerifies(succession, next, former)) return;
    // Who has the former key can have signed anything.
    const key = checkpointKeyIn(next);
    if (key !== undefined) this.#keys.set(publicKey, key);
  }

  #checkpoint(record: Extract<Line, { kind: 'checkpoint' }>): string | undefined {
    const { checkpoint } = record;
    if (checkpoint.log !== this.#log) return `it is a checkpoint of another log, ${checkpoint.log}`;
    if (!this.#isSigned(record)) return 'its signature is wrong';
    const covered = this.#uncovered.get(checkpoint.records);
    // If older files are archived, the first checkpoint may cover one of their records.
    const isOlder = !this.#fromBeginning && this.covered === undefined && checkpoint.records < (this.#uncovered.keys().next().value ?? 0);
    if (covered !== checkpoint.hash && !isOlder) return `the record ${checkpoint.records} that it covers is not the one in the log`;
    this.checkpoints += 1;
    const use = this.keys.at(-1);
    if (use !== undefined) {
      use.checkpoints += 1;
      use.to = checkpoint.records;
    }
    this.covered = checkpoint;
    for (const n of this.#uncovered.keys()) {
      if (n >= checkpoint.records) break;
      this.#uncovered.delete(n);
    }
    return undefined;
  }

  #isSigned(record: Extract<Line, { kind: 'checkpoint' }>): boolean {
    return this.#key !== undefined && isCanonicalBase64(record.signature) && checkpointVerifies(record, this.#key);
  }
}

function isAfter(record: Line, next: LogLine | undefined): next is LogLine & { readonly record: Line } {
  return next !== undefined && typeof next.record !== 'string' && next.record.n === record.n + 1;
}
