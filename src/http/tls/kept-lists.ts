import { createHash, type X509Certificate } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../telemetry/error-code.ts';
import { authorityKey, type SignedList } from './client-trust.ts';

/**
 * The newest CRL of each client CA in a directory, one file each, for a start while its server is
 * away.
 */
export class KeptLists {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  /**
   * Returns the file of a CA: named by its name and key, it stays the same for a renewed
   * certificate.
   */
  fileOf(authority: X509Certificate): string {
    return join(this.directory, `${createHash('sha256').update(authorityKey(authority)).digest('hex').slice(0, 32)}.crl`);
  }

  /**
   * Returns what is kept of a CA, as it was written; undefined if there is nothing.
   * @throws {Error} if it cannot be read
   */
  async read(authority: X509Certificate): Promise<Buffer | undefined> {
    try {
      return await readFile(this.fileOf(authority));
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  /**
   * Replaces what is kept of a CA. The file is always whole, the former one or the new one.
   * @throws {Error} if it cannot be written; then the former one stays
   */
  async write({ authority, der }: SignedList): Promise<void> {
    const path = this.fileOf(authority);
    const next = `${path}.next`;
    await mkdir(this.directory, { recursive: true, mode: 0o700 });
    try {
      await writeSynced(next, der);
      await rename(next, path);
      await syncDirectory(this.directory);
    } catch (error) {
      await rm(next, { force: true }).catch(() => undefined);
      throw error;
    }
  }
}

async function writeSynced(path: string, content: Uint8Array): Promise<void> {
  const file = await open(path, 'w', 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
