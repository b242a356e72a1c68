import { randomUUID } from 'node:crypto';
import { administrationStep } from '../../audit/audited-request.ts';
import { tellingToken } from '../../audit/told-uses.ts';
import { loadFoundations } from '../../config/config.ts';
import { openStateStore } from '../../state/state-store.ts';
import type { Step } from '../../state/step.ts';
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

/**
 * Works with the token: over the host where one runs, else with one that ends with the command. What authorities sign gets its record when signetd starts next;
 * where signetd has the state store open, there is none, and that is said.
 */
export async function withSigningToken<T>(configPath: string, work: (token: Token) => Promise<T>): Promise<T> {
  return withToken(configPath, work, async (entry) => {
    const { state } = loadFoundations(configPath);
    try {
      const store = await openStateStore(state, log);
      try {
        await store.commit([entry]);
      } finally {
        await store.close();
      }
    } catch {
      complain(
        'note: signetd runs, so this has no record in the audit log: "signetctl audit verify" will name the signature, see --explained',
      );
    }
  });
}

async function withToken<T>(
  configPath: string,
  work: (token: Token) => Promise<T>,
  keep: (entry: Step<'addAuditRecord'>) => Promise<void>,
): Promise<T> {
  const { token: config, audit } = loadFoundations(configPath);
  const host = await connectToHost(config.socketPath, answerMs(config));
  host?.close();
  const token = new TokenClient({ ...config, host: host === undefined ? 'spawn' : 'external' }, configPath, log);
  try {
    await token.start();
    const uses: string[] = [];
    try {
      return await work(tellingToken(token, (use) => uses.push(use)));
    } finally {
      const entry = { kind: 'administration' as const, request: randomUUID(), uid: process.getuid?.(), command: 'signetctl', uses };
      if (uses.length > 0 && audit.enabled) await keep(administrationStep(audit.name, entry).step);
    }
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
    const keep = async (entry: Step<'addAuditRecord'>): Promise<void> => {
      await store.commit([entry]);
    };
    const makeKeys = async (token: Token): Promise<T> => {
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
    };
    return await withToken(configPath, makeKeys, keep);
  } finally {
    await store.close();
  }
}
