import { resolve } from 'node:path';
import { z } from 'zod';

const FilePath = z.string().min(1);
/** A secret is never in the configuration: only where it lies. */
export const SecretReference = z.string().regex(/^(file|credential):.+$/, 'file:<path> or credential:<name>');

const SqliteConfig = z.strictObject({
  kind: z.literal('sqlite').default('sqlite'),
  path: FilePath.default('/var/lib/signetd/state.sqlite'),
});

const PostgresqlConfig = z
  .strictObject({
    kind: z.literal('postgresql'),
    /** A host name, an address, or the directory of the server's Unix socket. */
    host: z.string().min(1),
    port: z.int().min(1).max(65_535).default(5432),
    database: z.string().min(1),
    user: z.string().min(1),
    /** Absent where the server knows the user by its certificate or by the socket. */
    password: SecretReference.optional(),
    /** Required but for a Unix socket. The server's certificate has to name `host`. */
    tls: z
      .strictObject({
        /** PEM; absent: the authorities that Node trusts. */
        certificateAuthority: FilePath.optional(),
        /** PEM of a client certificate, with its key. */
        certificate: FilePath.optional(),
        key: SecretReference.optional(),
      })
      .refine(({ certificate, key }) => (certificate === undefined) === (key === undefined), 'certificate and key belong together')
      .optional(),
    connectTimeoutSeconds: z.number().positive().max(60).default(5),
    statementTimeoutSeconds: z.number().positive().max(60).default(5),
    /** Age at which a step on the token that no instance finished is undone by any of them. */
    abandonedStepSeconds: z.int().min(5).default(600),
  })
  .refine(({ host, tls }) => tls !== undefined || host.startsWith('/'), { path: ['tls'], message: 'required but for a Unix socket' });

/** Where the state is: the embedded database, or a PostgreSQL that several instances share. */
export const StateConfig = z.discriminatedUnion('kind', [SqliteConfig, PostgresqlConfig]);
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
