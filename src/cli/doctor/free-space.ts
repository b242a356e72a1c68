import { stat } from 'node:fs/promises';
import { auditFiles } from '../../audit/file-names.ts';
import type { Config } from '../../config/config.ts';
import { writtenDirectories, type WrittenDirectory } from '../../config/written-directories.ts';
import { freeSpaceOf, type FreeSpace } from '../../service/free-space.ts';
import { leastBytes } from './disks.ts';
import { fault, warning, type Diagnosis } from './diagnosis.ts';

const leastShare = 0.1;
const dayMs = 24 * 60 * 60 * 1000;

/** Directories of one file system. */
interface Shared {
  readonly space: FreeSpace;
  readonly directories: readonly WrittenDirectory[];
}

/**
 * Diagnoses file systems that will become full: with less than a tenth left, or less than the audit log
 * grew within a day.
 * @param isRunning whether the service runs; otherwise `disks` reports what would stop it at once
 */
export async function freeSpace(
  config: Config,
  isRunning: boolean,
  spaceOf: (directory: string) => Promise<FreeSpace> = freeSpaceOf,
): Promise<Diagnosis[]> {
  const found: Diagnosis[] = [];
  for (const { space, directories } of await fileSystems(writtenDirectories(config), spaceOf)) {
    const { availableBytes, sizeBytes } = space;
    const members = directories.map(({ member }) => member).join(', ');
    const [first] = directories;
    const left = `${members}: the disk of ${first?.path} has ${inMebibytes(availableBytes)} MiB of ${inMebibytes(sizeBytes)} MiB left`;
    if (availableBytes < leastBytes) {
      if (isRunning) found.push(fault('disks', `${left}: free space on it`));
      continue;
    }
    const grown = directories.some(({ use }) => use === 'audit') ? await grownInADay(config.audit.directory) : 0;
    if (availableBytes < grown)
      found.push(warning('disks', `${left}, and the audit log grew by about ${inMebibytes(grown)} MiB within a day: free space on it`));
    else if (availableBytes < leastShare * sizeBytes) found.push(warning('disks', `${left}, less than a tenth: free space on it`));
  }
  return found;
}

async function fileSystems(
  directories: readonly WrittenDirectory[],
  spaceOf: (directory: string) => Promise<FreeSpace>,
): Promise<Shared[]> {
  const byDevice = new Map<number | string, Shared>();
  for (const directory of directories) {
    try {
      const device = await stat(directory.path).then(
        ({ dev }) => dev,
        () => directory.path,
      );
      const known = byDevice.get(device);
      const space = known?.space ?? (await spaceOf(directory.path));
      byDevice.set(device, { space, directories: [...(known?.directories ?? []), directory] });
    } catch {
      // Of what cannot be read, other checks tell.
    }
  }
  return [...byDevice.values()];
}

/** Bytes of the files that were written within a day: at most one of them is older in part. */
async function grownInADay(directory: string): Promise<number> {
  try {
    const files = await Promise.all((await auditFiles(directory)).map(async ({ path }) => stat(path)));
    return files.filter(({ mtimeMs }) => mtimeMs > Date.now() - dayMs).reduce((bytes, { size }) => bytes + size, 0);
  } catch {
    return 0;
  }
}

function inMebibytes(bytes: number): number {
  return Math.floor(bytes / (1024 * 1024));
}
