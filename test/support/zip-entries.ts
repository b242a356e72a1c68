import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';

const script = `import base64, json, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as container:
    print(json.dumps([[i.filename, i.compress_type, base64.b64encode(container.read(i)).decode()] for i in container.infolist()]))`;
const Entries = z.array(z.tuple([z.string(), z.int(), z.base64()]));

export interface ZipEntry {
  readonly name: string;
  readonly isCompressed: boolean;
  readonly content: Buffer;
}

/** The entries of a ZIP container in its order, as Python reads them. */
export function zipEntries(container: Buffer): ZipEntry[] {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-zip-'));
  const path = join(directory, 'container.zip');
  try {
    writeFileSync(path, container);
    const printed = execFileSync('python3', ['-c', script, path], { encoding: 'utf8', maxBuffer: 256 * 1024 * 1024 });
    return Entries.parse(JSON.parse(printed)).map(([name, method, content]) => ({
      name,
      isCompressed: method !== 0,
      content: Buffer.from(content, 'base64'),
    }));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The contents by their names. */
export function filesOf(entries: readonly ZipEntry[]): Record<string, Buffer> {
  return Object.fromEntries(entries.map(({ name, content }) => [name, content]));
}
