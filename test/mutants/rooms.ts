import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The rooms whose rules matter most: keys, the token, what verifies, and the account of it all. */
export const rooms: Readonly<Record<string, string>> = {
  keys: 'src/keys',
  webcrypto: 'src/webcrypto',
  token: 'src/token',
  cms: 'src/cms',
  path: 'src/x509/path',
  revocation: 'src/revocation',
  audit: 'src/audit',
  xades: 'src/signatures/xades',
  xml: 'src/xml',
  documents: 'src/documents',
  idempotency: 'src/idempotency',
  repositories: 'src/state/repositories',
  levels: 'src/signatures/levels',
  sessions: 'src/signatures/sessions',
  zip: 'src/zip',
  tar: 'src/tar',
  backup: 'src/backup',
  syslog: 'src/audit/syslog',
  state: 'src/state',
  pades: 'src/signatures/pades',
  pdf: 'src/pdf',
  console: 'src/console',
  outgoing: 'src/outgoing',
};

/** The source files of a room. */
export function filesOf(root: string, room: string): string[] {
  const directory = rooms[room];
  if (directory === undefined) throw new Error(`the rooms are ${Object.keys(rooms).join(', ')}`);
  return readdirSync(join(root, directory), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(directory, name))
    .toSorted();
}
