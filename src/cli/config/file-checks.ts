import { statSync, existsSync } from 'node:fs';
import type { Place, Findings } from './findings.ts';
import { dirname } from 'node:path';
import { readCertificates } from './tls-checks.ts';
import type { Config } from '../../config/config.ts';
import { readKeyFile, readSecret } from '../../config/secret-reference.ts';
import type { S3Config } from '../../config/transfer-store-config.ts';

/** Checks that only the service can read the file of a private key, as the service does. */
export function checkPrivateKey(place: Place, path: string): void {
  const mode = modeOf(path);
  if (mode === undefined) return;
  if ((mode & 0o037) !== 0) place.fault(`${path}: other users can read this file (mode ${octal(mode)}); run chmod 0600`);
  else place.tryTo(() => readKeyFile(path).fill(0));
}

/** Checks that only the owner can change the file. */
export function checkNotWritable(place: Place, path: string): void {
  const mode = modeOf(path);
  if (mode !== undefined && (mode & 0o022) !== 0)
    place.fault(`${path}: other users can change this file (mode ${octal(mode)}); run chmod go-w`);
}

export function checkDirectory(place: Place, path: string): void {
  const isDirectory = place.tryTo(() => statSync(path).isDirectory());
  if (isDirectory === false) place.fault(`${path}: this is not a directory`);
}

/** Checks that only the owner can use the directory. */
export function checkPrivateDirectory(place: Place, path: string): void {
  checkDirectory(place, path);
  const mode = modeOf(path);
  if (mode !== undefined && (mode & 0o077) !== 0)
    place.fault(`${path}: other users can use this directory (mode ${octal(mode)}); run chmod 0700`);
}

/** Returns the permission bits; undefined if the file does not exist, which other checks report. */
function modeOf(path: string): number | undefined {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode;
  return mode === undefined ? undefined : mode & 0o777;
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0');
}

/**
 * Checks that the callers' directories exist. The directory of the transfer store is created at the
 * start and must be private to the service's user.
 */
export function checkDocumentDirectories(findings: Findings, { documents, tenants, transferStore }: Config): void {
  const lists = { documents, ...Object.fromEntries(Object.entries(tenants).map(([name, tenant]) => [`tenants.${name}`, tenant])) };
  for (const [member, { readDirectories, writeDirectories }] of Object.entries(lists)) {
    for (const directory of readDirectories ?? []) checkDirectory(findings.at(`${member}.readDirectories`), directory);
    for (const directory of writeDirectories ?? []) checkDirectory(findings.at(`${member}.writeDirectories`), directory);
  }
  if (transferStore === undefined) return;
  const place = findings.at('transferStore.directory');
  if (existsSync(transferStore.directory)) checkPrivateDirectory(place, transferStore.directory);
  else checkDirectory(place, dirname(transferStore.directory));
  if (transferStore.s3 !== undefined) checkObjectStore(findings, transferStore.s3);
}

/** Checks the files of the object store. Only the service can read its credentials of systemd. */
function checkObjectStore(findings: Findings, { certificateAuthority, ...s3 }: S3Config): void {
  const at = 'transferStore.s3';
  if (certificateAuthority !== undefined) findings.at(`${at}.certificateAuthority`).tryTo(() => readCertificates(certificateAuthority));
  for (const member of ['accessKeyId', 'secretAccessKey'] as const) {
    if (s3[member].startsWith('file:')) findings.at(`${at}.${member}`).tryTo(() => readSecret(s3[member], 'anyone'));
  }
}
