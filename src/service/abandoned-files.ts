import { existsSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { errorCode } from '../telemetry/error-code.ts';

/** Name of a file that this process writes beside `path` until it is complete. */
export function unfinishedName(path: string, suffix: string): string {
  return `${path}.${process.pid}.${suffix}`;
}

/** Removes the unfinished files and directories beside these paths whose processes were killed. */
export function removeAbandoned(paths: readonly string[], suffix: string): void {
  const form = new RegExp(String.raw`^(.+)\.(\d{1,10})\.${suffix}$`);
  for (const [directory, there] of Map.groupBy(paths, (path) => dirname(path))) {
    const names = new Set(there.map((path) => basename(path)));
    for (const name of existsSync(directory) ? readdirSync(directory) : []) {
      const [, base = '', pid = ''] = form.exec(name) ?? [];
      if (names.has(base) && !isRunning(Number(pid))) rmSync(join(directory, name), { recursive: true, force: true });
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user is running too.
    return errorCode(error) === 'EPERM';
  }
}
