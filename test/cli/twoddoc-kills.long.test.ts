import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { stringify } from 'yaml';
import { Keyring } from '../../src/keys/keyring.ts';
import { openSqliteStore } from '../../src/state/threaded-store.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { repetitions } from '../support/repetitions.ts';
import { scratchToken } from '../support/scratch-token.ts';
import { recordingLog } from '../support/silent-log.ts';
import { killGroup } from './killed-command.ts';

const rounds = repetitions(10);
/** Longer than the command takes on a quiet machine. */
const commandMs = 1500;

it('signetctl twoddoc identity add, killed at any moment, leaves a complete key or none once signetd has started', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const scratch = scratchToken();
    const configPath = join(scratch.directory, 'signetd.yaml');
    const statePath = join(scratch.directory, 'state.sqlite');
    const { token } = JSON.parse(readFileSync(scratch.configPath, 'utf8')) as { token: object };
    const config = {
      listeners: { api: { certificate: 'a', key: 'b', clientCertificateAuthority: 'c' } },
      ...{ token, state: { path: statePath }, audit: { directory: join(scratch.directory, 'audit') } },
      certificateAuthorities: { issuing: { certificate: 'ca.pem', keyId: `49${'0'.repeat(32)}` } },
      tenants: { demo: { certificateAuthority: 'issuing', profile: { keyType: 'P-256' } } },
    };
    writeFileSync(configPath, stringify(config), { mode: 0o600 });
    const directory = mkdtempSync(join(scratch.directory, 'request-'));
    const args = ['--tenant', 'demo', '--ca', 'FR99', '--certificate-id', 'KILL', '--organization', 'Example', '--siren', '732829320'];
    const command = [
      '--disable-sigusr1',
      'dist/cli.js',
      '--config',
      configPath,
      'twoddoc',
      'identity',
      'add',
      ...args,
      '--directory',
      directory,
    ];
    // A group of its own: its token host ends with it.
    const child = spawn(process.execPath, command, { stdio: 'ignore', detached: true });
    const ended = once(child, 'exit');
    await Promise.race([ended, delay((commandMs * (round + 1)) / rounds)]);
    if (child.exitCode === null && child.pid !== undefined) await killGroup(child.pid, scratch.directory);
    await ended;
    const client = new TokenClient(scratch.config, scratch.configPath, recordingLog());
    const store = await openSqliteStore(statePath);
    try {
      await client.start();
      await new Keyring(store, client).recover();
      const rows = await store.run('listIdentityKeys');
      const onToken = (await client.listKeys()).filter(({ id }) => id.startsWith('44')).map(({ id }) => id);
      expect(onToken).toEqual(rows.map((row) => row.key_id));
      expect(await store.run('journal')).toEqual([]);
    } finally {
      await client.stop();
      await store.close();
      rmSync(directory, { recursive: true, force: true });
      scratch.remove();
    }
  }
});
