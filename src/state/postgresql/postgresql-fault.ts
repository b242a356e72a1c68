import { DatabaseError } from 'pg';
import type { FaultKind } from '../database.ts';
import { Fault } from '../../faults.ts';

/** Returns the SQLSTATE of an error; undefined if the error did not come from the server. */
function sqlState(error: unknown): string | undefined {
  return error instanceof DatabaseError ? error.code : undefined;
}

/** Returns the kind of an error (PostgreSQL, appendix A). */
export function postgresqlFault(error: unknown): FaultKind {
  const state = sqlState(error);
  // disk_full, read_only_sql_transaction
  if (state === '53100' || state === '25006') return 'full';
  // Connections, resources, an operator's intervention, the system, damaged files; statement and
  // lock time-outs.
  if (state !== undefined && (/^(08|53|57|58|XX00[12])/.test(state) || state === '55P03')) return 'unavailable';
  return state === undefined && isBroken(error) ? 'unavailable' : 'defect';
}

/** Checks whether two transactions conflicted, so that this one can be run again. */
export function isConflict(error: unknown): boolean {
  const state = sqlState(error);
  // serialization_failure, deadlock_detected
  return state === '40001' || state === '40P01';
}

/**
 * Checks whether the server has not yet given the identifier to a transaction: it lost the one that
 * had it. For the error of pg_xact_status.
 */
export function isFutureTransaction(error: unknown): boolean {
  // invalid_parameter_value
  return sqlState(error) === '22023';
}

/** Checks whether the connection is unusable: the driver lost it, or the server ended it. */
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
 * Checks whether retrying is pointless until somebody changes the configuration: password, user,
 * database, TLS, privileges.
 */
export function isMisconfigured(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== undefined) return /^(28|3D|3F|42501|0A)/.test(state);
  return error instanceof Error && !isBroken(error);
}
