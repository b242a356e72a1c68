import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { types, type ClientConfig, type CustomTypesConfig } from 'pg';
import { readSecret } from '../../config/secret-reference.ts';
import type { PostgresqlConfig } from '../../config/state-config.ts';

/** Object identifiers of built-in types (PostgreSQL, pg_type.dat). */
const bytea = 17;
const int8 = 20;

/**
 * How a connection is made. Read anew for each: a password or certificate that was renewed is
 * taken.
 * @throws {ConfigError} if a secret cannot be read
 */
export function clientOptions(config: PostgresqlConfig): ClientConfig {
  const { host, port, database, user, connectTimeoutSeconds, statementTimeoutSeconds } = config;
  return {
    host,
    port,
    database,
    user,
    ...(config.password === undefined ? {} : { password: readSecret(config.password) }),
    ssl: config.tls === undefined ? false : tlsOptions(config.tls),
    connectionTimeoutMillis: connectTimeoutSeconds * 1000,
    statement_timeout: statementTimeoutSeconds * 1000,
    lock_timeout: statementTimeoutSeconds * 1000,
    // A connection that was cut off in a transaction must not keep its locks.
    idle_in_transaction_session_timeout: statementTimeoutSeconds * 2000,
    // The server cannot say that the network is gone: a little later than it would say anything
    // itself.
    query_timeout: statementTimeoutSeconds * 1000 + 2000,
    keepAlive: true,
    application_name: 'signetd',
    types: { getTypeParser: typeParser },
  };
}

/** `host` is checked against the server's certificate by the driver. */
function tlsOptions(tls: NonNullable<PostgresqlConfig['tls']>): ConnectionOptions {
  return {
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    ...(tls.certificateAuthority === undefined ? {} : { ca: readFileSync(tls.certificateAuthority) }),
    ...(tls.certificate === undefined ? {} : { cert: readFileSync(tls.certificate) }),
    ...(tls.key === undefined ? {} : { key: readSecret(tls.key) }),
  };
}

/** The same JavaScript types as from SQLite: numbers for times and counts, plain bytes. */
const typeParser: CustomTypesConfig['getTypeParser'] = (oid: number, format?: 'text' | 'binary') => {
  if (oid === int8) return safeInteger;
  if (oid === bytea) return bytes;
  return types.getTypeParser(oid, format === 'binary' ? 'binary' : 'text') as (text: string) => unknown;
};

function safeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is beyond what a number holds`);
  return value;
}

/**
 * A buffer of their own: a message to another thread would carry the whole pool that small buffers
 * share.
 */
function bytes(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text.slice(2), 'hex'));
}
