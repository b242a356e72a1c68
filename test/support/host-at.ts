import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadTokenConfig } from '../../src/config/config.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import type { ScratchToken } from './scratch-token.ts';
import { recordingLog } from './silent-log.ts';

/** A host process of its own at this token, by its name, with its client. Several can be at one token. */
export async function hostAt(scratch: ScratchToken, name: string, lines = recordingLog()): Promise<TokenClient> {
  const configPath = join(scratch.directory, `${name}.yaml`);
  writeFileSync(configPath, JSON.stringify({ token: { ...scratch.config, socketPath: join(scratch.directory, `${name}.sock`) } }));
  const client = new TokenClient(loadTokenConfig(configPath), configPath, lines);
  await client.start();
  return client;
}
