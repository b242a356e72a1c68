import { statSync } from 'node:fs';
import type { Place } from './findings.ts';

/** Nobody but its owner may read the file. */
export function checkPrivate(place: Place, path: string): void {
  const mode = modeOf(path);
  if (mode !== undefined && (mode & 0o077) !== 0) place.fault(`${path}: others may read this file (mode ${octal(mode)}); chmod 0600 it`);
}

/** Nobody but its owner may change the file. */
export function checkNotWritable(place: Place, path: string): void {
  const mode = modeOf(path);
  if (mode !== undefined && (mode & 0o022) !== 0) place.fault(`${path}: others may change this file (mode ${octal(mode)}); chmod go-w it`);
}

export function checkDirectory(place: Place, path: string): void {
  const isDirectory = place.tryTo(() => statSync(path).isDirectory());
  if (isDirectory === false) place.fault(`${path}: this is no directory`);
}

/** A directory that nobody but its owner may look into. */
export function checkPrivateDirectory(place: Place, path: string): void {
  checkDirectory(place, path);
  const mode = modeOf(path);
  if (mode !== undefined && (mode & 0o077) !== 0)
    place.fault(`${path}: others may use this directory (mode ${octal(mode)}); chmod 0700 it`);
}

/** Permission bits; undefined where there is no such file, which other checks say. */
function modeOf(path: string): number | undefined {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode;
  return mode === undefined ? undefined : mode & 0o777;
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0');
}
