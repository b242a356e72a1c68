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

/** Makes the paths absolute. */
export function absoluteDocuments(documents: DocumentsConfig, base: string): DocumentsConfig {
  const absolute = (list: readonly string[]): string[] => list.map((directory) => resolve(base, directory));
  return {
    ...documents,
    readDirectories: absolute(documents.readDirectories),
    writeDirectories: absolute(documents.writeDirectories),
  };
}
