import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadFoundations, loadTokenConfig } from '../../config/config.ts';
import { openStateStore } from '../../state/state-store.ts';
import { storeKeyJournal } from '../../keys/store-key-journal.ts';
import { TokenClient } from '../../token/client/token-client.ts';
import { newKeyId, type KeyId, type KeyPurpose } from '../../token/key-id.ts';
import { TokenUnavailable } from '../../token/token.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { complain } from '../outcome.ts';

const log = {
  error: (message: string) => {
    complain(message);
  },
  warn: (message: string) => {
    complain(message);
  },
  info: () => undefined,
  debug: () => undefined,
};

/**
 * Works with the token by a host of its own, which serves an operator: it signs certificates of CAs, which the host of the service does not. Its socket is in
 * a directory that nobody else may enter. It ends with the command, and needs the PIN; the host of the service may run beside it.
 */
export async function withOperatorToken<T>(configPath: string, work: (token: TokenClient) => Promise<T>): Promise<T> {
  const configured = loadTokenConfig(configPath);
  const directory = mkdtempSync(join(tmpdir(), 'signetd-operator-'));
  const config = { ...configured, host: 'spawn', socketPath: join(directory, 'token.sock') } as const;
  const ownConfigPath = join(directory, 'token.json');
  // It holds references to secrets, and no secret.
  writeFileSync(ownConfigPath, JSON.stringify({ token: config }), { mode: 0o600 });
  const token = new TokenClient(config, ownConfigPath, log, () => undefined, { servesOperator: true });
  try {
    await token.start();
    return await work(token);
  } catch (error) {
    throw error instanceof TokenUnavailable ? new CommandError(exitCodes.tokenUnreachable, error.message) : error;
  } finally {
    await token.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

/**
 * The same with new keys of these purposes. They are in the journal until all is done, so that a command that is cut short leaves none: the next start of
 * signetd destroys what is there. @throws {CommandError} where signetd has the state store open.
 */
export async function withNewKeys<T>(
  configPath: string,
  purposes: readonly KeyPurpose[],
  work: (token: TokenClient, ids: readonly KeyId[]) => Promise<T>,
): Promise<T> {
  const { state } = loadFoundations(configPath);
  const store = await openStateStore(state, log).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(exitCodes.refused, `stop signetd first, for new keys are announced in its state store: ${reason}`);
  });
  try {
    return await withOperatorToken(configPath, async (token) => {
      const journal = storeKeyJournal(store);
      const ids = purposes.map(newKeyId);
      for (const id of ids) await journal.announce(id, 'CREATE');
      try {
        const made = await work(token, ids);
        for (const id of ids) await journal.settle(id);
        return made;
      } catch (error) {
        for (const id of ids) {
          await token.destroyKey(id);
          await journal.settle(id);
        }
        throw error;
      }
    });
  } finally {
    await store.close();
  }
}
