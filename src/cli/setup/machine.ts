import { spawnSync } from 'node:child_process';
import { closeSync, constants, fchmodSync, fchownSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { groupNumber, userNumber } from '../../service/native.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';

const environment = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8' };
/** A unit may wait two minutes for its token. */
const timeoutMs = 5 * 60 * 1000;

interface Finished {
  readonly status: number | null;
  readonly output: string;
}

/** Runs a program to its end. `input`: for its standard input; secrets never go into arguments. */
export function tryRun(program: string, args: readonly string[], input: string | Uint8Array = ''): Finished {
  const { status, error, stdout, stderr } = spawnSync(program, args, { input, env: environment, timeout: timeoutMs });
  return { status, output: error?.message ?? `${String(stdout)}${String(stderr)}`.trim() };
}

/** The same. @throws {CommandError} with its output if it fails */
export function run(program: string, args: readonly string[], input: string | Uint8Array = ''): string {
  const { status, output } = tryRun(program, args, input);
  if (status === 0) return output;
  throw new CommandError(exitCodes.faultFound, `${[program, ...args].join(' ')}: ${output}`);
}

/** Writes a file as a whole, replacing an older one, with this mode and group. */
export function writeOwned(path: string, content: string | Uint8Array, mode: number, group = 'root'): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  const temporary = `${path}.new`;
  // Not through a link that somebody has put there, since clients' directories may be a user's.
  rmSync(temporary, { force: true });
  const file = openSync(temporary, 'wx', 0o600);
  try {
    writeFileSync(file, content);
    fchownSync(file, 0, groupNumber(group));
    fchmodSync(file, mode);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
}

/**
 * Makes a directory with this owner and mode, or changes those of an existing one.
 * @throws {Error} if it is a symbolic link, which its parent's owner may have put there
 */
export function ownDirectory(path: string, user: string, group: string, mode: number): void {
  mkdirSync(path, { recursive: true });
  const directory = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    fchownSync(directory, userNumber(user), groupNumber(group));
    fchmodSync(directory, mode);
  } finally {
    closeSync(directory);
  }
}

export function isActive(unit: string): boolean {
  return tryRun('systemctl', ['is-active', '--quiet', unit]).status === 0;
}
