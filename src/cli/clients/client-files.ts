import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { pem } from '../../x509/pem.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { ClientKey } from './client-key.ts';

const endings = ['pem', 'key', 'p12', 'p12.password'] as const;
/** 160 bits, which is as strong as the file's encryption. */
const passwordBytes = 20;

/** Paths of what a client gets. Those of a key exist only if it was made here. */
export interface ClientFiles {
  readonly certificate: string;
  readonly key?: string;
  readonly pkcs12?: string;
  readonly pkcs12Password?: string;
}

/**
 * Writes a client's certificate and, if the key was made here, its key (PKCS #8) and both as PKCS
 * #12, whose random password is in a file of its own. Secrets have mode 0600. No file is
 * overwritten, and none is left if one cannot be written.
 * @param authorities PEM files of the CAs that the client trusts, for PKCS #12
 * @throws {CommandError}
 */
export function writeClientFiles(
  place: { readonly directory: string; readonly name: string },
  der: Uint8Array,
  { privateKey }: ClientKey,
  authorities: readonly string[],
): ClientFiles {
  const written: string[] = [];
  const write = (ending: (typeof endings)[number], content: string | Uint8Array, mode: number): string => {
    const path = join(resolve(place.directory), `${place.name}.${ending}`);
    writeFileSync(path, content, { flag: 'wx', mode });
    written.push(path);
    return path;
  };
  try {
    mkdirSync(resolve(place.directory), { recursive: true, mode: 0o700 });
    const certificate = write('pem', pem('CERTIFICATE', der), 0o644);
    if (privateKey === undefined) return { certificate };
    const keyPem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
    const key = write('key', keyPem, 0o600);
    const pkcs12Password = write('p12.password', `${randomBytes(passwordBytes).toString('base64url')}\n`, 0o600);
    const bundle = `${keyPem}${pem('CERTIFICATE', der)}${authorities.map((file) => readFileSync(file, 'latin1')).join('')}`;
    const pkcs12 = write('p12', pkcs12Of(bundle, place.name, pkcs12Password), 0o600);
    return { certificate, key, pkcs12, pkcs12Password };
  } catch (error) {
    for (const path of written) rmSync(path, { force: true });
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST' && 'path' in error) {
      throw new CommandError(
        exitCodes.refused,
        `${String(error.path)} already exists and will not be overwritten: choose another --directory`,
      );
    }
    throw new CommandError(exitCodes.refused, reasonOf(error));
  }
}

/** Returns the name, or the first of `name-2`, `name-3` … of which the directory has no file. */
export function newName(directory: string, name: string): string {
  const isTaken = (one: string): boolean => endings.some((ending) => existsSync(join(resolve(directory), `${one}.${ending}`)));
  let free = name;
  for (let number = 2; isTaken(free); number += 1) free = `${name}-${number}`;
  return free;
}

/** Removes the files of a client that could not be registered. */
export function removeClientFiles(files: ClientFiles): void {
  for (const path of Object.values(files)) rmSync(String(path), { force: true });
}

/** The paths as lines for people. */
export function clientFileFields({ certificate, key, pkcs12, pkcs12Password }: ClientFiles): (readonly [string, string])[] {
  const entries = { certificate, key, 'PKCS #12': pkcs12, 'its password': pkcs12Password };
  return Object.entries(entries).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
}

/** Makes a PKCS #12 file (RFC 7292) with OpenSSL, which gets the key on its standard input only. */
function pkcs12Of(bundle: string, name: string, passwordFile: string): Buffer {
  const { status, error, stdout, stderr } = spawnSync('openssl', ['pkcs12', '-export', '-name', name, '-passout', `file:${passwordFile}`], {
    input: bundle,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8' },
  });
  if (status === 0) return stdout;
  throw new Error(`openssl cannot make the PKCS #12 file: ${error?.message ?? stderr.toString('utf8').trim()}`);
}
