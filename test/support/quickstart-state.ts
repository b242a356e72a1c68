import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { directory } from './api.ts';

/** A look into the state store of the running service, beside it. */
export function queryState(sql: string, ...values: string[]): Record<string, unknown>[] {
  const database = new DatabaseSync(join(directory, 'state.sqlite'), { timeout: 10_000 });
  try {
    return database.prepare(sql).all(...values);
  } finally {
    database.close();
  }
}

/** CKA_ID of a key by its reference, hexadecimal. */
export function keyIdOf(reference: string): string {
  const [row] = queryState('select key_id from keys where reference = ?', reference);
  return String(row?.['key_id']);
}

/** Time passes for an open one-time password: it has ended. */
export function expireOtps(reference: string): void {
  queryState('update otps set expires_at = 1 where reference = ?', reference);
}
