import { lstatSync } from 'node:fs';

/**
 * Refuses to open files through symbolic links that another user has made, if this process is root:
 * in a directory of the service's user, such a link would make root create or change a file
 * anywhere.
 * @throws {Error}
 */
export function refuseForeignLinks(...paths: string[]): void {
  if (process.geteuid?.() !== 0) return;
  for (const path of paths) {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats?.isSymbolicLink() === true && stats.uid !== 0)
      throw new Error(`${path} is a symbolic link of user ${stats.uid}, which root does not follow`);
  }
}
