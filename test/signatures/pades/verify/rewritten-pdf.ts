import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Returns a PDF as qpdf writes it again. */
export function rewritten(pdf: Uint8Array, options: readonly string[]): Buffer {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-qpdf-'));
  try {
    writeFileSync(join(directory, 'in.pdf'), pdf);
    run('qpdf', [...options, join(directory, 'in.pdf'), join(directory, 'out.pdf')]);
    return readFileSync(join(directory, 'out.pdf'));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function run(program: string, options: readonly string[]): void {
  const { status, stderr, error } = spawnSync(program, options, { encoding: 'utf8', timeout: 60_000 });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(stderr);
}
