import { statSync } from 'node:fs';
import type { Config } from './config.ts';

export interface ReadableFile {
  /** Member of the configuration that names it. */
  readonly member: string;
  /** What is wrong and what would be right. */
  readonly text: string;
}

/** Where others than the service could read what the state store or the audit log hold, or change it. */
export function readableFiles({ state, audit }: Config): ReadableFile[] {
  const found: ReadableFile[] = [];
  const look = (member: string, path: string, forbidden: number, right: string): void => {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode;
    if (mode === undefined || (mode & forbidden) === 0) return;
    const octal = (mode & 0o777).toString(8).padStart(4, '0');
    found.push({ member, text: `${path}: others may read or change it (mode ${octal}); chmod ${right} it` });
  };
  if (state.kind === 'sqlite') for (const file of [state.path, `${state.path}-wal`]) look('state.path', file, 0o077, '0600');
  // A group of auditors may read the log.
  if (audit.enabled) look('audit.directory', audit.directory, 0o027, '0700');
  return found;
}

/** Says so at a start. */
export function warnOfReadableFiles(config: Config, log: { warn(message: string): void }): void {
  for (const { member, text } of readableFiles(config)) log.warn(`${member}: ${text}`);
}
