import { constants } from 'node:fs';
import { open, readlink, type FileHandle } from 'node:fs/promises';

/** Linux's O_PATH (open(2)), which Node does not name: a place in the file system, and nothing of what is there is touched. */
const O_PATH = 0o10000000;

/** A place, links followed: for what the configuration names. @throws the error of the file system */
export async function openPlace(path: string): Promise<FileHandle> {
  return open(path, O_PATH | constants.O_DIRECTORY);
}

/** An entry of a directory that is open; a link is opened itself, never followed. @throws the error of the file system */
export async function openEntry(directory: FileHandle, name: string): Promise<FileHandle> {
  return open(pathOfEntry(directory, name), O_PATH | constants.O_NOFOLLOW);
}

/** What a link in a directory that is open points to. @throws the error of the file system */
export async function linkIn(directory: FileHandle, name: string): Promise<string> {
  return readlink(pathOfEntry(directory, name));
}

/** Opens what a place is, whatever has its name by now. @throws the error of the file system */
export async function reopen(place: FileHandle, flags: number): Promise<FileHandle> {
  return open(pathOf(place), flags);
}

/** Where the kernel sees it, with all links resolved. */
export async function realPath(handle: FileHandle): Promise<string> {
  return readlink(pathOf(handle));
}

/** The path of an entry that begins at the descriptor, not at a name that somebody could give to another directory (proc_pid_fd(5)). */
export function pathOfEntry(directory: FileHandle, name: string): string {
  return `${pathOf(directory)}/${name}`;
}

function pathOf({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`;
}
