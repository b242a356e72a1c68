import { resolve } from 'node:path';
import { z } from 'zod';

const mebibyte = 1024 * 1024;
const gibibyte = 1024 * mebibyte;
const Bytes = z.int().positive();

/** The root directory, and virtual file systems of the kernel. */
const neverAllowed = /^\/+(?:(?:proc|sys|dev)(?:\/.*)?)?$/;

export const AllowedDirectories = z
  .array(z.string().min(1))
  .refine((list) => !list.some((directory) => neverAllowed.test(directory)), 'must not be / or inside /proc, /sys or /dev');

/** Paths that callers may use (contract §4), and settings for reading and writing there. */
export const DocumentsConfig = z.strictObject({
  readDirectories: AllowedDirectories.default([]).describe(
    'Directories in which filePathData may name files, subdirectories included. Empty: none.',
  ),
  writeDirectories: AllowedDirectories.default([]).describe(
    'Directories that outputDirectory may name, subdirectories included. Empty: none.',
  ),
  writeMode: z
    .string()
    .regex(/^0?[0-6][0-6][0-6]$/, 'not octal permission bits without execute permission, such as 0640')
    .default('0640')
    .describe('Permissions of files written to outputDirectory.'),
  fileMaxBytes: Bytes.default(2 * gibibyte).describe(
    'Maximum size in bytes of a file named by filePathData; a larger one is refused with 1/104.',
  ),
});
type DocumentsConfig = z.output<typeof DocumentsConfig>;

/** The file transfer store (contract §4). */
export const TransferStoreConfig = z
  .strictObject({
    directory: z
      .string()
      .min(1)
      .default('/var/lib/signetd/files')
      .describe('Directory for the content. Instances that share a state store must share this directory too.'),
    fileMaxBytes: Bytes.default(2 * gibibyte).describe('Maximum size of a file in bytes; a larger one gets status 413.'),
    tenantMaxBytes: Bytes.default(20 * gibibyte).describe(
      "Maximum total size in bytes of a tenant's files, including files being uploaded; beyond it uploads get status 507, and operations 2/243.",
    ),
    tenantMaxFiles: z
      .int()
      .positive()
      .default(100_000)
      .describe("Maximum number of a tenant's files; beyond it uploads get status 507, and operations 2/243."),
    keepSeconds: z
      .int()
      .min(1)
      .max(366 * 86_400)
      .default(86_400)
      .describe('Seconds after which a file is removed.'),
    uploadTimeoutSeconds: z
      .number()
      .positive()
      .max(86_400)
      .default(3600)
      .describe('Maximum duration of an upload in seconds; a longer one gets status 408.'),
  })
  .refine(({ fileMaxBytes, tenantMaxBytes }) => tenantMaxBytes >= fileMaxBytes, {
    path: ['tenantMaxBytes'],
    message: 'must be at least fileMaxBytes, or files of that size would never fit',
  });
export type TransferStoreConfig = z.output<typeof TransferStoreConfig>;

/** Makes the paths absolute. */
export function absoluteDocuments(documents: DocumentsConfig, base: string): DocumentsConfig {
  const absolute = (list: readonly string[]): string[] => list.map((directory) => resolve(base, directory));
  return {
    ...documents,
    readDirectories: absolute(documents.readDirectories),
    writeDirectories: absolute(documents.writeDirectories),
  };
}

/** Makes the path absolute. */
export function absoluteTransferStore(transferStore: TransferStoreConfig, base: string): TransferStoreConfig {
  return { ...transferStore, directory: resolve(base, transferStore.directory) };
}
