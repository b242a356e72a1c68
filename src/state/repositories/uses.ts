import type { Transaction } from 'kysely';
import { Fault } from '../../faults.ts';
import type { Schema } from '../schema.ts';
import type { OtpRow, Sealed } from '../tables/keys.ts';
import {
  giveBackAttempt,
  recordFailure,
  recordSuccess,
  reserveAttempt,
  type CountedKey,
  type Counters,
  type Holding,
  type LockRule,
} from './attempts.ts';
import { changeKeyState } from './keys.ts';
import { reserveOtp, settleOtp, type OtpFate, type WantedOtp } from './otps.ts';

/** A reservation to be made before the token is asked. */
export interface UseReservation extends CountedKey {
  readonly rule: LockRule;
  /** When the reservation expires, milliseconds since epoch. */
  readonly until: number;
  /** States of the key that allow this use. */
  readonly states: readonly string[];
  /** Maximum number of attempts on the key in flight, over all instances. */
  readonly atOnce: number;
  /** The open one-time password that is also reserved. */
  readonly otp?: WantedOtp | undefined;
}

/**
 * Reserves an attempt, and the open one-time password that the secret may match, in one commit.
 * Undefined if other attempts hold them, or the key is not in use, is locked, or has no attempts
 * left. `no data`: there is no such activation data, so nothing is reserved.
 */
export async function reserveUse(
  db: Transaction<Schema>,
  use: UseReservation,
): Promise<{ otp: OtpRow | undefined } | 'no data' | undefined> {
  const { reference, table, otp: wanted, rule, until, states, atOnce } = use;
  const otp = wanted === undefined ? undefined : await reserveOtp(db, { reference, wanted, now: rule.now, until });
  if (otp === 'busy') return undefined;
  if (otp === undefined && wanted !== undefined && 'otpId' in wanted) return 'no data';
  if (await reserveAttempt(db, { reference, table, rule, until, states, atOnce })) return { otp };
  if (otp !== undefined) await settleOtp(db, { otpId: otp.otp_id, fate: 'kept' });
  return undefined;
}

/** A change of the key that is committed with the attempt that allows it. */
export type KeyChange =
  /** The key ends: its destruction on the token is announced. */
  | { readonly kind: 'end'; readonly to: 'CONSUMED' | 'REMOVED'; readonly from: readonly string[] }
  | {
      readonly kind: 'password';
      readonly from: readonly string[];
      readonly replaces: Uint8Array;
      readonly salt: Uint8Array;
      readonly mac: Uint8Array;
      readonly stretched: number;
      readonly seal: Sealed;
    };

export interface UseSettlement extends CountedKey {
  readonly rule: LockRule;
  /** True if the attempt was counted in the store. */
  readonly reserved: boolean;
  /** `fault`: the service itself failed, and the attempt does not count. */
  readonly verdict: 'right' | 'wrong' | 'fault';
  readonly otp?: { readonly otpId: string; readonly fate: OtpFate } | undefined;
  readonly change?: KeyChange | undefined;
  /** Conditions that must still hold for a right secret to count. */
  readonly holding?: Holding | undefined;
  /** Whether a right secret resets the key's count of failures. Default: it does. */
  readonly setsBack?: boolean | undefined;
}

/**
 * Settles an attempt: counters, one-time password and the requested change, in one commit. Returns
 * the counters; none after a fault.
 * @throws {Fault} USE_LOST; nothing of the commit is done
 */
export async function settleUse(db: Transaction<Schema>, settlement: UseSettlement): Promise<Counters | undefined> {
  const { reference, table, rule, reserved, verdict, otp, change, holding, setsBack = true } = settlement;
  if (otp !== undefined && !(await settleOtp(db, otp))) throw new Fault('USE_LOST');
  if (verdict === 'fault') {
    if (reserved) await giveBackAttempt(db, { reference, table });
    return undefined;
  }
  if (verdict === 'wrong') return recordFailure(db, { reference, table, rule, reserved });
  const counters = await recordSuccess(db, { reference, table, rule, reserved, holding, setsBack });
  if (counters === undefined) throw new Fault('USE_LOST');
  if (change !== undefined && !(await changeKey(db, { reference, table }, rule.now, change))) throw new Fault('USE_LOST');
  return counters;
}

async function changeKey(
  db: Transaction<Schema>,
  { reference, table = 'keys' }: CountedKey,
  now: number,
  change: KeyChange,
): Promise<boolean> {
  const { from } = change;
  if (change.kind === 'end') {
    if (table !== 'keys') throw new Error('only operators end the keys of identities');
    return changeKeyState(db, { reference, from, to: change.to, destroys: true, now });
  }
  const row = await db
    .updateTable(table)
    .set({
      ...{ secret_salt: change.salt, secret_mac: change.mac, secret_stretched: change.stretched, secret_former_mac: null },
      ...change.seal,
    })
    .where('reference', '=', reference)
    .where('state', 'in', from)
    .where((where) => where.or([where('secret_mac', '=', change.replaces), where('secret_former_mac', '=', change.replaces)]))
    .returning('key_id')
    .executeTakeFirst();
  if (row === undefined) return false;
  // What the old password has authorised ends with it.
  await db.deleteFrom('otps').where('reference', '=', reference).where('signatures', 'is not', null).execute();
  return true;
}

/**
 * Ends all reservations when the only process that uses the store starts: they were lost with the
 * previous one.
 */
export async function endReservations(db: Transaction<Schema>): Promise<void> {
  for (const table of ['keys', 'identity_keys'] as const)
    await db.updateTable(table).set({ reserved: 0, reserved_until: null }).where('reserved', '>', 0).execute();
  await db.updateTable('otps').set({ reserved_until: null }).where('reserved_until', 'is not', null).execute();
}
