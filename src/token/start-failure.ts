import { chmodSync, closeSync, constants, fstatSync, openSync, readSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

const textMaxCharacters = 2000;
const fileMaxBytes = 8192;

/** Why the last token host could not start. It has ended; the service manager may start another. */
const StartFailure = z.strictObject({
  /** Exit code of the host. */
  exitCode: z.int(),
  message: z.string(),
  at: z.iso.datetime(),
});
export type StartFailure = z.output<typeof StartFailure>;

/** Beside the host's socket, since the daemon may open that and nothing else of the host. */
const fileOf = (socketPath: string): string => `${socketPath}.failure`;

/**
 * Leaves the reason of a failed start for the daemon, which does not see how a host ended that the
 * service manager starts.
 * @param mode of the host's sockets: who may connect to them may read the reason
 * @throws {Error} if it cannot be written
 */
export function leaveStartFailure(socketPath: string, mode: 0o600 | 0o660, exitCode: number, message: string): void {
  const path = fileOf(socketPath);
  const failure: StartFailure = { exitCode, message: message.slice(0, textMaxCharacters), at: new Date().toISOString() };
  const unfinished = `${path}.new`;
  rmSync(unfinished, { force: true });
  writeFileSync(unfinished, JSON.stringify(failure), { mode: 0o600, flag: 'wx' });
  chmodSync(unfinished, mode & 0o640);
  renameSync(unfinished, path);
}

/** A host serves. */
export function removeStartFailure(socketPath: string): void {
  rmSync(fileOf(socketPath), { force: true });
}

/** Returns undefined if there is none that can be read. */
export function readStartFailure(socketPath: string): StartFailure | undefined {
  try {
    const descriptor = openSync(fileOf(socketPath), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      if (!fstatSync(descriptor).isFile()) return undefined;
      const buffer = Buffer.alloc(fileMaxBytes);
      const length = readSync(descriptor, buffer, 0, fileMaxBytes, 0);
      return StartFailure.safeParse(JSON.parse(buffer.toString('utf8', 0, length))).data;
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return undefined;
  }
}
