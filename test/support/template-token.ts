import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadTokenConfig } from '../../src/config/config.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { compileCache } from './compile-cache.ts';
import { recordingLog } from './silent-log.ts';

/** Makes a SoftHSM token in the directory for tests to copy: initialised, with the MAC key, as one that a service has started with. */
export async function makeTemplateToken(directory: string): Promise<void> {
  const pin = join(directory, 'pin');
  writeFileSync(pin, '123456\n', { mode: 0o600 });
  execFileSync('sh', ['softhsm/make-token.sh', directory, 'test', pin]);
  const configPath = join(directory, 'template.yaml');
  const variables = { SOFTHSM2_CONF: join(directory, 'softhsm2.conf'), ...compileCache() };
  const token = {
    label: 'test',
    pin: `file:${pin}`,
    threads: 1,
    host: 'spawn',
    socketPath: join(directory, 'token.sock'),
    environment: variables,
  };
  writeFileSync(configPath, JSON.stringify({ token }));
  const client = new TokenClient(loadTokenConfig(configPath), configPath, recordingLog());
  try {
    await client.start();
    await client.macKey.make();
  } finally {
    await client.stop();
  }
  // A copy has its own.
  for (const name of readdirSync(directory)) if (name.startsWith('token.sock')) rmSync(join(directory, name), { recursive: true });
}
