import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type Files = Readonly<Record<string, Uint8Array | string>>;

/** Runs OpenSSL with files in a directory of their own; `{name}` in an argument is the path of the file `name`. Answers all that it printed. */
export function openssl(args: readonly string[], files?: Files): string;
/** The same, and answers a file that it wrote. */
export function openssl(args: readonly string[], files: Files, written: string): Buffer;
export function openssl(args: readonly string[], files: Files = {}, written?: string): string | Buffer {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-openssl-'));
  try {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content);
    const placed = args.map((argument) => argument.replaceAll(/\{(\w+)\}/g, (_match, name: string) => join(directory, name)));
    const printed = execFileSync('sh', ['-c', 'exec openssl "$@" 2>&1', 'openssl', ...placed], {
      cwd: directory,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
    return written === undefined ? printed : readFileSync(join(directory, written));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
