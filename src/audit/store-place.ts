import type { AuditHeadRow } from '../state/tables/audit.ts';
import { errorCode } from '../telemetry/error-code.ts';
import { auditFile, type AuditFile } from './file-names.ts';
import { headOf, lastLineWith } from './line-offset.ts';
import { lineHash, parseLine } from './line.ts';
import { readLines } from './read-lines.ts';

/** The place in the log of a directory up to which a state store has every change. */
export interface StorePlace {
  /** Number of the record; 0: none. */
  readonly n: number;
  /** Number of the file that holds it. */
  readonly file: number;
  /** Whether the log has that very record. */
  readonly isCertain: boolean;
}

/** Finds the place that a state store holds in the log of a directory. */
export class StorePlaces {
  readonly #directory: string;
  readonly #name: string;
  /** Hashes of records that were found, by file and number: a written record stays. */
  readonly #found = new Map<string, string>();

  constructor({ directory, name }: { readonly directory: string; readonly name: string }) {
    this.#directory = directory;
    this.#name = name;
  }

  /**
   * Of all places in the store, under whatever name, the latest whose record is in this directory. A
   * store that several instances share also holds places in the logs of the others. A place of the
   * log's own name counts too if its record is missing here (removed, archived or lost).
   * @throws {Error} if the log cannot be read
   */
  async latest(heads: readonly AuditHeadRow[]): Promise<StorePlace> {
    let place: StorePlace = { n: 0, file: 0, isCertain: false };
    const own = heads.find(({ log }) => log === this.#name);
    for (const head of heads) {
      const here = await this.#hashOf(head);
      const isCertain = here === head.hash;
      if (!isCertain && (head !== own || here !== undefined)) continue;
      if (head.records > place.n) place = { n: head.records, file: head.file, isCertain };
    }
    if (place.n > 0 || own === undefined) return place;
    return { n: own.records, file: own.file, isCertain: false };
  }

  async #hashOf({ file, records }: AuditHeadRow): Promise<string | undefined> {
    const key = `${file}:${records}`;
    const hash = this.#found.get(key) ?? (await hashIn(auditFile(this.#directory, file).path, records));
    if (hash !== undefined) this.#found.set(key, hash);
    return hash;
  }
}

/** Returns the hash of the record with a number; undefined if it is not in the file. */
async function hashIn(path: string, records: number): Promise<string | undefined> {
  try {
    const from = await lastLineWith(path, ({ n }) => n <= records);
    for await (const { bytes, isWhole } of readLines(path, from)) {
      const n = headOf(bytes)?.n;
      if (!isWhole || (n !== undefined && n > records)) return undefined;
      if (n === records) return lineHash(bytes);
    }
    return undefined;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Returns the key (SPKI, base64) with which the newest file begins; undefined if there is no record. */
export async function newestKey(files: readonly AuditFile[]): Promise<string | undefined> {
  for (const { path } of files.toReversed()) {
    for await (const { bytes, isWhole } of readLines(path)) {
      const line = isWhole ? parseLine(bytes) : undefined;
      if (typeof line === 'object' && line.kind === 'open') return line.publicKey;
      break;
    }
  }
  return undefined;
}
