import { sql, type Expression, type SqlBool, type Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import type { IdentityTokenRow } from '../tables/certificates.ts';
import type { RevokedClientRow } from '../tables/clients.ts';
import type { RevocationRow } from '../tables/revocation.ts';
import type { CountedKey, LockRule } from './attempts.ts';
import { revokeCertificates } from './clients.ts';
import { endIdentityKey } from './identity-keys.ts';
import { noteDestruction } from './key-journal.ts';
import { endedStates } from './keys.ts';
import { holdReason } from '../tables/revocation.ts';
import { noteRevision, releaseKey, revokeKey } from './revocations.ts';

/*
 * Repeats changes on a store that was restored from a backup (docs/audit.md, "A state store that is
 * older"). Each operation may be applied again where it was already applied, and none restores
 * anything that is permanently gone.
 */

/**
 * Revokes a certificate or puts it on hold, whether the store knows it or not, together with its
 * key.
 */
export async function revokeAgain(
  db: Transaction<Schema>,
  { sha1, ...revocation }: RevocationRow & { readonly sha1: string | undefined },
): Promise<void> {
  const { authority, reason, revoked_at: revokedAt } = revocation;
  await db
    .insertInto('revocations')
    .values(revocation)
    .onConflict((conflict) =>
      conflict
        .columns(['authority', 'serial_number'])
        .doUpdateSet({ reason, revoked_at: revokedAt })
        .where('revocations.reason', '=', holdReason),
    )
    .execute();
  if (sha1 !== undefined) await revokeKey(db, sha1, reason);
  await noteRevision(db, authority);
}

/** Releases a certificate from hold. */
export async function releaseAgain(
  db: Transaction<Schema>,
  { sha1, authority, serialNumber }: { sha1: string | undefined; authority: string; serialNumber: string },
): Promise<void> {
  const row = await db
    .deleteFrom('revocations')
    .where('authority', '=', authority)
    .where('serial_number', '=', serialNumber)
    .where('reason', '=', holdReason)
    .returning('authority')
    .executeTakeFirst();
  if (row === undefined) return;
  if (sha1 !== undefined) await releaseKey(db, sha1);
  await noteRevision(db, authority);
}

/**
 * Ends a key that was removed or used up: the next start destroys its private key, if it exists.
 */
export async function endKeyAgain(
  db: Transaction<Schema>,
  { reference, state, now }: { reference: string; state: 'CONSUMED' | 'REMOVED'; now: number },
): Promise<void> {
  const row = await db
    .updateTable('keys')
    .set({ state })
    .where('reference', '=', reference)
    .where('state', 'not in', endedStates)
    .returning('key_id')
    .executeTakeFirst();
  if (row !== undefined) await noteDestruction(db, row.key_id, now);
}

/** Counts failed attempts on a key. */
export async function countFailuresAgain(
  db: Transaction<Schema>,
  { reference, table = 'keys', failures, rule: { failuresInRow, lockMs, now } }: CountedKey & { failures: number; rule: LockRule },
): Promise<void> {
  await db
    .updateTable(table)
    .set({
      failures_in_row: sql<number>`failures_in_row + ${sql.lit(failures)}`,
      failures_since_success: sql<number>`failures_since_success + ${sql.lit(failures)}`,
      locked_until: sql<number | null>`(case
        when failures_in_row + ${sql.lit(failures)} >= ${sql.lit(failuresInRow)} then cast(${sql.lit(now + lockMs)} as bigint)
        else locked_until end)`,
    })
    .where('reference', '=', reference)
    .execute();
}

/** Locks the key until an operator unlocks it. */
export async function lockForOperator(
  db: Transaction<Schema>,
  { reference, table = 'keys', failuresSinceSuccess }: CountedKey & { failuresSinceSuccess: number },
): Promise<void> {
  await db
    .updateTable(table)
    .set({ failures_since_success: failuresSinceSuccess })
    .where('reference', '=', reference)
    .where('failures_since_success', '<', failuresSinceSuccess)
    .execute();
}

/** Removes the key of a digital identity: the next start destroys its private key, if it exists. */
export async function removeIdentityAgain(db: Transaction<Schema>, { reference, now }: { reference: string; now: number }): Promise<void> {
  const keyId = await endIdentityKey(db, reference);
  if (keyId !== undefined) await noteDestruction(db, keyId, now);
}

/**
 * Protects the private key of a lost record: it is neither given to another record nor taken for an
 * interrupted creation.
 */
export async function leaveKeyAlone(db: Transaction<Schema>, keyId: string): Promise<void> {
  await db.deleteFrom('key_pool').where('key_id', '=', keyId).execute();
  await db.deleteFrom('key_journal').where('key_id', '=', keyId).where('intent', '=', 'CREATE').execute();
}

export async function useIdentityTokenAgain(db: Transaction<Schema>, token: IdentityTokenRow): Promise<void> {
  await db
    .insertInto('identity_tokens')
    .values(token)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
}

/**
 * Revokes a client at the time of its revocation, whether the store knows it or not.
 * @param spki the first digits of the SHA-256 of its public key
 * @param revoked with the whole SHA-256, or its first 16 digits where the log does not say more
 */
export async function revokeClientAgain(
  db: Transaction<Schema>,
  { spki, revoked }: { readonly spki: string; readonly revoked: RevokedClientRow },
): Promise<void> {
  const [row] = await db.deleteFrom('clients').where(beginsWith(spki)).returningAll().execute();
  const before = await db.deleteFrom('revoked_clients').where(beginsWith(spki)).returningAll().execute();
  const known = row === undefined ? revoked : { ...revoked, registered_at: row.created_at, not_after: row.not_after ?? revoked.not_after };
  // Another instance may have revoked it later.
  const last = before.reduce((newest, one) => (one.revoked_at > newest.revoked_at ? one : newest), known);
  const keys = [row, ...before].flatMap((one) => one?.spki_sha256 ?? []);
  const longest = keys.reduce((longer, key) => (key.length > longer.length ? key : longer), revoked.spki_sha256);
  await db
    .insertInto('revoked_clients')
    .values({ ...last, spki_sha256: longest })
    .execute();
  await revokeCertificates(db, { spkiSha256: longest, now: last.revoked_at });
}

/**
 * Forgets that a key was revoked, since it was registered again later.
 * @param before its registration, milliseconds since the epoch
 */
export async function forgetRevocation(
  db: Transaction<Schema>,
  { spki, before }: { readonly spki: string; readonly before: number },
): Promise<void> {
  await db.deleteFrom('revoked_clients').where(beginsWith(spki)).where('revoked_at', '<', before).execute();
}

function beginsWith(spki: string): Expression<SqlBool> {
  return sql<SqlBool>`substr(spki_sha256, 1, ${sql.lit(spki.length)}) = ${spki}`;
}

/** Deletes all one-time passwords. */
export async function dropOtps(db: Transaction<Schema>): Promise<void> {
  await db.deleteFrom('otps').execute();
}

/** A retired authority, after whose last CRL none follows. */
export interface LastCrl {
  readonly authority: string;
  /** Its last CRL ends then or later, and no other one does: milliseconds since epoch. */
  readonly endsAt: number;
}

/**
 * Withdraws the published CRLs, which may be older than CRLs published since: none is served before
 * the next one, whose number is at least `least`. The last CRLs of retired authorities stay, since
 * none has followed, and there may be no key to issue another with.
 */
export async function withdrawCrls(
  db: Transaction<Schema>,
  { least, last }: { readonly least: number; readonly last: readonly LastCrl[] },
): Promise<void> {
  const published = await db.selectFrom('crl_states').select(['authority', 'next_update']).execute();
  const kept = published.filter(({ authority, next_update: ends }) =>
    last.some((one) => one.authority === authority && ends !== null && ends >= one.endsAt),
  );
  await db
    .deleteFrom('crls')
    .$if(kept.length > 0, (rows) =>
      rows.where(
        'authority',
        'not in',
        kept.map(({ authority }) => authority),
      ),
    )
    .execute();
  await db
    .updateTable('crl_states')
    .set({
      revision: sql<number>`revision + 1`,
      number: sql<number>`case when number < ${sql.lit(least)} then ${sql.lit(least)} else number end`,
    })
    .execute();
}
