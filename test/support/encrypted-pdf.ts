import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Revisions of the standard security handler that qpdf writes, with the options that make it. */
const revisions = {
  2: ['40'],
  3: ['128', '--use-aes=n'],
  4: ['128', '--use-aes=y'],
  5: ['256', '--force-R5'],
  6: ['256'],
} as const;

export type SecurityRevision = keyof typeof revisions;
export const securityRevisions: readonly SecurityRevision[] = [2, 3, 4, 5, 6];

export interface Encryption {
  readonly revision: SecurityRevision;
  readonly user: string;
  readonly owner: string;
  /** Further options of qpdf, such as `--annotate=n`. */
  readonly permissions?: readonly string[];
}

/** Returns the PDF as qpdf encrypts it. */
export function encryptedPdf(pdf: Uint8Array, { revision, user, owner, permissions = [] }: Encryption): Buffer {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-encrypted-'));
  try {
    const [from, to] = [join(directory, 'from.pdf'), join(directory, 'to.pdf')];
    writeFileSync(from, pdf);
    const options = ['--allow-weak-crypto', '--encrypt', user, owner, ...revisions[revision], ...permissions, '--'];
    execFileSync('qpdf', [...options, from, to], { stdio: ['ignore', 'ignore', 'pipe'] });
    return readFileSync(to);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
