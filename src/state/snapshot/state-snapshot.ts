import type { StateConfig } from '../../config/state-config.ts';
import { PostgresqlSnapshot } from './postgresql-snapshot.ts';
import { SqliteSnapshot } from './sqlite-snapshot.ts';

/** A file of a copy of the state store. */
export interface SnapshotFile {
  readonly name: string;
  readonly bytes: number;
  readonly content: AsyncIterable<Uint8Array>;
}

/** The state store as it was at one moment, while others go on changing it. */
export interface StateSnapshot {
  /** Yields the rows of a SELECT without parameters, in the SQL that both databases have. */
  rows(select: string): AsyncGenerator;
  /**
   * Yields the files of a copy of the whole store. Each must be read to its end before the next.
   * @throws {Error} if the copy cannot be made
   */
  files(): AsyncGenerator<SnapshotFile>;
  close(): Promise<void>;
}

/** Fixes the present state of the store. @throws {Error} if it cannot be read */
export async function openSnapshot(config: StateConfig): Promise<StateSnapshot> {
  return config.kind === 'sqlite' ? SqliteSnapshot.open(config.path) : PostgresqlSnapshot.open(config);
}
