import { sql, type DeleteQueryBuilder, type DeleteResult, type RawBuilder, type Selectable, type Transaction } from 'kysely';
import { Fault } from '../../faults.ts';
import type { Schema } from '../schema.ts';
import type { KeptAnswerPartRow, KeptAnswerRow } from '../tables/kept-answers.ts';
import { isSealingKey } from './sealing-keys.ts';
import { countKeptBytes, isOfTenant, keptBytes, type KeptBytes } from './kept-bytes.ts';

/** A claim on a request, and when it expires. Times are milliseconds since epoch. */
export interface Claim {
  readonly id: string;
  readonly fingerprint: Uint8Array;
  readonly claim: string;
  readonly until: number;
  readonly now: number;
  readonly client: string;
  /** Counter of the instance. */
  readonly counter: string;
  /** Limits on the bytes already kept. */
  readonly room: KeptBytes;
  /** CKA_ID of the key from which the identifier is derived. */
  readonly sealedBy: string;
  /** Identifiers of the same request under former keys. */
  readonly formerIds: readonly string[];
}

/**
 * The limit that is reached, of the client, of its tenant or of all clients, and when the oldest of
 * their kept answers expires.
 */
export interface NoRoom {
  readonly full: keyof KeptBytes;
  readonly until: number;
}

/**
 * Claims a request without a claim or a kept answer, if there is room for one. Otherwise returns
 * the existing row, which may be that of a former key. `other key`: the key was replaced, so the
 * caller must derive the identifiers again. Expired rows are ignored: a claim whose instance died, an answer past its time,
 * an answer whose one-time password is no longer open.
 */
export async function claimAnswer(
  db: Transaction<Schema>,
  claim: Claim,
): Promise<'claimed' | 'other key' | NoRoom | Selectable<KeptAnswerRow>> {
  // All instances agree on the key, so two of them never claim one request under different keys.
  if (!(await isSealingKey(db, claim.sealedBy))) return 'other key';
  for (const id of claim.formerIds) {
    const row = await db.selectFrom('kept_answers').selectAll().where('id', '=', id).executeTakeFirst();
    if (row === undefined) continue;
    const ended = db.deleteFrom('kept_answers').where('id', '=', id).where(hasEnded(claim.now));
    if ((await forget(db, claim.counter, ended)) === 0) return row;
  }
  if (!(await inserted(db, claim))) {
    const ended = db.deleteFrom('kept_answers').where('id', '=', claim.id).where(hasEnded(claim.now));
    if ((await forget(db, claim.counter, ended)) === 0) {
      return db.selectFrom('kept_answers').selectAll().where('id', '=', claim.id).executeTakeFirstOrThrow();
    }
    await inserted(db, claim);
  }
  const { room, client } = claim;
  const kept = await keptBytes(db, client);
  const full = (['client', 'tenant', 'all'] as const).find((whose) => kept[whose] >= room[whose]);
  if (full === undefined) return 'claimed';
  await releaseClaim(db, claim);
  const first = db.selectFrom('kept_answers').select('ends_at').where('claim', 'is', null).orderBy('ends_at').limit(1);
  const those = { client: first.where('client', '=', client), tenant: first.where(isOfTenant(client)), all: first };
  const row = await those[full].executeTakeFirst();
  return { full, until: row?.ends_at ?? claim.now };
}

/** Inserts a claim. Returns false if there is a row that has not expired, or that has an answer. */
async function inserted(db: Transaction<Schema>, { id, fingerprint, claim, until, now, client, sealedBy }: Claim): Promise<boolean> {
  const fields = { fingerprint, claim, answer: null, parts: null, ends_at: until, while_otp: null, client, bytes: 0, sealed_by: sealedBy };
  const row = await db
    .insertInto('kept_answers')
    .values({ id, ...fields })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet(fields).where('kept_answers.ends_at', '<=', now).where('kept_answers.claim', 'is not', null),
    )
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/** Deletes rows and subtracts their bytes. Returns the number of rows. */
async function forget(
  db: Transaction<Schema>,
  counter: string,
  deletion: DeleteQueryBuilder<Schema, 'kept_answers', DeleteResult>,
): Promise<number> {
  const rows = await deletion.returning(['client', 'bytes']).execute();
  const sums = new Map<string, number>();
  for (const { client, bytes } of rows) sums.set(client, (sums.get(client) ?? 0) - bytes);
  await countKeptBytes(db, counter, sums);
  return rows.length;
}

function hasEnded(now: number): RawBuilder<boolean> {
  return sql<boolean>`(kept_answers.ends_at <= ${now} or (kept_answers.while_otp is not null
    and not exists (select 1 from otps where otps.otp_id = kept_answers.while_otp)))`;
}

/** Stores a part of a large answer, for `keepAnswer` to name. */
export async function addAnswerPart(db: Transaction<Schema>, part: KeptAnswerPartRow): Promise<void> {
  await db.insertInto('kept_answer_parts').values(part).execute();
}

export async function findAnswerPart(
  db: Transaction<Schema>,
  { id, claim, part }: Omit<KeptAnswerPartRow, 'bytes'>,
): Promise<Uint8Array | undefined> {
  const parts = db.selectFrom('kept_answer_parts').select('bytes').where('id', '=', id).where('claim', '=', claim);
  return (await parts.where('part', '=', part).executeTakeFirst())?.bytes;
}

/**
 * An answer and the claim that it belongs to. `whileOtp`: the answer is worthless without this
 * one-time password.
 */
export interface AnswerToKeep extends Pick<KeptAnswerRow, 'id' | 'answer' | 'parts' | 'bytes'> {
  readonly claim: string;
  readonly until: number;
  readonly whileOtp?: string | null | undefined;
  /** Of the instance that counts. */
  readonly counter: string;
}

/**
 * Keeps the answer of a claimed request: one step of the commit that makes the change it reports.
 * @throws {Fault} CLAIM_LOST if the claim has expired and another instance has the request, so that
 *   nothing is committed
 */
export async function keepAnswer(
  db: Transaction<Schema>,
  { id, claim, answer, parts, bytes, until, whileOtp = null, counter }: AnswerToKeep,
): Promise<void> {
  const row = await db
    .updateTable('kept_answers')
    .set({ claim: null, answer, parts, bytes, ends_at: until, while_otp: whileOtp })
    .where('id', '=', id)
    .where('claim', '=', claim)
    .returning('client')
    .executeTakeFirst();
  if (row === undefined) throw new Fault('CLAIM_LOST');
  await countKeptBytes(db, counter, new Map([[row.client, bytes]]));
}

/**
 * Releases the claim of a request that ended with no answer to keep: the next one with its key runs
 * anew. Returns false if the claim had expired.
 */
export async function releaseClaim(db: Transaction<Schema>, { id, claim }: { id: string; claim: string }): Promise<boolean> {
  const row = await db.deleteFrom('kept_answers').where('id', '=', id).where('claim', '=', claim).returning('id').executeTakeFirst();
  return row !== undefined;
}

/** Renews the claims of requests that are still running. */
export async function renewClaims(db: Transaction<Schema>, { claims, until }: { claims: readonly string[]; until: number }): Promise<void> {
  if (claims.length === 0) return;
  await db.updateTable('kept_answers').set({ ends_at: until }).where('claim', 'in', claims).execute();
}

/** Ends all claims when the only process that uses the store starts: their owners are gone. */
export async function endAllClaims(db: Transaction<Schema>): Promise<void> {
  await db.deleteFrom('kept_answers').where('claim', 'is not', null).execute();
}

/** Deletes expired rows, up to a limit. Returns the number of rows. */
export async function deleteEndedAnswers(
  db: Transaction<Schema>,
  { now, limit, counter }: { now: number; limit: number; counter: string },
): Promise<number> {
  const ended = db.selectFrom('kept_answers').select('id').where('ends_at', '<=', now).limit(limit);
  return forget(db, counter, db.deleteFrom('kept_answers').where('id', 'in', ended).where('ends_at', '<=', now));
}

/**
 * Deletes parts whose answer has expired or was never kept, up to a limit. Returns the number of
 * parts.
 */
export async function deleteLooseParts(db: Transaction<Schema>, { limit }: { limit: number }): Promise<number> {
  const { rows } = await sql`
    delete from kept_answer_parts where (id, claim, part) in (
      select id, claim, part from kept_answer_parts as loose where not exists (
        select 1 from kept_answers as kept where kept.id = loose.id and (kept.claim = loose.claim or kept.parts = loose.claim)
      ) limit ${limit}
    ) returning part`.execute(db);
  return rows.length;
}
