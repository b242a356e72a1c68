import { derivedSecret, type TokenMac } from './part-cipher.ts';

/** A key on the token that rows of the state store are sealed with. */
export interface SealingKey {
  /** CKA_ID, hexadecimal. */
  readonly id: string;
  readonly mac: TokenMac;
}

/**
 * The key that new rows are sealed with, and the former ones that have sealed something that is
 * left.
 */
export interface KeysInUse {
  readonly current: SealingKey;
  /** The newest first. */
  readonly former: readonly SealingKey[];
}

export interface SealingKeys {
  /**
   * Does work with the keys in use, and once more if the current one is meanwhile gone from the
   * token and another instance has made the next.
   * @throws {TokenUnavailable}
   */
  using<T>(work: (keys: KeysInUse) => Promise<T>): Promise<T>;
  /** Reads the keys anew: another instance has replaced the current one. */
  reread(): Promise<void>;
}

/** Returns the identifier of a row that the message names. */
export async function sealedId(message: Uint8Array, { mac }: SealingKey): Promise<string> {
  return derivedSecret(await mac(message), 'id').toString('hex');
}
