import { stat } from 'node:fs/promises';
import { headOf, lastLineWith } from '../audit/line-offset.ts';
import { readLines } from '../audit/read-lines.ts';
import { accountFiles, type AccountFile, type AccountHead } from '../token/account-files.ts';
import type { FileExtent } from './log-extent.ts';

/**
 * Finds the part of the token host's account of uses that belongs to a backup.
 * @param heads the ends of its chains in the backup's checkpoint, up to which all uses have their
 *   records; if undefined, all complete lines
 * @throws the error of the file system if the directory cannot be read
 */
export async function accountExtent(directory: string, heads: readonly AccountHead[] | undefined): Promise<FileExtent[]> {
  const chains = accountFiles(directory);
  const extents: FileExtent[] = [];
  for (const [chain, files] of chains) {
    const last = heads === undefined ? Infinity : (heads.find((head) => head.chain === chain)?.n ?? 0);
    extents.push(...(await chainExtent(files, last)));
  }
  return extents;
}

/** The files of a chain up to a line. */
async function chainExtent(files: readonly AccountFile[], last: number): Promise<FileExtent[]> {
  const newestFirst: FileExtent[] = [];
  for (const { name, path } of files.toReversed()) {
    const bytes = newestFirst.length > 0 ? (await stat(path)).size : await bytesUpTo(path, last);
    if (bytes > 0) newestFirst.push({ name, path, bytes });
  }
  return newestFirst.toReversed();
}

/** Offset of the end of the last complete line that is numbered up to `last`; 0 if there is none. */
async function bytesUpTo(path: string, last: number): Promise<number> {
  const offset = await lastLineWith(path, ({ n }) => n <= last);
  let end = 0;
  for await (const line of readLines(path, offset)) {
    const n = line.isWhole ? headOf(line.bytes)?.n : undefined;
    if (n === undefined || n > last) break;
    ({ end } = line);
  }
  return end;
}
