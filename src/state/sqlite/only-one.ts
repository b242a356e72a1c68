import { DatabaseSync } from 'node:sqlite';

/**
 * Ensures that a single process uses the embedded store, since the counters of attempts in flight
 * are in its memory. The lock is on a database beside the store, so that a backup can read the
 * store meanwhile; the kernel releases it when the process ends.
 * @throws {Error} if another process holds the lock
 */
export function claimAlone(path: string): { release(): void } {
  const lock = new DatabaseSync(`${path}-lock`, { timeout: 0 });
  try {
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE;');
  } catch (error) {
    lock.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === 5) {
      throw new Error('another process has this state store open; SQLite supports a single instance, use PostgreSQL for several', {
        cause: error,
      });
    }
    throw error;
  }
  return {
    release: () => {
      lock.close();
    },
  };
}
