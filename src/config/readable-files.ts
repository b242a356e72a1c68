import { statSync } from 'node:fs';
import type { Config } from './config.ts';

export interface ReadableFile {
  /** Member of the configuration that names the file. */
  readonly member: string;
  /** The fault and its remedy. */
  readonly text: string;
}

/** Returns files of the state store and the audit log that other users could read or change. */
export function readableFiles({ state, audit }: Config): ReadableFile[] {
  const found: ReadableFile[] = [];
  const look = (member: string, path: string, forbidden: number, right: string): void => {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode;
    if (mode === undefined || (mode & forbidden) === 0) return;
    const octal = (mode & 0o777).toString(8).padStart(4, '0');
    found.push({ member, text: `${path}: others may read or change it (mode ${octal}); chmod ${right} it` });
  };
  if (state.kind === 'sqlite') for (const file of [state.path, `${state.path}-wal`]) look('state.path', file, 0o077, '0600');
  // The log may be readable by a group, for auditors.
  if (audit.enabled) look('audit.directory', audit.directory, 0o027, '0700');
  return found;
}

/** Logs a warning for each such file. */
export function warnOfReadableFiles(config: Config, log: { warn(message: string): void }): void {
  for (const { member, text } of readableFiles(config)) log.warn(`${member}: ${text}`);
}
