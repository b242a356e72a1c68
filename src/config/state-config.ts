import { resolve } from 'node:path';
import { z } from 'zod';

const FilePath = z.string().min(1);
/** A secret is never in the configuration: only where it lies. */
export const SecretReference = z.string().regex(/^(file|credential):.+$/, 'file:<path> or credential:<name>');

const SqliteConfig = z.strictObject({
  kind: z.literal('sqlite').default('sqlite').describe('The embedded database, for one instance.'),
  path: FilePath.default('/var/lib/signetd/state.sqlite').describe('File of the database.'),
});

const PostgresqlConfig = z
  .strictObject({
    kind: z.literal('postgresql').describe('A PostgreSQL server, for several instances.'),
    host: z.string().min(1).describe("Host name, address, or directory of the server's Unix socket."),
    port: z.int().min(1).max(65_535).default(5432).describe('TCP port of the server.'),
    database: z.string().min(1).describe('Name of the database.'),
    user: z.string().min(1).describe('User of the database.'),
    password: SecretReference.optional().describe(
      'Where the password lies. Absent where the server knows the user by its certificate or by the socket.',
    ),
    /** Required but for a Unix socket. The server's certificate has to name `host`. */
    tls: z
      .strictObject({
        certificateAuthority: FilePath.optional().describe(
          'PEM file with the authorities of the server certificate, which has to name host. Absent: those that Node trusts.',
        ),
        certificate: FilePath.optional().describe('PEM file of a client certificate.'),
        key: SecretReference.optional().describe('Where its key lies.'),
      })
      .refine(({ certificate, key }) => (certificate === undefined) === (key === undefined), 'certificate and key belong together')
      .optional(),
    connectTimeoutSeconds: z.number().positive().max(60).default(5).describe('Seconds that a connection may take.'),
    statementTimeoutSeconds: z.number().positive().max(60).default(5).describe('Seconds that a statement, or a wait for a lock, may take.'),
    abandonedStepSeconds: z
      .int()
      .min(5)
      .default(600)
      .describe('Age in seconds at which a step on the token that no instance finished is undone by any of them.'),
  })
  .refine(({ host, tls }) => tls !== undefined || host.startsWith('/'), { path: ['tls'], message: 'required but for a Unix socket' });

export const StateConfig = z
  .discriminatedUnion('kind', [SqliteConfig, PostgresqlConfig])
  .describe('Where the state is: the embedded database, or a PostgreSQL that several instances share.');
export type StateConfig = z.output<typeof StateConfig>;
export type PostgresqlConfig = z.output<typeof PostgresqlConfig>;

/** The same with absolute paths. */
export function absoluteState(state: StateConfig, base: string): StateConfig {
  if (state.kind === 'sqlite') return { ...state, path: resolve(base, state.path) };
  const { password, tls } = state;
  return {
    ...state,
    ...(password === undefined ? {} : { password: absoluteReference(password, base) }),
    ...(tls === undefined
      ? {}
      : {
          tls: {
            ...(tls.certificateAuthority === undefined ? {} : { certificateAuthority: resolve(base, tls.certificateAuthority) }),
            ...(tls.certificate === undefined ? {} : { certificate: resolve(base, tls.certificate) }),
            ...(tls.key === undefined ? {} : { key: absoluteReference(tls.key, base) }),
          },
        }),
  };
}

/** A `file:` reference with an absolute path. */
export function absoluteReference(reference: string, base: string): string {
  return reference.startsWith('file:') ? `file:${resolve(base, reference.slice('file:'.length))}` : reference;
}
