import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { projectRoot, readQuickstart, type Quickstart } from './quickstart-description.ts';

/** Starts or stops the quickstart in a directory. */
export function quickstart(directory: string, program: 'quickstart' | 'stop'): void {
  execFileSync(process.execPath, [join(projectRoot, 'dist', 'quickstart', `${program}.js`)], {
    env: { ...process.env, SIGNETD_QUICKSTART_DIRECTORY: directory },
    stdio: 'ignore',
  });
}

/** Starts it again with another configuration. */
export function restartWith(directory: string, change: (config: unknown) => unknown): Quickstart {
  quickstart(directory, 'stop');
  const file = join(directory, 'signetd.yaml');
  writeFileSync(file, stringify(change(parse(readFileSync(file, 'utf8')))));
  startAgain(directory);
  const description = readQuickstart(directory);
  if (description === undefined) throw new Error('the quickstart left no description');
  return description;
}

/** Somebody else may have taken the ports in the meantime, for a moment. */
function startAgain(directory: string, attempts = 5): void {
  try {
    quickstart(directory, 'quickstart');
  } catch (error) {
    if (attempts === 1) throw error;
    startAgain(directory, attempts - 1);
  }
}
