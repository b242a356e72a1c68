import { resolve } from 'node:path';
import { z } from 'zod';
import { foreignOwner } from '../service/file-owner.ts';
import type { Account } from './listeners-config.ts';
import { absoluteReference, SecretReference } from './secret-reference.ts';
import { absoluteTlsClient, TlsClientConfig } from './tls-client-config.ts';

const FilePath = z.string().min(1);

const SqliteConfig = z.strictObject({
  kind: z.literal('sqlite').default('sqlite').describe('Embedded database, for one instance.'),
  path: FilePath.default('/var/lib/signetd/state.sqlite').describe('Database file.'),
});

const PostgresqlConfig = z
  .strictObject({
    kind: z.literal('postgresql').describe('PostgreSQL server, for several instances.'),
    host: z.string().min(1).describe("Host name, address, or directory of the server's Unix socket."),
    port: z.int().min(1).max(65_535).default(5432).describe('TCP port of the server.'),
    database: z.string().min(1).describe('Name of the database.'),
    user: z.string().min(1).describe('User of the database.'),
    password: SecretReference.optional().describe(
      'Location of the password: file:<path> or credential:<name>. Absent if the server authenticates the user by certificate or socket.',
    ),
    /** Required except for a Unix socket. The server's certificate must contain `host`. */
    tls: TlsClientConfig.optional(),
    connectTimeoutSeconds: z.number().positive().max(60).default(5).describe('Maximum time in seconds to connect.'),
    statementTimeoutSeconds: z
      .number()
      .positive()
      .max(60)
      .default(5)
      .describe('Maximum duration of a statement or a wait for a lock, in seconds.'),
    abandonedStepSeconds: z
      .int()
      .min(5)
      .default(600)
      .describe('Age in seconds at which an unfinished step on the token is undone by any instance.'),
  })
  .refine(({ host, tls }) => tls !== undefined || host.startsWith('/'), {
    path: ['tls'],
    message: 'required unless host is a Unix socket',
  });

export const StateConfig = z
  .discriminatedUnion('kind', [SqliteConfig, PostgresqlConfig])
  .describe('State store: the embedded database, or a PostgreSQL server shared by several instances.');
/** `serviceUser`: not in the file, see `withServiceUser`. */
export type PostgresqlConfig = z.output<typeof PostgresqlConfig> & { readonly serviceUser?: Account | undefined };
export type StateConfig = z.output<typeof SqliteConfig> | PostgresqlConfig;

/**
 * Adds the user of the service, as whom root connects to the Unix socket of a PostgreSQL server: peer
 * authentication compares the user of the process. It is `token.clientUser`, or the owner of the
 * service's own directory if that is not root.
 */
export function withServiceUser(state: StateConfig, clientUser: Account | undefined, ownDirectory: string): StateConfig {
  if (state.kind === 'sqlite' || !state.host.startsWith('/') || process.geteuid?.() !== 0) return state;
  const serviceUser = clientUser ?? foreignOwner(ownDirectory)?.uid;
  return serviceUser === undefined ? state : { ...state, serviceUser };
}

/** Makes the paths absolute. */
export function absoluteState(state: StateConfig, base: string): StateConfig {
  if (state.kind === 'sqlite') return { ...state, path: resolve(base, state.path) };
  const { password, tls } = state;
  return {
    ...state,
    ...(password === undefined ? {} : { password: absoluteReference(password, base) }),
    ...(tls === undefined ? {} : { tls: absoluteTlsClient(tls, base) }),
  };
}
