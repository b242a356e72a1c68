import { z } from 'zod';

const Hash = z.string().regex(/^[0-9a-f]{64}$/);
const Name = z
  .string()
  .min(1)
  .max(4096)
  .refine((name) => !name.startsWith('/') && !name.split('/').includes('..'), 'not a name inside the archive');

/** Owner and permission bits; names, since numbers differ from machine to machine. */
const ownership = { user: z.string(), group: z.string(), mode: z.int().min(0).max(0o7777) };

export const partKinds = ['configuration', 'state', 'audit', 'account', 'transfer', 'about'] as const;
export type PartKind = (typeof partKinds)[number];

const Part = z.strictObject({
  name: Name,
  kind: z.enum(partKinds),
  bytes: z.int().nonnegative(),
  sha256: Hash,
  /** Absolute path of the file; null if it is not a file of the service. */
  path: z.string().startsWith('/').nullable(),
  ...ownership,
});
export type Part = z.output<typeof Part>;

const Directory = z.strictObject({ path: z.string().startsWith('/'), ...ownership });
export type Directory = z.output<typeof Directory>;

export const manifestName = 'manifest.json';

/** The last file of a backup: what it holds, and the state of the service that it comes from. */
export const Manifest = z.strictObject({
  format: z.literal('signetd backup'),
  formatVersion: z.literal(1),
  /** When the state was fixed. */
  time: z.iso.datetime(),
  versions: z.strictObject({ signetd: z.string(), node: z.string() }),
  host: z.string(),
  /** Whether the service was running. */
  running: z.boolean(),
  /** Path of the configuration file. */
  configuration: z.string(),
  /** Secrets that the configuration refers to, which are not in the backup. */
  secrets: z.array(z.strictObject({ member: z.string(), reference: z.string() })),
  token: z.strictObject({
    label: z.string(),
    /** Null if the token could not be asked. */
    serial: z.string().nullable(),
    /** Number of keys in `token-keys.jsonl`. */
    keys: z.int().nonnegative(),
  }),
  state: z.strictObject({
    kind: z.enum(['sqlite', 'postgresql']),
    /** Names of the migrations that made its schema. */
    migrations: z.array(z.string()),
    hasMacKey: z.boolean(),
  }),
  /** Null if the audit log is switched off. */
  audit: z
    .strictObject({
      name: z.string(),
      directory: z.string(),
      /** Name of the first file; null if there is none. */
      from: z.string().nullable(),
      last: z.strictObject({ n: z.int(), hash: Hash }).nullable(),
      /** The state store's place in the log. */
      head: z.strictObject({ n: z.int(), hash: Hash, file: z.int() }).nullable(),
      /** Public keys of checkpoints: SubjectPublicKeyInfo, DER, base64. */
      publicKeys: z.array(z.base64()),
    })
    .nullable(),
  /** The token host's account of uses; null if it is not in the backup. */
  account: z.strictObject({ directory: z.string() }).nullable(),
  /** The transfer store; null if it is not in the backup. */
  transfer: z.strictObject({ directory: z.string() }).nullable(),
  directories: z.array(Directory),
  parts: z.array(Part),
});
export type Manifest = z.output<typeof Manifest>;
