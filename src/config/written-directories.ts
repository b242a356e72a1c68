import { dirname } from 'node:path';
import type { Config } from './config.ts';

/** A directory that a running service writes to. */
export interface WrittenDirectory {
  /** What is in it; the label `use` of metrics. */
  readonly use: 'audit' | 'state' | 'scratch' | 'transfer' | 'client-crls';
  /** Member of the configuration that names it. */
  readonly member: string;
  readonly path: string;
}

/** Returns the directories that a service writes to, whose file systems may become full. */
export function writtenDirectories({ audit, state, sessions, transferStore, listeners: { api } }: Config): WrittenDirectory[] {
  return [
    ...(audit.enabled ? [{ use: 'audit', member: 'audit.directory', path: audit.directory } as const] : []),
    ...(state.kind === 'sqlite' ? [{ use: 'state', member: 'state.path', path: dirname(state.path) } as const] : []),
    { use: 'scratch', member: 'sessions.scratchDirectory', path: sessions.scratchDirectory },
    ...(transferStore === undefined || transferStore.s3 !== undefined
      ? []
      : [{ use: 'transfer', member: 'transferStore.directory', path: transferStore.directory } as const]),
    ...(api.clientRevocationUrls.length === 0
      ? []
      : [{ use: 'client-crls', member: 'listeners.api.clientRevocationDirectory', path: api.clientRevocationDirectory } as const]),
  ];
}
