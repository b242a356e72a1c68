import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Returns a file as qpdf rewrites it. @throws {Error} where it cannot; it may have warnings */
export function qpdf(pdf: Uint8Array, options: readonly string[]): Buffer {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-qpdf-'));
  try {
    const [given, made] = [join(directory, 'given.pdf'), join(directory, 'made.pdf')];
    writeFileSync(given, pdf);
    const { status, stderr } = spawnSync('qpdf', [...options, given, made], { encoding: 'utf8', timeout: 60_000 });
    // 3: it had warnings.
    if (status !== 0 && status !== 3) throw new Error(`qpdf ${options.join(' ')}: ${stderr}`);
    return readFileSync(made);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
