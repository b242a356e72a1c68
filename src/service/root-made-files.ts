import { closeSync, constants, fchownSync, fstatSync, openSync, readdirSync } from 'node:fs';
import { errorCode } from '../telemetry/error-code.ts';

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants;
/** O_NONBLOCK: a named pipe would make root wait. */
const flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;

/**
 * Gives the files and directories that root has made below a directory to the directory's owner,
 * who may be hostile and change names meanwhile: everything is changed through its descriptor,
 * symbolic links are not followed, and a file with further names is left alone, since one of them
 * may be elsewhere.
 */
export function giveRootMadeFiles(directory: string): void {
  const opened = openIfPossible(directory, flags | O_DIRECTORY);
  if (opened === undefined) return;
  try {
    const { uid, gid } = fstatSync(opened);
    if (uid !== 0) giveContents(opened, uid, gid);
  } finally {
    closeSync(opened);
  }
}

function giveContents(directory: number, uid: number, gid: number): void {
  // Names below it are looked up in the directory that is open, wherever its own name leads now.
  const place = `/proc/self/fd/${directory}`;
  for (const name of readdirSync(place)) {
    const opened = openIfPossible(`${place}/${name}`, flags);
    if (opened === undefined) continue;
    try {
      const stats = fstatSync(opened);
      if (stats.isDirectory()) giveContents(opened, uid, gid);
      else if (!stats.isFile() || stats.nlink !== 1) continue;
      if (stats.uid === 0) fchownSync(opened, uid, gid);
    } finally {
      closeSync(opened);
    }
  }
}

/** Undefined for symbolic links, sockets, and what was removed meanwhile. */
function openIfPossible(path: string, how: number): number | undefined {
  try {
    return openSync(path, how);
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ELOOP' || code === 'ENOENT' || code === 'ENXIO' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}
