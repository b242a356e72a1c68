import { sql, type Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import type { OtpRow } from '../tables/keys.ts';

/**
 * A newer one-time password replaces the older one for the same key and action. Those that have
 * ended go too.
 */
export async function putOtp(db: Transaction<Schema>, { otp, now }: { otp: OtpRow; now: number }): Promise<void> {
  await db
    .deleteFrom('otps')
    .where((where) => where.or([where('expires_at', '<=', now), where.and({ reference: otp.reference, action: otp.action })]))
    .execute();
  await db.insertInto('otps').values(otp).execute();
}

/**
 * Reserves the open one-time password of a key for one attempt, which counts from now on.
 * `undefined`: there is none. `busy`: another attempt has it, and settles it soon.
 */
export async function reserveOtp(
  db: Transaction<Schema>,
  { reference, action, now, until }: { reference: string; action: string; now: number; until: number },
): Promise<OtpRow | 'busy' | undefined> {
  const open = await db
    .selectFrom('otps')
    .selectAll()
    .where('reference', '=', reference)
    .where('action', '=', action)
    .where('expires_at', '>', now)
    .where('attempts_left', '>', 0)
    .executeTakeFirst();
  if (open === undefined) return undefined;
  if (open.reserved_until !== null && open.reserved_until > now) return 'busy';
  return db
    .updateTable('otps')
    .set({ attempts_left: sql<number>`attempts_left - 1`, reserved_until: until })
    .where('otp_id', '=', open.otp_id)
    .returningAll()
    .executeTakeFirst();
}

/**
 * How an attempt with a one-time password ended. `kept`: it was not the one that was given, or it
 * is not used up by this.
 */
export type OtpFate = 'used' | 'failed' | 'kept';

/**
 * False where it was to be used up, and is gone: it was replaced meanwhile, or another attempt used
 * it.
 */
export async function settleOtp(db: Transaction<Schema>, { otpId, fate }: { otpId: string; fate: OtpFate }): Promise<boolean> {
  if (fate === 'used') {
    const row = await db.deleteFrom('otps').where('otp_id', '=', otpId).returning('otp_id').executeTakeFirst();
    return row !== undefined;
  }
  if (fate === 'failed') await db.deleteFrom('otps').where('otp_id', '=', otpId).where('attempts_left', '<=', 0).execute();
  await db
    .updateTable('otps')
    .set({ reserved_until: null, ...(fate === 'kept' ? { attempts_left: sql<number>`attempts_left + 1` } : {}) })
    .where('otp_id', '=', otpId)
    .execute();
  return true;
}
