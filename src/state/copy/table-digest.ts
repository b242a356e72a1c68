import { createHash } from 'node:crypto';

/** A row as both databases return it. */
export type Row = Readonly<Record<string, unknown>>;

export interface TableSummary {
  readonly rows: number;
  /** Hexadecimal; equal for the same rows in any order. */
  readonly digest: string;
}

const modulus = 1n << 256n;

/**
 * Digest of the rows of a table in any order, since databases sort text differently: the sum of the
 * SHA-256 of all rows, modulo 2^256. It finds a row that was lost, doubled or changed, not one that
 * somebody forged.
 */
export class TableDigest {
  #rows = 0;
  #sum = 0n;

  add(row: Row): void {
    const hash = createHash('sha256');
    for (const name of Object.keys(row).toSorted()) {
      const bytes = bytesOf(row[name]);
      hash.update(`${name}:${bytes.length}:`).update(bytes);
    }
    this.#rows += 1;
    this.#sum = (this.#sum + BigInt(`0x${hash.digest('hex')}`)) % modulus;
  }

  get summary(): TableSummary {
    return { rows: this.#rows, digest: this.#sum.toString(16).padStart(64, '0') };
  }
}

/** The type and the value: a number is never the same as its text. */
function bytesOf(value: unknown): Buffer {
  if (value === null) return Buffer.from('null');
  if (typeof value === 'string') return Buffer.from(`text ${value}`);
  if (typeof value === 'number') return Buffer.from(`number ${value}`);
  if (value instanceof Uint8Array) return Buffer.concat([Buffer.from('bytes '), value]);
  throw new TypeError(`a column has a value of type ${typeof value}`);
}
