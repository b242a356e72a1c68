import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Runs OpenSSL with files in a directory of their own; `{name}` in an argument is the path of the file `name`. Answers all that it printed. */
export function openssl(args: readonly string[], files: Readonly<Record<string, Uint8Array | string>> = {}): string {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-openssl-'));
  try {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content);
    const placed = args.map((argument) => argument.replaceAll(/\{(\w+)\}/g, (_match, name: string) => join(directory, name)));
    return execFileSync('sh', ['-c', 'exec openssl "$@" 2>&1', 'openssl', ...placed], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
