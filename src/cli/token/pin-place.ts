import { chmodSync, chownSync, closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { credentialFile } from '../../config/encrypted-credential.ts';
import { pinFrom } from '../../token/operator/token-failure.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { removeCredential, storeCredential, type CredentialKey } from '../setup/credentials.ts';

/** Where the user PIN is stored, and the next one while it is being changed. */
export interface PinPlace {
  /** Reference of the next PIN. */
  readonly next: string;
  /** Whether a change was begun. */
  readonly isBegun: boolean;
  /** Stores the next PIN beside the present one: it is on the disk when this returns. */
  begin(pin: Uint8Array): void;
  /** Has the next PIN replace the present one. */
  finish(): void;
  /** Removes the next PIN. */
  giveUp(): void;
}

/**
 * @param reference `token.pin`
 * @throws {CommandError} if the PIN is stored where this process cannot replace it
 */
export function pinPlace(reference: string, key: CredentialKey): PinPlace {
  return reference.startsWith('file:')
    ? filePlace(reference.slice('file:'.length))
    : credentialPlace(reference.slice('credential:'.length), key);
}

function filePlace(path: string): PinPlace {
  const next = `${path}.next`;
  return {
    next: `file:${next}`,
    isBegun: existsSync(next),
    begin(pin) {
      const { uid, gid, mode } = statSync(path);
      // A part of a PIN is never taken for the next one.
      const written = `${next}.new`;
      rmSync(written, { force: true });
      const descriptor = openSync(written, 'wx', 0o600);
      try {
        writeSync(descriptor, pin);
        fsyncSync(descriptor);
      } finally {
        closeSync(descriptor);
      }
      chownSync(written, uid, gid);
      chmodSync(written, mode & 0o777);
      renameSync(written, next);
      syncDirectory(path);
    },
    finish() {
      renameSync(next, path);
      syncDirectory(path);
    },
    giveUp() {
      rmSync(next, { force: true });
    },
  };
}

function syncDirectory(path: string): void {
  const descriptor = openSync(dirname(path), 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function credentialPlace(name: string, key: CredentialKey): PinPlace {
  if (process.geteuid?.() !== 0)
    throw new CommandError(exitCodes.refused, 'run it as root, who alone can replace the credential of the PIN');
  if (!existsSync(credentialFile(name)))
    throw new CommandError(
      exitCodes.refused,
      `${credentialFile(name)} does not exist: this command replaces the PIN only there, or in a file`,
    );
  const next = `${name}-next`;
  return {
    next: `credential:${next}`,
    isBegun: existsSync(credentialFile(next)),
    begin(pin) {
      storeCredential(next, pin, key);
    },
    finish() {
      // A repetition after a kill finds the next one still there.
      const pin = pinFrom(`credential:${next}`);
      storeCredential(name, pin, key);
      pin.fill(0);
      removeCredential(next);
    },
    giveUp() {
      removeCredential(next);
    },
  };
}
