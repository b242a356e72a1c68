import { resolve } from 'node:path';
import { z } from 'zod';

const mebibyte = 1024 * 1024;
const gibibyte = 1024 * mebibyte;
const Bytes = z.int().positive();

/** Directories whose files are the kernel's own answers, and the root above all of them. */
const neverAllowed = /^\/+(?:(?:proc|sys|dev)(?:\/.*)?)?$/;

export const AllowedDirectories = z
  .array(z.string().min(1))
  .refine((list) => !list.some((directory) => neverAllowed.test(directory)), 'not /, and nothing in /proc, /sys or /dev');

/** Paths that callers may name (contract §4), and how files are read and written there. */
export const DocumentsConfig = z.strictObject({
  readDirectories: AllowedDirectories.default([]).describe('Directories below which filePathData may name a file. Empty: none.'),
  writeDirectories: AllowedDirectories.default([]).describe(
    'Directories that outputDirectory may name, and those below them. Empty: none.',
  ),
  writeMode: z
    .string()
    .regex(/^0?[0-6][0-6][0-6]$/, 'permission bits in octal without the right to execute, such as 0640')
    .default('0640')
    .describe('Permissions of a file that is written into outputDirectory.'),
  fileMaxBytes: Bytes.default(2 * gibibyte).describe('Bytes of a file that filePathData names; a larger one is 1/104.'),
});
type DocumentsConfig = z.output<typeof DocumentsConfig>;

/** The file transfer store (contract §4). */
export const TransferStoreConfig = z
  .strictObject({
    directory: z
      .string()
      .min(1)
      .default('/var/lib/signetd/files')
      .describe('Where the content lies. Instances that share a state store share this directory too.'),
    fileMaxBytes: Bytes.default(2 * gibibyte).describe('Bytes of a file; more is 413.'),
    tenantMaxBytes: Bytes.default(20 * gibibyte).describe(
      "Bytes of a tenant's files together, those on their way included; beyond it uploads are 507, and 2/243.",
    ),
    tenantMaxFiles: z.int().positive().default(100_000).describe("A tenant's files; beyond it uploads are 507, and 2/243."),
    keepSeconds: z
      .int()
      .min(1)
      .max(366 * 86_400)
      .default(86_400)
      .describe('Seconds until a file is removed.'),
    uploadTimeoutSeconds: z.number().positive().max(86_400).default(3600).describe('Seconds that an upload may take; longer is 408.'),
  })
  .refine(({ fileMaxBytes, tenantMaxBytes }) => tenantMaxBytes >= fileMaxBytes, {
    path: ['tenantMaxBytes'],
    message: 'at least fileMaxBytes: no file of that size could come otherwise',
  });
export type TransferStoreConfig = z.output<typeof TransferStoreConfig>;

/** The same with absolute paths. */
export function absoluteDocuments(documents: DocumentsConfig, base: string): DocumentsConfig {
  const absolute = (list: readonly string[]): string[] => list.map((directory) => resolve(base, directory));
  return {
    ...documents,
    readDirectories: absolute(documents.readDirectories),
    writeDirectories: absolute(documents.writeDirectories),
  };
}

/** The same with an absolute path. */
export function absoluteTransferStore(transferStore: TransferStoreConfig, base: string): TransferStoreConfig {
  return { ...transferStore, directory: resolve(base, transferStore.directory) };
}
