import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { types, type ClientConfig, type CustomTypesConfig } from 'pg';
import { readSecret } from '../../config/secret-reference.ts';
import { boundedContext } from '../../service/bounded-context.ts';
import type { PostgresqlConfig } from '../../config/state-config.ts';

/** Object identifiers of built-in types (PostgreSQL, pg_type.dat). */
const bytea = 17;
const int8 = 20;

/**
 * Returns the options of a connection. They are read anew for each connection, so that renewed
 * passwords and certificates are used.
 * @throws {ConfigError} if a secret cannot be read
 */
export function clientOptions(config: PostgresqlConfig): ClientConfig {
  const { host, port, database, user, connectTimeoutSeconds, statementTimeoutSeconds } = config;
  return {
    host,
    port,
    database,
    user,
    ...(config.password === undefined ? {} : { password: readSecret(config.password, owner()) }),
    ssl: config.tls === undefined ? false : tlsOptions(config.tls),
    connectionTimeoutMillis: connectTimeoutSeconds * 1000,
    statement_timeout: statementTimeoutSeconds * 1000,
    lock_timeout: statementTimeoutSeconds * 1000,
    // A connection that is lost inside a transaction must not keep its locks.
    idle_in_transaction_session_timeout: statementTimeoutSeconds * 2000,
    // If the network is down, the server cannot report a time-out: wait slightly longer than its
    // own.
    query_timeout: statementTimeoutSeconds * 1000 + 2000,
    keepAlive: true,
    application_name: 'signetd',
    types: { getTypeParser: typeParser },
  };
}

/** Root runs an operator's program on the secrets of the service, which belong to its user. */
function owner(): 'self' | 'anyone' {
  return process.geteuid?.() === 0 ? 'anyone' : 'self';
}

/** Returns the TLS options. The driver checks `host` against the server's certificate. */
function tlsOptions(tls: NonNullable<PostgresqlConfig['tls']>): ConnectionOptions {
  return {
    rejectUnauthorized: true,
    secureContext: boundedContext({
      minVersion: 'TLSv1.2',
      ...(tls.certificateAuthority === undefined ? {} : { ca: readFileSync(tls.certificateAuthority) }),
      ...(tls.certificate === undefined ? {} : { cert: readFileSync(tls.certificate) }),
      ...(tls.key === undefined ? {} : { key: readSecret(tls.key, owner()) }),
    }),
  };
}

/** Maps to the same JavaScript types as SQLite: numbers for times and counts, plain bytes. */
const typeParser: CustomTypesConfig['getTypeParser'] = (oid: number, format?: 'text' | 'binary') => {
  if (oid === int8) return safeInteger;
  if (oid === bytea) return bytes;
  return types.getTypeParser(oid, format === 'binary' ? 'binary' : 'text') as (text: string) => unknown;
};

function safeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is too large for a JavaScript number`);
  return value;
}

/**
 * Returns bytes in a buffer of their own: a message to another thread would otherwise carry the
 * whole pool that small buffers share.
 */
function bytes(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text.slice(2), 'hex'));
}
