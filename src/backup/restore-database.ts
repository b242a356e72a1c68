import type { PostgresqlConfig } from '../config/state-config.ts';
import { restoreDump } from '../state/snapshot/postgresql-restore.ts';
import type { BackupFile } from './encrypted-file.ts';
import { readBackup } from './read-backup.ts';

/**
 * Restores the dump in a backup. Its last piece is passed on only when the whole file has been
 * read and found to be as its manifest says: until then nothing is committed.
 * @returns the schema of the tables that were in the way, if any
 */
export async function restoreDatabase(
  backup: BackupFile,
  config: PostgresqlConfig,
  progress: (bytes: number) => void,
): Promise<string | undefined> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const read = async (): Promise<void> => {
    let held: Uint8Array | undefined;
    try {
      await readBackup(
        backup,
        async (name, content) => {
          if (!name.startsWith('state/postgresql.dump.')) return;
          for await (const chunk of content) {
            if (held !== undefined) await writer.write(held);
            held = chunk;
          }
        },
        progress,
      );
      if (held !== undefined) await writer.write(held);
      await writer.close();
    } catch (error) {
      await writer.abort(error).catch(() => undefined);
      throw error;
    }
  };
  const [restored] = await Promise.all([restoreDump(config, readable), read().catch(ignoredAbove)]);
  return restored;
}

/** The reader of the stream fails with the same error. */
function ignoredAbove(): void {
  // Nothing else to do.
}
