import { sql, type Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import type { OtpRow } from '../tables/keys.ts';

/**
 * Stores a one-time password, replacing an older one for the same key and action. Activation data
 * replaces nothing. Expired ones are deleted.
 */
export async function putOtp(db: Transaction<Schema>, { otp, now }: { otp: OtpRow; now: number }): Promise<void> {
  await db
    .deleteFrom('otps')
    .where((where) =>
      where.or([
        where('expires_at', '<=', now),
        ...(otp.signatures === null ? [where.and({ reference: otp.reference, action: otp.action })] : []),
      ]),
    )
    .execute();
  await db.insertInto('otps').values(otp).execute();
}

/** Counts the activation data of a key and a client that has not expired. */
export async function countOpenData(
  db: Transaction<Schema>,
  { reference, client, now }: { reference: string; client: string; now: number },
): Promise<number> {
  const { open } = await db
    .selectFrom('otps')
    .select(({ fn }) => fn.countAll<number | string>().as('open'))
    .where('reference', '=', reference)
    .where('signatures', 'is not', null)
    .where('client', '=', client)
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow();
  return Number(open);
}

/**
 * The one-time password that an attempt is about: the only one for an action, or activation data by
 * its identifier, in one of these actions, for this client.
 */
export type WantedOtp =
  | { readonly action: string }
  | { readonly otpId: string; readonly actions: readonly string[]; readonly client: string };

/**
 * Reserves the open one-time password of a key for one attempt, which is counted now. `undefined`:
 * none is open. `busy`: another attempt has reserved it and will settle it soon.
 */
export async function reserveOtp(
  db: Transaction<Schema>,
  { reference, wanted, now, until }: { reference: string; wanted: WantedOtp; now: number; until: number },
): Promise<OtpRow | 'busy' | undefined> {
  const named = db.selectFrom('otps').selectAll().where('reference', '=', reference);
  const open = await (
    'action' in wanted
      ? named.where('action', '=', wanted.action)
      : named.where('otp_id', '=', wanted.otpId).where('action', 'in', wanted.actions).where('client', '=', wanted.client)
  )
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
 * Outcome of an attempt with a one-time password. `kept`: another secret was given, or this use
 * does not use it up.
 */
export type OtpFate = 'used' | 'failed' | 'kept';

/**
 * Settles a reserved one-time password. Returns false if it was to be used up and is gone: replaced
 * meanwhile, or used by another attempt.
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
