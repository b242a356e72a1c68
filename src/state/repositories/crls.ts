import { sql, type Selectable, type Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import { serialNumberBytes, type CrlStateRow } from '../tables/revocation.ts';

/**
 * State of an authority's CRLs. `number`: the last number taken; `published_number`: that of the
 * CRL being served, 0 before the first.
 */
export type CrlState = Selectable<CrlStateRow>;

/**
 * Revoked certificates by column, so that a hundred thousand rows pass between threads in a few
 * bytes each.
 */
export interface RevokedColumns {
  readonly count: number;
  /** Unsigned numbers, big-endian, 20 octets each. */
  readonly serialNumbers: Uint8Array;
  /** Milliseconds since epoch. */
  readonly revokedAt: Float64Array;
  /** CRLReason. */
  readonly reasons: Uint8Array;
}

/** CRLReason certificateHold (RFC 5280 §5.3.1), which may be lifted. */
const onHold = 6;

export interface CrlClaim {
  readonly number: number;
  /** Revision that the CRL covers: the CRL is current while the authority's revision equals it. */
  readonly revision: number;
  readonly revoked: RevokedColumns;
}

interface ClaimRequest {
  readonly authority: string;
  readonly now: number;
  /** When the claim expires. */
  readonly claimedUntil: number;
  /** True if existing claims are ignored, since a single process uses the store. */
  readonly ignoreClaim: boolean;
  /** Minimum time since the last CRL. */
  readonly minGapMs: number;
  /**
   * A CRL is due if the last one expires before this, was signed by an older key, or is out of
   * date.
   */
  readonly endsBefore: number;
  /** A CRL is also due if the last one was made before this. */
  readonly madeSince: number;
  readonly signer: string;
  /** notBefore of the signer's certificate. If a newer key has signed the last CRL, none is due. */
  readonly signerSince: number;
  /** True if the instance with the newer key is gone, so that an older key may sign. */
  readonly ignoreNewer: boolean;
  readonly keepExpired: boolean;
}

export async function crlState(db: Transaction<Schema>, authority: string): Promise<CrlState | undefined> {
  return db.selectFrom('crl_states').selectAll().where('authority', '=', authority).executeTakeFirst();
}

/** Returns the CRL being served. */
export async function publishedCrl(
  db: Transaction<Schema>,
  authority: string,
): Promise<(CrlState & { readonly der: Uint8Array }) | undefined> {
  return db
    .selectFrom('crl_states')
    .innerJoin('crls', (join) =>
      join.onRef('crls.authority', '=', 'crl_states.authority').onRef('crls.number', '=', 'crl_states.published_number'),
    )
    .selectAll('crl_states')
    .select('crls.der')
    .where('crl_states.authority', '=', authority)
    .executeTakeFirst();
}

/**
 * Takes the next CRL number, which is used up in any case, and reads the contents of that CRL:
 * every revocation committed before. Undefined if no CRL is due or another instance is making one.
 */
export async function claimCrl(db: Transaction<Schema>, request: ClaimRequest): Promise<CrlClaim | undefined> {
  const { authority, now, claimedUntil, ignoreClaim, minGapMs, endsBefore, madeSince, signer, signerSince, ignoreNewer, keepExpired } =
    request;
  // A number is never less than the seconds since 1970, so that numbers keep increasing even after
  // the store is restored from an old backup.
  const least = Math.floor(now / 1000);
  await db
    .insertInto('crl_states')
    .values({ authority, revision: 0 })
    .onConflict((conflict) => conflict.column('authority').doNothing())
    .execute();
  const claimed = await db
    .updateTable('crl_states')
    .set({
      number: sql<number>`case when number < ${sql.lit(least)} then ${sql.lit(least)} else number + 1 end`,
      claimed_until: claimedUntil,
    })
    .where('authority', '=', authority)
    .where(sql<boolean>`(claimed_until <= ${now} or ${ignoreClaim ? 1 : 0} = 1)`)
    // A last CRL in the future was made by a clock that was set back since.
    .where((where) => where.or([where('this_update', '<=', now - minGapMs), where('this_update', '>', now)]))
    .where((where) =>
      where.or([
        where('published_revision', '<', where.ref('revision')),
        where('next_update', '<=', endsBefore),
        where('this_update', '<', madeSince),
        where('signer', '!=', signer),
      ]),
    )
    .where((where) =>
      where.or([
        where('signer', '=', signer),
        where('signer_since', '<', signerSince),
        where.and([where('signer_since', '=', signerSince), where('signer', '<', signer)]),
        sql<boolean>`${sql.lit(ignoreNewer ? 1 : 0)} = 1`,
      ]),
    )
    .returning(['number', 'revision', 'this_update'])
    .executeTakeFirst();
  if (claimed === undefined) return undefined;
  // All entries in one text: a row for each would take several times as long.
  let lines = db
    .selectFrom('revocations')
    .select(sql<string | null>`string_agg(serial_number || ' ' || reason || ' ' || revoked_at, '/')`.as('lines'))
    .where('authority', '=', authority);
  // RFC 5280 §3.3: an entry stays until it has appeared on a CRL issued after the certificate
  // expired.
  if (!keepExpired) lines = lines.where('not_after', '>=', claimed.this_update);
  const read = await lines.executeTakeFirst();
  return { number: claimed.number, revision: claimed.revision, revoked: columns(read?.lines ?? '') };
}

/**
 * Publishes the CRL, which is served from this commit on. Returns false if a later one is already
 * published.
 */
export async function publishCrl(
  db: Transaction<Schema>,
  {
    authority,
    number,
    der,
    ...published
  }: Pick<CrlState, 'authority' | 'signer' | 'signer_since' | 'this_update' | 'next_update'> & {
    readonly number: number;
    readonly published_revision: number;
    readonly der: Uint8Array;
  },
): Promise<boolean> {
  const row = await db
    .updateTable('crl_states')
    .set({ ...published, published_number: number, claimed_until: 0 })
    .where('authority', '=', authority)
    .where('published_number', '<', number)
    .returning('authority')
    .executeTakeFirst();
  if (row === undefined) return false;
  await db
    .insertInto('crls')
    .values({ authority, number, der })
    .onConflict((conflict) => conflict.column('authority').doUpdateSet({ number, der }))
    .execute();
  return true;
}

/**
 * Counts the certificates of an authority that have not expired and are not revoked for good. `now`:
 * milliseconds since epoch.
 */
export async function countUnexpired(db: Transaction<Schema>, { authority, now }: { authority: string; now: number }): Promise<number> {
  const row = await db
    .selectFrom('certificates')
    .leftJoin('revocations', (join) =>
      join
        .onRef('revocations.authority', '=', 'certificates.authority')
        .onRef('revocations.serial_number', '=', 'certificates.serial_number')
        .on('revocations.reason', '!=', onHold),
    )
    .select(({ fn }) => fn.countAll<number | string>().as('certificates'))
    .where('certificates.authority', '=', authority)
    .where('certificates.not_after', '>', now)
    .where('revocations.serial_number', 'is', null)
    .executeTakeFirst();
  return Number(row?.certificates ?? 0);
}

/** Gives up the CRL with this number. */
export async function giveUpCrl(db: Transaction<Schema>, { authority, number }: { authority: string; number: number }): Promise<void> {
  await db.updateTable('crl_states').set({ claimed_until: 0 }).where('authority', '=', authority).where('number', '=', number).execute();
}

/** Parses lines of serial number (hexadecimal), reason and milliseconds, separated by slashes. */
function columns(text: string): RevokedColumns {
  let count = text === '' ? 0 : 1;
  for (let at = text.indexOf('/'); at >= 0; at = text.indexOf('/', at + 1)) count += 1;
  const serialNumbers = Buffer.alloc(count * serialNumberBytes);
  const revokedAt = new Float64Array(count);
  const reasons = new Uint8Array(count);
  let start = 0;
  for (let index = 0; index < count; index += 1) {
    const reasonAt = text.indexOf(' ', start) + 1;
    const timeAt = text.indexOf(' ', reasonAt) + 1;
    const end = index === count - 1 ? text.length : text.indexOf('/', timeAt);
    const octets = (reasonAt - 1 - start) / 2;
    serialNumbers.write(text.slice(start, reasonAt - 1), (index + 1) * serialNumberBytes - octets, 'hex');
    reasons[index] = Number(text.slice(reasonAt, timeAt - 1));
    revokedAt[index] = Number(text.slice(timeAt, end));
    start = end + 1;
  }
  return { count, serialNumbers, revokedAt, reasons };
}
