import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { command } from './command.ts';
import { layout, projectDirectory } from './layout.ts';

export const tokenLabel = 'signetd';

/**
 * Creates a SoftHSM token for this quickstart. Its PIN is random and only in a file with mode 0600.
 */
export async function makeDevelopmentToken(): Promise<void> {
  mkdirSync(layout.token.directory, { recursive: true, mode: 0o700 });
  writeFileSync(layout.token.pin, `${randomBytes(12).toString('hex')}\n`, { mode: 0o600 });
  await command('sh', [join(projectDirectory, 'softhsm', 'make-token.sh'), layout.token.directory, tokenLabel, layout.token.pin]);
}
