import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Why no small disk can be mounted here; undefined where it can. */
export const noSmallDisk = process.getuid?.() === 0 ? undefined : 'only root mounts a tmpfs';

/** A tmpfs of its own that can be filled to the last byte. */
export class SmallDisk {
  readonly directory = mkdtempSync(join(tmpdir(), 'signetd-small-disk-'));
  readonly #filler = join(this.directory, 'filler');

  constructor(bytes: number) {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=0700`, 'tmpfs', this.directory]);
  }

  /** Leaves this many blocks free. */
  fill(freeBlocks = 0): void {
    const { bavail, bsize } = statfsSync(this.directory);
    writeFileSync(this.#filler, Buffer.alloc((bavail - freeBlocks) * bsize));
  }

  empty(): void {
    unlinkSync(this.#filler);
  }

  remove(): void {
    execFileSync('umount', ['--lazy', this.directory]);
    rmSync(this.directory, { recursive: true, force: true });
  }
}
