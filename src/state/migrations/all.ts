import type { Migration, MigrationProvider } from 'kysely/migration';
import * as first from './0001-first.ts';

/** Every migration, oldest first. They only go forward. */
const migrations: Record<string, Migration> = { '0001-first': first };

export const migrationProvider: MigrationProvider = { getMigrations: async () => Promise.resolve(migrations) };
