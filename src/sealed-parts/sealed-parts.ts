import type { Content } from '../documents/content.ts';
import type { StateStore } from '../state/state-store.ts';
import { cutIntoParts } from './cut.ts';
import type { PartCipher, PartPlace } from './part-cipher.ts';

/** Owner of parts; each kind has its own table in the state store. */
export type PartsOwner =
  /** A kept answer. `claim`: the claim under which its parts were stored. */
  | { readonly kind: 'answer'; readonly id: string; readonly claim: string }
  /** A signature between its two steps. */
  | { readonly kind: 'session'; readonly id: string };

export interface SealedPart extends PartPlace {
  readonly bytes: Uint8Array;
}

/** Thrown for a missing part: parts are deleted with their owner. */
export class MissingPart extends Error {
  constructor() {
    super('a sealed part is missing');
    this.name = 'MissingPart';
  }
}

/**
 * Items of any size that an owner keeps in the state store, encrypted part by part. Every instance
 * can read them.
 */
export class SealedParts {
  readonly #store: StateStore;
  readonly #owner: PartsOwner;
  readonly #cipher: PartCipher;

  constructor(store: StateStore, owner: PartsOwner, cipher: PartCipher) {
    this.#store = store;
    this.#owner = owner;
    this.#cipher = cipher;
  }

  async add({ item, part, bytes }: SealedPart): Promise<void> {
    const owner = this.#owner;
    if (owner.kind === 'session') await this.#store.run('addSessionPart', { id: owner.id, item, part, bytes });
    else await this.#store.run('addAnswerPart', { id: owner.id, claim: owner.claim, part, bytes });
  }

  /**
   * Decrypts the parts of an item in order.
   * @throws {MissingPart} if a part is missing; in a format that does not mark the last part, only
   *   if the first one is
   */
  async *open(item: number): AsyncGenerator<Uint8Array, void> {
    let endsUnsaid = false;
    for (let part = 0; ; part += 1) {
      const sealed = await this.#find({ item, part });
      if (sealed === undefined && endsUnsaid) return;
      if (sealed === undefined) throw new MissingPart();
      const { bytes, isLast } = await this.#cipher.open({ item, part }, sealed);
      yield bytes;
      if (isLast === true) return;
      endsUnsaid = isLast === undefined;
    }
  }

  async #find({ item, part }: PartPlace): Promise<Uint8Array | undefined> {
    const owner = this.#owner;
    return owner.kind === 'session'
      ? this.#store.run('findSessionPart', { id: owner.id, item, part })
      : this.#store.run('findAnswerPart', { id: owner.id, claim: owner.claim, part });
  }
}

/**
 * Encrypts an item part by part, for `SealedParts.add` or for a row of its owner.
 * @throws the errors of `cutIntoParts`
 */
export async function* sealedParts(cipher: PartCipher, item: number, pieces: readonly Content[]): AsyncGenerator<SealedPart, void> {
  let part = 0;
  for await (const { bytes, isLast } of cutIntoParts(pieces)) {
    yield { item, part, bytes: await cipher.seal({ item, part }, isLast, bytes) };
    part += 1;
  }
}
