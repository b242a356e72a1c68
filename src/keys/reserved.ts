import { randomBytes } from 'node:crypto';
import type { OtpRow } from '../state/tables/keys.ts';
import type { Proof, SecretKind } from '../token/token.ts';
import type { GivenSecret, OtpAction } from './credentials.ts';
import { bindingOf, type DigestBinding } from './digest-binding.ts';
import type { KeyRecord, StoredSecret } from './key-record.ts';

declare const purposeOf: unique symbol;

/** A secret that the given one may be. */
export interface PossibleSecret extends Proof {
  /** The documents that this one allows, where it allows fewer than the key. */
  readonly binding: DigestBinding;
}

/**
 * A counted attempt: the key, what the given secret may be, and the transaction. Only activation makes one, and only with one can a caller's
 * key be used, so that a key used without its secret does not compile.
 */
export interface Reserved<P extends OtpAction> {
  readonly [purposeOf]: P;
  readonly key: KeyRecord;
  /** The key's own secret that the candidates were made of; the record may have another by the time that the token answers. */
  readonly own: StoredSecret | undefined;
  readonly candidates: readonly PossibleSecret[];
  readonly also: Proof | undefined;
}

export const otpKinds = {
  SIGN: 'OTP_SIGN',
  CHANGE_PASSWORD: 'OTP_CHANGE_PASSWORD',
  REVOKE: 'OTP_REVOKE',
} as const satisfies Record<OtpAction, SecretKind>;

export interface Attempting {
  readonly key: KeyRecord;
  /** The key's own secret as it was when the attempt began. */
  readonly own: StoredSecret | undefined;
  readonly given: GivenSecret;
  readonly action: OtpAction;
  /** The key's own password as its MAC was made of it. */
  readonly ownSecret: Uint8Array;
  /** The one-time password that is open for the action. `undefined`: none is; `unasked`: nobody looked, since the key's own password is given. */
  readonly otp: OtpRow | undefined | 'unasked';
}

/** For activation alone. A one-time password that is not there is compared all the same, so that the time does not tell. */
export function reserve<P extends OtpAction>({ key, own, given, action, ownSecret, otp }: Attempting): Reserved<P> {
  const candidates: PossibleSecret[] = [];
  if (given.member === 'transactionId') {
    const alone = {
      key,
      own,
      candidates: [{ ...transactionOf(key, given.transactionId), binding: undefined }],
      also: undefined,
    };
    return alone as Omit<Reserved<P>, typeof purposeOf> as Reserved<P>;
  }
  if (given.member === 'authToken') {
    candidates.push({ ...proof('AUTH_TOKEN', own, given.bytes), binding: undefined });
  } else {
    if (key.protocol === 'PASSWORD') candidates.push({ ...proof('PASSWORD', own, ownSecret), binding: undefined });
    if (otp !== 'unasked') {
      const stored = otp === undefined ? undefined : { salt: otp.salt, mac: otp.mac };
      candidates.push({ ...proof(otpKinds[action], stored, given.bytes), binding: bindingOf(otp?.bound_digests ?? null) });
    }
  }
  const attempt: Omit<Reserved<P>, typeof purposeOf> = { key, own, candidates, also: transactionProof(key, given.transactionId) };
  return attempt as Reserved<P>;
}

/** Undefined where the key is tied to no transaction and none is given; whatever else does not fit fails on the token. */
function transactionProof({ transaction }: KeyRecord, given: string | undefined): Proof | undefined {
  if (transaction === undefined && given === undefined) return undefined;
  return transactionOf({ transaction }, given);
}

/** One that was not given is none that could be right. */
function transactionOf({ transaction }: Pick<KeyRecord, 'transaction'>, given: string | undefined): Proof {
  return proof('TRANSACTION', given === undefined ? undefined : transaction, Buffer.from(given ?? ''));
}

/** Without a stored secret, one that nothing verifies. */
function proof(kind: SecretKind, stored: StoredSecret | undefined, secret: Uint8Array): Proof {
  return { kind, salt: stored?.salt ?? randomBytes(16), mac: stored?.mac ?? randomBytes(32), secret };
}
