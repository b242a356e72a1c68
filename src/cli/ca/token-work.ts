import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { administrationStep } from '../../audit/audited-request.ts';
import { tellingToken } from '../../audit/told-uses.ts';
import { loadFoundations, loadTokenConfig } from '../../config/config.ts';
import { openStateStore } from '../../state/threaded-store.ts';
import type { Step } from '../../state/step.ts';
import { storeKeyJournal } from '../../keys/store-key-journal.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { TokenClient } from '../../token/client/token-client.ts';
import { newKeyId, type KeyId, type KeyPurpose } from '../../token/key-id.ts';
import { TokenUnavailable, type Token } from '../../token/token.ts';
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

/** The token, as an operator has it. */
export type OperatorToken = Token & Pick<TokenClient, 'assignPurpose'>;

/**
 * Works with the token by a host of its own, which serves an operator: it signs certificates of CAs, which the host of the service does not. Its socket is in
 * a directory that nobody else may enter. It ends with the command, and needs the PIN; the host of the service may run beside it. What it did gets its record
 * in the audit log when signetd starts next; where signetd has the state store open, there is none, and that is said.
 */
export async function withOperatorToken<T>(configPath: string, work: (token: OperatorToken) => Promise<T>): Promise<T> {
  return withHostOfOwn(configPath, work, async (entry) => {
    const { state } = loadFoundations(configPath);
    try {
      const store = await openStateStore(state, log);
      try {
        await store.commit([entry]);
      } finally {
        await store.close();
      }
    } catch {
      complain('note: signetd runs, so the audit log has no record of this command');
    }
  });
}

async function withHostOfOwn<T>(
  configPath: string,
  work: (token: OperatorToken) => Promise<T>,
  keep: (entry: Step<'addAuditRecord'>) => Promise<void>,
): Promise<T> {
  const configured = loadTokenConfig(configPath);
  const { audit } = loadFoundations(configPath);
  const directory = mkdtempSync(join(tmpdir(), 'signetd-operator-'));
  // The account of the service's host is that host's alone; what an operator does is in the audit log.
  const ownFiles = { socketPath: join(directory, 'token.sock'), accountDirectory: join(directory, 'account') };
  // It serves its own user: not that of the daemon, which the configuration may name.
  const own = { ...ownFiles, clientUser: undefined };
  const config = { ...configured, host: 'spawn', ...own } as const;
  const ownConfigPath = join(directory, 'token.json');
  // It holds references to secrets, and no secret.
  writeFileSync(ownConfigPath, JSON.stringify({ token: config }), { mode: 0o600 });
  const token = new TokenClient(config, ownConfigPath, log, () => undefined, { servesOperator: true });
  try {
    await token.start();
    const uses: string[] = [];
    try {
      const telling = tellingToken(token, (use) => uses.push(use));
      return await work({ ...telling, assignPurpose: async (id, purpose) => token.assignPurpose(id, purpose) });
    } finally {
      const entry = { kind: 'administration' as const, request: randomUUID(), uid: process.getuid?.(), command: 'signetctl', uses };
      if (uses.length > 0 && audit.enabled) await keep(administrationStep(audit.name, entry).step);
    }
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
  work: (token: OperatorToken, ids: readonly KeyId[]) => Promise<T>,
): Promise<T> {
  const { state } = loadFoundations(configPath);
  const store = await openStateStore(state, log).catch((error: unknown) => {
    const reason = reasonOf(error);
    throw new CommandError(exitCodes.refused, `stop signetd first, for new keys are announced in its state store: ${reason}`);
  });
  try {
    const keep = async (entry: Step<'addAuditRecord'>): Promise<void> => {
      await store.commit([entry]);
    };
    const makeKeys = async (token: OperatorToken): Promise<T> => {
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
    };
    return await withHostOfOwn(configPath, makeKeys, keep);
  } finally {
    await store.close();
  }
}
