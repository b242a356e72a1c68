import { DatabaseSync } from 'node:sqlite';

/**
 * Sees to it that one process has the embedded store: the counters of attempts in flight are in its
 * memory. The lock is that of a database beside the store, so that a backup can read the store
 * meanwhile; the kernel takes it away with the process.
 * @throws {Error} if another process has it
 */
export function claimAlone(path: string): { release(): void } {
  const lock = new DatabaseSync(`${path}-lock`, { timeout: 0 });
  try {
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE;');
  } catch (error) {
    lock.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === 5) {
      throw new Error('another process has this state store open; SQLite is for one instance, several take PostgreSQL', { cause: error });
    }
    throw error;
  }
  return {
    release: () => {
      lock.close();
    },
  };
}
