import { existsSync } from 'node:fs';
import { readSecret } from '../../config/secret-reference.ts';
import type { PostgresqlConfig } from '../../config/state-config.ts';
import { ConfigError } from '../../config/config-error.ts';

/** Beginning of the name of a schema with what was there before a restore. */
export const asidePrefix = 'before_restore_';

/** The authorities that Debian trusts: libpq 15 has no name for those of the system. */
const systemAuthorities = '/etc/ssl/certs/ca-certificates.crt';

/**
 * Returns the environment with which PostgreSQL's own programs connect as the service does. The
 * password is in no list of arguments and in no file.
 * @throws {ConfigError} if a secret cannot be read, or is one that the programs cannot be given
 */
export function toolEnvironment({ host, port, database, user, password, tls, connectTimeoutSeconds }: PostgresqlConfig): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    LC_ALL: 'C.UTF-8',
    PGHOST: host,
    PGPORT: String(port),
    PGDATABASE: database,
    PGUSER: user,
    PGAPPNAME: 'signetctl',
    PGCONNECT_TIMEOUT: String(Math.max(2, Math.ceil(connectTimeoutSeconds))),
    ...(password === undefined ? {} : { PGPASSWORD: readSecret(password, 'anyone') }),
    ...(tls === undefined ? { PGSSLMODE: 'disable' } : tlsEnvironment(tls)),
  };
}

function tlsEnvironment({ certificateAuthority, certificate, key }: NonNullable<PostgresqlConfig['tls']>): NodeJS.ProcessEnv {
  const authorities = certificateAuthority ?? systemAuthorities;
  if (!existsSync(authorities)) throw new ConfigError(`state.tls.certificateAuthority: there is no file ${authorities}`);
  return {
    PGSSLMODE: 'verify-full',
    PGSSLMINPROTOCOLVERSION: 'TLSv1.2',
    PGSSLROOTCERT: authorities,
    ...(certificate === undefined ? {} : { PGSSLCERT: certificate }),
    ...(key === undefined ? {} : { PGSSLKEY: fileOf(key) }),
  };
}

function fileOf(reference: string): string {
  const [kind, target] = [reference.slice(0, reference.indexOf(':')), reference.slice(reference.indexOf(':') + 1)];
  if (kind === 'file') return target;
  const directory = process.env['CREDENTIALS_DIRECTORY'];
  if (directory === undefined) throw new ConfigError(`${reference}: CREDENTIALS_DIRECTORY is not set (by systemd)`);
  return `${directory}/${target}`;
}
