import { loadFoundations } from '../../config/config.ts';
import { openStateStore } from '../../state/state-store.ts';
import { storeKeyJournal } from '../../keys/store-key-journal.ts';
import { TokenClient } from '../../token/client/token-client.ts';
import { newKeyId, type KeyId } from '../../token/key-id.ts';
import { connectToHost } from '../../token/operator/host-questions.ts';
import { TokenUnavailable, type Token } from '../../token/token.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { complain } from '../outcome.ts';
import { answerMs } from '../token/token-access.ts';

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

/** Works with the token: over the host where one runs, else with one that ends with the command. */
export async function withSigningToken<T>(configPath: string, work: (token: Token) => Promise<T>): Promise<T> {
  const { token: config } = loadFoundations(configPath);
  const host = await connectToHost(config.socketPath, answerMs(config));
  host?.close();
  const token = new TokenClient({ ...config, host: host === undefined ? 'spawn' : 'external' }, configPath, log);
  try {
    await token.start();
    return await work(token);
  } catch (error) {
    throw error instanceof TokenUnavailable ? new CommandError(exitCodes.tokenUnreachable, error.message) : error;
  } finally {
    await token.stop();
  }
}

/**
 * The same with new service keys. They are in the journal until all is done, so that a command that is cut short leaves none: the next start of signetd
 * destroys what is there. @throws {CommandError} where signetd has the state store open.
 */
export async function withNewKeys<T>(
  configPath: string,
  count: number,
  work: (token: Token, ids: readonly KeyId[]) => Promise<T>,
): Promise<T> {
  const { state } = loadFoundations(configPath);
  const store = await openStateStore(state, log).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(exitCodes.refused, `stop signetd first, for new keys are announced in its state store: ${reason}`);
  });
  try {
    return await withSigningToken(configPath, async (token) => {
      const journal = storeKeyJournal(store);
      const ids = Array.from({ length: count }, () => newKeyId('service'));
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
