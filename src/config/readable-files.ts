import { statSync } from 'node:fs';
import type { Config } from './config.ts';

export interface ReadableFile {
  /** Member of the configuration that names the file. */
  readonly member: string;
  /** The fault and its remedy. */
  readonly text: string;
}

/**
 * Returns files of the state store and the audit log that other users could read or change, one
 * entry for each member.
 */
export function readableFiles({ state, audit }: Config): ReadableFile[] {
  const found: ReadableFile[] = [];
  const look = (member: string, paths: readonly string[], forbidden: number, right: string): void => {
    const readable = paths
      .map((path) => ({ path, mode: statSync(path, { throwIfNoEntry: false })?.mode ?? 0 }))
      .filter(({ mode }) => (mode & forbidden) !== 0);
    const [first] = readable;
    if (first === undefined) return;
    const octal = (first.mode & 0o777).toString(8).padStart(4, '0');
    const [names, pronoun] = [readable.map(({ path }) => path).join(', '), readable.length === 1 ? 'it' : 'them'];
    found.push({ member, text: `${names}: others may read or change ${pronoun} (mode ${octal}); chmod ${right} ${pronoun}` });
  };
  // SQLite gives the mode of the database to the files beside it.
  if (state.kind === 'sqlite') look('state.path', [state.path, `${state.path}-wal`], 0o077, '0600');
  // The log may be readable by a group, for auditors.
  if (audit.enabled) look('audit.directory', [audit.directory], 0o027, '0700');
  return found;
}

/** Logs a warning for each such file. */
export function warnOfReadableFiles(config: Config, log: { warn(message: string): void }): void {
  for (const { member, text } of readableFiles(config)) log.warn(`${member}: ${text}`);
}
