import { z } from 'zod';
import type { StateSnapshot } from './state-snapshot.ts';

/** What a state store says of itself and of its audit log. */
export interface SnapshotFacts {
  /** Names of the migrations that made its schema. */
  readonly migrations: readonly string[];
  /** Public keys of checkpoints: SubjectPublicKeyInfo, DER, base64. */
  readonly auditKeys: readonly string[];
  /** Its place in the log; undefined if it has none. */
  readonly head: { readonly n: number; readonly hash: string; readonly file: number } | undefined;
  /** Number of commits by request whose record may not be in the log yet. */
  readonly commits: ReadonlyMap<string, number>;
  /** Whether passwords are verified with the MAC key of a token. */
  readonly hasMacKey: boolean;
  /** Numbers of the MAC keys that were not destroyed (`token/mac-generation.ts`). */
  readonly macKeys: readonly number[];
}

const Migration = z.object({ name: z.string() });
const AuditKey = z.object({ public_key: z.instanceof(Uint8Array) });
const Head = z.object({ log: z.string(), records: z.number(), hash: z.string(), file: z.number() });
const MacKey = z.object({ id: z.number() });
const Commit = z.object({ id: z.string() });

/** @param log name of the audit log */
export async function snapshotFacts(snapshot: StateSnapshot, log: string): Promise<SnapshotFacts> {
  const all = async <T>(schema: { parse(row: unknown): T }, select: string): Promise<T[]> => {
    const found: T[] = [];
    for await (const row of snapshot.rows(select)) found.push(schema.parse(row));
    return found;
  };
  const migrations = await all(Migration, 'select name from kysely_migration order by name');
  const keys = await all(AuditKey, 'select public_key from audit_keys order by created_at');
  const heads = await all(Head, 'select log, records, hash, file from audit_heads');
  const head = heads.find((one) => one.log === log);
  const commits = new Map<string, number>();
  for (const { id } of await all(Commit, 'select id from audit_outbox')) {
    const [name, request = ''] = id.split(':');
    if (name === log) commits.set(request, (commits.get(request) ?? 0) + 1);
  }
  const names = migrations.map(({ name }) => name);
  // Of a store that an earlier version made, there is one key.
  const present = names.includes('0030-mac-key-generations') ? ' and destroyed_at is null' : '';
  const macKeys = await all(MacKey, `select id from mac_key where check_value is not null${present} order by id`);
  return {
    migrations: names,
    auditKeys: keys.map((row) => Buffer.from(row.public_key).toString('base64')),
    head: head === undefined ? undefined : { n: head.records, hash: head.hash, file: head.file },
    commits,
    hasMacKey: macKeys.length > 0,
    macKeys: macKeys.map(({ id }) => id - 1),
  };
}
