import { basename, dirname, isAbsolute, normalize } from 'node:path';
import { auditFileForm } from '../audit/file-names.ts';
import type { Config } from '../config/config.ts';
import { accountDirectoryOf } from '../config/token-config.ts';
import { fileIdForm } from '../documents/transfer/transfer-parts.ts';
import { accountFileForm } from '../token/account-files.ts';
import type { Manifest, Part } from './manifest.ts';
import { namedPaths } from './named-files.ts';

/** Names of the files in a directory of each kind. */
export const filesOfKind = {
  audit: auditFileForm,
  account: accountFileForm,
  transfer: fileIdForm,
} as const;

const dumpForm = /^state\/postgresql\.dump\.\d{1,12}$/;
const ownParts: ReadonlySet<string> = new Set(['README.txt', 'token-keys.jsonl']);
/** Set user ID, set group ID, sticky. */
const specialBits = 0o7000;
const setUserId = 0o4000;
/** NAME_MAX of Linux. */
const fileNameMaxBytes = 255;

/**
 * Compares the parts of a backup with the configuration in it: each part is where that names it, and
 * has the name in the archive that belongs there. Returns a line for each one that is not, none of
 * which a backup of signetd has.
 */
export function wrongParts(manifest: Manifest, config: Config): string[] {
  const rules = rulesOf(manifest, config);
  const taken = new Set<string>();
  const wrong: string[] = [];
  if (!isPlain(manifest.configuration)) wrong.push(`${shown(manifest.configuration)}: not the path of a configuration`);
  for (const directory of manifest.directories) {
    if (!isPlain(directory.path)) wrong.push(`${shown(directory.path)}: not a path that can be restored`);
    else if ((directory.mode & setUserId) !== 0) wrong.push(`${shown(directory.path)}: its permissions have special bits`);
  }
  for (const kind of ['audit', 'account', 'transfer'] as const) {
    const said = manifest[kind]?.directory;
    if (said !== undefined && said !== rules.directories[kind])
      wrong.push(`${shown(said)}: not the directory that the configuration in the backup names`);
  }
  for (const part of manifest.parts) {
    const fault = partFault(part, rules);
    if (fault !== undefined) wrong.push(`${shown(part.path ?? part.name)}: ${fault}`);
    if (part.path === null) continue;
    if (taken.has(part.path)) wrong.push(`${shown(part.path)}: the backup has two files for it`);
    taken.add(part.path);
  }
  for (const path of taken)
    if (isBelowAny(path, taken)) wrong.push(`${shown(path)}: the backup has a file in the place of a directory above it`);
  return wrong;
}

interface Rules {
  readonly configuration: ReadonlySet<string>;
  readonly statePath: string | null;
  readonly directories: Readonly<Record<keyof typeof filesOfKind, string | undefined>>;
}

function rulesOf(manifest: Manifest, config: Config): Rules {
  const { state, audit, token, transferStore } = config;
  // What the manifest says of them is used too, to lock and to list them.
  const both = (named: string | undefined, said: string | undefined): string | undefined => (named === said ? named : undefined);
  return {
    configuration: new Set([manifest.configuration, ...namedPaths(config)]),
    statePath: state.kind === 'sqlite' && manifest.state.kind === 'sqlite' ? state.path : null,
    directories: {
      audit: both(audit.directory, manifest.audit?.directory),
      account: both(accountDirectoryOf(token), manifest.account?.directory),
      transfer: both(transferStore?.directory, manifest.transfer?.directory),
    },
  };
}

function partFault({ name, kind, path, mode }: Part, { configuration, statePath, directories }: Rules): string | undefined {
  const unnamed = 'the configuration in the backup does not name this path';
  const misnamed = `its name in the archive is ${shown(name)}`;
  if (path === null)
    return kind === 'about' ? foreign(ownParts.has(name)) : foreign(kind === 'state' && statePath === null && dumpForm.test(name));
  if (!isPlain(path)) return 'not a path that can be restored';
  if ((mode & specialBits) !== 0) return 'its permissions have special bits';
  switch (kind) {
    case 'configuration':
      if (!configuration.has(path)) return unnamed;
      return name === `configuration${path}` ? undefined : misnamed;
    case 'state':
      if (path !== statePath) return unnamed;
      return name === 'state/state.sqlite' ? undefined : misnamed;
    case 'audit':
    case 'account':
    case 'transfer':
      if (dirname(path) !== directories[kind] || !filesOfKind[kind].test(basename(path))) return unnamed;
      return name === `${kind}/${basename(path)}` ? undefined : misnamed;
    case 'about':
      return foreign(false);
  }
}

function isBelowAny(path: string, files: ReadonlySet<string>): boolean {
  for (let above = dirname(path); above !== dirname(above); above = dirname(above)) if (files.has(above)) return true;
  return false;
}

function foreign(isOwn: boolean): string | undefined {
  return isOwn ? undefined : 'no backup has such a file';
}

/** Whether a path is absolute, in its shortest form, and printable. */
function isPlain(path: string): boolean {
  const isNormal = isAbsolute(path) && normalize(path) === path && path !== '/' && !path.endsWith('/') && !/[\p{Cc}\p{Cs}]/u.test(path);
  return isNormal && path.split('/').every((name) => Buffer.byteLength(name) <= fileNameMaxBytes);
}

function shown(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cs}]/gu, '?').slice(0, 200);
}
