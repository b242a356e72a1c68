import { sql, type Transaction } from 'kysely';
import { Fault } from '../../faults.ts';
import type { Schema } from '../schema.ts';
import type { SignatureSessionPartRow, SignatureSessionRow } from '../tables/signature-sessions.ts';

/** What may be open at the same time. */
export interface SessionLimits {
  readonly openMaxPerClient: number;
  readonly openMaxPerTenant: number;
  /** Bytes of content that sessions hold, all of them and those of one tenant. */
  readonly spoolMaxBytes: number;
  readonly spoolMaxBytesPerTenant: number;
}

/** Which limit a session would pass. */
export type SessionRefusal = keyof SessionLimits;

export interface NewSession {
  readonly session: SignatureSessionRow;
  /**
   * What there is of it already; the rest follows with `addSessionPart`, unless `stored` says that
   * this is all.
   */
  readonly parts: readonly SignatureSessionPartRow[];
  readonly limits: SessionLimits;
  readonly now: number;
}

/**
 * Stores a session, unless it would pass a limit: then answers which. Sessions that have ended do
 * not count.
 */
export async function addSession(
  db: Transaction<Schema>,
  { session, parts, limits, now }: NewSession,
): Promise<SessionRefusal | undefined> {
  const refusal = (await tooMany(db, session, limits, now)) ?? (await tooMuch(db, session, limits, now));
  if (refusal !== undefined) return refusal;
  await db.insertInto('signature_sessions').values(session).execute();
  for (const part of parts) await addSessionPart(db, part);
  return undefined;
}

async function tooMany(
  db: Transaction<Schema>,
  { tenant, client }: SignatureSessionRow,
  limits: SessionLimits,
  now: number,
): Promise<SessionRefusal | undefined> {
  const open = await db
    .selectFrom('signature_sessions')
    .select(({ fn }) => fn.countAll<number | string>().as('all'))
    .select(sql<number | string | null>`sum(case when client = ${client} then 1 else 0 end)`.as('own'))
    .where('tenant', '=', tenant)
    .where('ends_at', '>', now)
    .executeTakeFirstOrThrow();
  if (Number(open.own ?? 0) >= limits.openMaxPerClient) return 'openMaxPerClient';
  return Number(open.all) >= limits.openMaxPerTenant ? 'openMaxPerTenant' : undefined;
}

async function tooMuch(
  db: Transaction<Schema>,
  { tenant, spooled_bytes: bytes }: SignatureSessionRow,
  limits: SessionLimits,
  now: number,
): Promise<SessionRefusal | undefined> {
  if (bytes === 0) return undefined;
  const spooled = await db
    .selectFrom('signature_sessions')
    .select(sql<number | string | null>`sum(spooled_bytes)`.as('all'))
    .select(sql<number | string | null>`sum(case when tenant = ${tenant} then spooled_bytes else 0 end)`.as('own'))
    .where('spooled_bytes', '>', 0)
    .where('ends_at', '>', now)
    .executeTakeFirstOrThrow();
  if (Number(spooled.own ?? 0) + bytes > limits.spoolMaxBytesPerTenant) return 'spoolMaxBytesPerTenant';
  return Number(spooled.all ?? 0) + bytes > limits.spoolMaxBytes ? 'spoolMaxBytes' : undefined;
}

export async function addSessionPart(db: Transaction<Schema>, part: SignatureSessionPartRow): Promise<void> {
  await db.insertInto('signature_session_parts').values(part).execute();
}

/**
 * All parts are there: from this commit on the session can be completed. False where it has ended
 * meanwhile.
 */
export async function sessionStored(db: Transaction<Schema>, { id, endsAt }: { id: string; endsAt: number }): Promise<boolean> {
  const row = await db
    .updateTable('signature_sessions')
    .set({ stored: 1, ends_at: endsAt })
    .where('id', '=', id)
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/** A session that can be completed. */
export async function findSession(
  db: Transaction<Schema>,
  { id, now }: { id: string; now: number },
): Promise<SignatureSessionRow | undefined> {
  return db
    .selectFrom('signature_sessions')
    .selectAll()
    .where('id', '=', id)
    .where('stored', '=', 1)
    .where('ends_at', '>', now)
    .executeTakeFirst();
}

export async function findSessionPart(
  db: Transaction<Schema>,
  { id, item, part }: Omit<SignatureSessionPartRow, 'bytes'>,
): Promise<Uint8Array | undefined> {
  const parts = db.selectFrom('signature_session_parts').select('bytes').where('id', '=', id).where('item', '=', item);
  return (await parts.where('part', '=', part).executeTakeFirst())?.bytes;
}

/**
 * Ends a session: one step of the commit that keeps what came of it. The parts of a small one go
 * with it; those of others are swept.
 * @throws {Fault} SESSION_ENDED if it has ended before, so that the commit does nothing
 */
export async function closeSession(db: Transaction<Schema>, { id, now }: { id: string; now: number }): Promise<void> {
  const row = await db
    .deleteFrom('signature_sessions')
    .where('id', '=', id)
    .where('stored', '=', 1)
    .where('ends_at', '>', now)
    .returning('spooled_bytes')
    .executeTakeFirst();
  if (row === undefined) throw new Fault('SESSION_ENDED');
  if (row.spooled_bytes === 0) await db.deleteFrom('signature_session_parts').where('id', '=', id).execute();
}

/**
 * Deletes a session that did not come to be, or sessions that have ended, some at a time. Returns
 * how many.
 */
export async function deleteEndedSessions(db: Transaction<Schema>, { now, limit }: { now: number; limit: number }): Promise<number> {
  const ended = db.selectFrom('signature_sessions').select('id').where('ends_at', '<=', now).limit(limit);
  const rows = await db.deleteFrom('signature_sessions').where('id', 'in', ended).where('ends_at', '<=', now).returning('id').execute();
  return rows.length;
}

export async function dropSession(db: Transaction<Schema>, id: string): Promise<void> {
  await db.deleteFrom('signature_sessions').where('id', '=', id).execute();
}

/** Deletes parts whose session is gone, some at a time. Returns how many. */
export async function deleteLooseSessionParts(db: Transaction<Schema>, { limit }: { limit: number }): Promise<number> {
  const { rows } = await sql`
    delete from signature_session_parts where (id, item, part) in (
      select id, item, part from signature_session_parts as loose
      where not exists (select 1 from signature_sessions as open where open.id = loose.id) limit ${limit}
    ) returning part`.execute(db);
  return rows.length;
}
