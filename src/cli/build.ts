import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { version } from '../telemetry/version.ts';

/** Identifies the program that runs. */
export interface Build {
  readonly version: string;
  /** Version of Node, and the platform that it is built for. */
  readonly node: string;
  /** First 12 hexadecimal digits of the SHA-256 of the program's files: equal for equal programs. */
  readonly build: string;
}

/** Reads all files of the program, so that even a changed installation is told apart. */
export function thisBuild(): Build {
  const root = resolve(import.meta.dirname, '..');
  const digest = createHash('sha256');
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => /\.(?:js|ts|node)$/.test(path));
  for (const path of files.toSorted()) {
    const bytes = readFileSync(join(root, path));
    digest.update(`${path} ${bytes.length}\n`).update(bytes);
  }
  return {
    version: version(),
    node: `${process.version} ${process.platform}-${process.arch}`,
    build: digest.digest('hex').slice(0, 12),
  };
}
