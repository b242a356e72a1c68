import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { projectRoot, readQuickstart, type Quickstart } from './quickstart-description.ts';

/**
 * First level of a configuration file; deeper levels stay unchanged unless the bench changes them.
 */
const Configuration = z.looseObject({ limits: z.record(z.string(), z.number()), audit: z.looseObject({}) });
type Configuration = z.output<typeof Configuration>;

/** Starts a separate quickstart in a directory, with changes to its configuration. */
export function startOwnService(directory: string, change?: (configuration: Configuration) => Configuration): Quickstart {
  quickstart(directory, 'quickstart');
  if (change !== undefined) {
    quickstart(directory, 'stop');
    const file = join(directory, 'signetd.yaml');
    writeFileSync(file, stringify(change(Configuration.parse(parse(readFileSync(file, 'utf8'))))));
    startAgain(directory);
  }
  const description = readQuickstart(directory);
  if (description === undefined) throw new Error('the quickstart wrote no description');
  return description;
}

export function stopOwnService(directory: string): void {
  quickstart(directory, 'stop');
}

/** Retries, since another program may have taken the ports for a moment. */
function startAgain(directory: string, attempts = 5): void {
  try {
    quickstart(directory, 'quickstart');
  } catch (error) {
    if (attempts === 1) throw error;
    startAgain(directory, attempts - 1);
  }
}

function quickstart(directory: string, program: 'quickstart' | 'stop'): void {
  execFileSync(process.execPath, [join(projectRoot, 'dist', 'quickstart', `${program}.js`)], {
    env: { ...process.env, SIGNETD_QUICKSTART_DIRECTORY: directory },
    stdio: 'ignore',
  });
}
