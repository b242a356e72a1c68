import { constants } from 'node:fs';
import { open, readlink, type FileHandle } from 'node:fs/promises';

/**
 * Linux's O_PATH (open(2)), which Node does not define: refers to a place in the file system
 * without opening what is there.
 */
const O_PATH = 0o10000000;

/** Opens a place, following links, for configured paths. @throws file system errors */
export async function openPlace(path: string): Promise<FileHandle> {
  return open(path, O_PATH | constants.O_DIRECTORY);
}

/**
 * Opens an entry of an open directory; a link is opened itself, never followed.
 * @throws file system errors
 */
export async function openEntry(directory: FileHandle, name: string): Promise<FileHandle> {
  return open(pathOfEntry(directory, name), O_PATH | constants.O_NOFOLLOW);
}

/** Returns the target of a link in an open directory. @throws file system errors */
export async function linkIn(directory: FileHandle, name: string): Promise<string> {
  return readlink(pathOfEntry(directory, name));
}

/** Opens what a place refers to, whatever has its name now. @throws file system errors */
export async function reopen(place: FileHandle, flags: number): Promise<FileHandle> {
  return open(pathOf(place), flags);
}

/** Returns the path according to the kernel, with all links resolved. */
export async function realPath(handle: FileHandle): Promise<string> {
  return readlink(pathOf(handle));
}

/**
 * Returns the path of an entry relative to the descriptor (proc_pid_fd(5)), so that renaming the
 * directory has no effect.
 */
export function pathOfEntry(directory: FileHandle, name: string): string {
  return `${pathOf(directory)}/${name}`;
}

function pathOf({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`;
}

/** Runs work with an open object and closes it afterwards, whatever the outcome. */
export async function closing<T>(opened: { close(): Promise<void> }, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    await opened.close();
  }
}
