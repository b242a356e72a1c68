import { createHash } from 'node:crypto';
import { windowsBetween, type ByteSource } from '../../../asn1/byte-source.ts';
import type { HashName } from '../../../token/signature-algorithm.ts';
import type { CoveredRange } from './covered-range.ts';

/** A digest that is needed. */
export interface WantedDigest {
  readonly range: CoveredRange;
  readonly hash: HashName;
}

/**
 * Digests of what signatures cover. All that are announced are made in one pass for each hash:
 * ranges begin at the first byte, so that each goes on from a copy of what the file has before its
 * hole. The file is read in windows.
 */
export class RangeDigests {
  readonly #source: ByteSource;
  readonly #wanted: readonly WantedDigest[];
  readonly #made = new Map<string, Uint8Array>();

  constructor(source: ByteSource, wanted: readonly WantedDigest[]) {
    this.#source = source;
    this.#wanted = wanted;
  }

  digest(range: CoveredRange, hash: HashName): Uint8Array {
    const key = keyOf({ range, hash });
    if (!this.#made.has(key)) this.#pass(hash, [...this.#wanted, { range, hash }]);
    const made = this.#made.get(key);
    if (made === undefined) throw new Error('a digest was not made');
    return made;
  }

  #pass(name: HashName, wanted: readonly WantedDigest[]): void {
    const running = createHash(name);
    let at = 0;
    const ofHash = wanted.filter(({ hash }) => hash === name).toSorted((one, other) => one.range.start - other.range.start);
    for (const { range } of ofHash) {
      const key = keyOf({ range, hash: name });
      if (this.#made.has(key)) continue;
      for (const piece of windowsBetween(this.#source, at, range.start)) running.update(piece);
      at = range.start;
      const digest = running.copy();
      for (const piece of windowsBetween(this.#source, range.end, range.stop)) digest.update(piece);
      this.#made.set(key, digest.digest());
    }
  }
}

function keyOf({ range, hash }: WantedDigest): string {
  return `${hash} ${range.start} ${range.end} ${range.stop}`;
}
