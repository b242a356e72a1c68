import { dirname } from 'node:path';
import { existsSync } from 'node:fs';
import type { Config } from '../../config/config.ts';
import { checkDirectory, checkPrivateDirectory } from './file-checks.ts';
import type { Findings } from './findings.ts';

/** Directories of callers have to be there; that of the transfer store is made at the start, and is for the service's user alone. */
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
}
