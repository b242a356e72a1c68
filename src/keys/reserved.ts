import type { Proof } from '../token/token.ts';
import type { KeyRecord } from './key-record.ts';

declare const purposeOf: unique symbol;

/** What a secret is given for. */
export type Purpose = 'SIGN' | 'REVOKE';

/**
 * A counted attempt: the key, and the secret with the MAC to verify it by. Only activation makes one, and only with one can a caller's
 * key be used, so that a key used without its secret does not compile.
 */
export interface Reserved<P extends Purpose> {
  readonly [purposeOf]: P;
  readonly key: KeyRecord;
  readonly proof: Proof;
}

/** For activation alone. */
export function reserve<P extends Purpose>(key: KeyRecord, secret: Uint8Array): Reserved<P> {
  return { key, proof: { kind: 'PASSWORD', salt: key.secret.salt, secret, mac: key.secret.mac } } as Reserved<P>;
}
