import { DatabaseError } from 'pg';
import type { FaultKind } from '../database.ts';
import { Fault } from '../../faults.ts';

/** SQLSTATE of what the server said; undefined if the error is not the server's. */
function sqlState(error: unknown): string | undefined {
  return error instanceof DatabaseError ? error.code : undefined;
}

/** What an error means (PostgreSQL, appendix A). */
export function postgresqlFault(error: unknown): FaultKind {
  const state = sqlState(error);
  // disk_full, read_only_sql_transaction
  if (state === '53100' || state === '25006') return 'full';
  // Connections, resources, an operator's intervention, the system, damaged files; statement and
  // lock time-outs.
  if (state !== undefined && (/^(08|53|57|58|XX00[12])/.test(state) || state === '55P03')) return 'unavailable';
  return state === undefined && isBroken(error) ? 'unavailable' : 'defect';
}

/** Two transactions were in each other's way, and this one can be carried out again. */
export function isConflict(error: unknown): boolean {
  const state = sqlState(error);
  // serialization_failure, deadlock_detected
  return state === '40001' || state === '40P01';
}

/** The connection is of no use any more: the driver lost it, or the server ends it. */
export function isBroken(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== undefined) return /^(08|57P0[123]|25P03|57P05)/.test(state);
  if (!(error instanceof Error) || error instanceof Fault) return false;
  return (
    ('code' in error && typeof error.code === 'string' && /^(E[A-Z]+|ERR_(SSL|TLS|SOCKET|STREAM).*)$/.test(error.code)) ||
    /connection (terminated|ended)|not queryable|read timeout|timeout expired|timeout exceeded/i.test(error.message)
  );
}

/**
 * No other attempt will fare better until somebody changes something: password, user, database,
 * TLS, rights.
 */
export function isMisconfigured(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== undefined) return /^(28|3D|3F|42501|0A)/.test(state);
  return error instanceof Error && !isBroken(error);
}
