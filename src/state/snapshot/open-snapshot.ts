import type { StateConfig } from '../../config/state-config.ts';
import { PostgresqlSnapshot } from './postgresql-snapshot.ts';
import { SqliteSnapshot } from './sqlite-snapshot.ts';
import type { StateSnapshot } from './state-snapshot.ts';

/** Fixes the present state of the store. @throws {Error} if it cannot be read */
export async function openSnapshot(config: StateConfig): Promise<StateSnapshot> {
  return config.kind === 'sqlite' ? SqliteSnapshot.open(config.path) : PostgresqlSnapshot.open(config);
}
