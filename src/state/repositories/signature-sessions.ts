import { sql, type Transaction } from 'kysely';
import { Fault } from '../../faults.ts';
import type { Schema } from '../schema.ts';
import type { SignatureSessionPartRow, SignatureSessionRow } from '../tables/signature-sessions.ts';
import { isSealingKey } from './sealing-keys.ts';

/** Limits on open sessions. */
export interface SessionLimits {
  readonly openMaxPerClient: number;
  readonly openMaxPerTenant: number;
  /** Maximum bytes of content in sessions: of all, and of one tenant. */
  readonly spoolMaxBytes: number;
  readonly spoolMaxBytesPerTenant: number;
}

/** The limit that a session would exceed. */
export type SessionRefusal = keyof SessionLimits;

export interface NewSession {
  readonly session: SignatureSessionRow;
  /**
   * The parts so far; the rest follows with `addSessionPart`, unless `stored` says that these are
   * all.
   */
  readonly parts: readonly SignatureSessionPartRow[];
  readonly limits: SessionLimits;
  readonly now: number;
}

/**
 * Stores a session, unless it would exceed a limit, which is then returned. Expired sessions do not
 * count. `other key`: the key was replaced; the session must be sealed with the present one.
 */
export async function addSession(
  db: Transaction<Schema>,
  { session, parts, limits, now }: NewSession,
): Promise<SessionRefusal | 'other key' | undefined> {
  if (session.sealed_by !== null && !(await isSealingKey(db, session.sealed_by))) return 'other key';
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
 * Marks a session as complete: from this commit on it can be used. Returns false if it has expired
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

/** Returns a complete session. */
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
 * Ends a session: one step of the commit that keeps its result. The parts of a small session are
 * deleted with it; those of others are swept later.
 * @throws {Fault} SESSION_ENDED if it has already ended, so that nothing is committed
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

/** Returns the number of open sessions and the bytes of their content, by tenant. */
export async function sessionShares(
  db: Transaction<Schema>,
  now: number,
): Promise<readonly { readonly tenant: string; readonly sessions: number; readonly bytes: number }[]> {
  const rows = await db
    .selectFrom('signature_sessions')
    .select(['tenant', sql<number | string>`count(*)`.as('sessions'), sql<number | string>`sum(spooled_bytes)`.as('bytes')])
    .where('ends_at', '>', now)
    .groupBy('tenant')
    .execute();
  return rows.map(({ tenant, sessions, bytes }) => ({ tenant, sessions: Number(sessions), bytes: Number(bytes) }));
}

/** Deletes an unfinished session, or expired sessions up to a limit. Returns the number deleted. */
export async function deleteEndedSessions(db: Transaction<Schema>, { now, limit }: { now: number; limit: number }): Promise<number> {
  const ended = db.selectFrom('signature_sessions').select('id').where('ends_at', '<=', now).limit(limit);
  const rows = await db.deleteFrom('signature_sessions').where('id', 'in', ended).where('ends_at', '<=', now).returning('id').execute();
  return rows.length;
}

/** Open sessions of a tenant. `firstEnds`, `lastEnds`: milliseconds since epoch. */
export interface SessionCount {
  readonly tenant: string;
  readonly count: number;
  readonly firstEnds: number;
  readonly lastEnds: number;
}

/** Counts the complete sessions of each tenant that has some. */
export async function countSessions(db: Transaction<Schema>, { now }: { now: number }): Promise<SessionCount[]> {
  const rows = await db
    .selectFrom('signature_sessions')
    .select('tenant')
    .select(({ fn }) => [
      fn.countAll<number | string>().as('count'),
      fn.min<number | string>('ends_at').as('firstEnds'),
      fn.max<number | string>('ends_at').as('lastEnds'),
    ])
    .where('stored', '=', 1)
    .where('ends_at', '>', now)
    .groupBy('tenant')
    .orderBy('tenant')
    .execute();
  return rows.map(({ tenant, ...of }) => ({
    ...{ tenant, count: Number(of.count), firstEnds: Number(of.firstEnds), lastEnds: Number(of.lastEnds) },
  }));
}

export async function dropSession(db: Transaction<Schema>, id: string): Promise<void> {
  await db.deleteFrom('signature_sessions').where('id', '=', id).execute();
}

/** Deletes parts whose session is gone, up to a limit. Returns the number deleted. */
export async function deleteLooseSessionParts(db: Transaction<Schema>, { limit }: { limit: number }): Promise<number> {
  const { rows } = await sql`
    delete from signature_session_parts where (id, item, part) in (
      select id, item, part from signature_session_parts as loose
      where not exists (select 1 from signature_sessions as open where open.id = loose.id) limit ${limit}
    ) returning part`.execute(db);
  return rows.length;
}
