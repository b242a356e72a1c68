import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { KeyUsingCommand, Registration } from '../../admin/protocol.ts';
import { announcingToken, type AnnouncedUse } from '../../audit/announced-uses.ts';
import { loadFoundations, loadTokenConfig } from '../../config/config.ts';
import { accountDirectoryOf } from '../../config/token-config.ts';
import { openStateStore } from '../../state/threaded-store.ts';
import type { StateStore } from '../../state/state-store.ts';
import { storeKeyJournal } from '../../keys/store-key-journal.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { TokenClient } from '../../token/client/token-client.ts';
import { newKeyId, type KeyId, type KeyKind } from '../../token/key-id.ts';
import type { TokenOwner } from '../../token/host/token-owner.ts';
import { prepareSoftwareToken } from '../../token/operator/software-token.ts';
import { TokenUnavailable, type Token } from '../../token/token.ts';
import { macUse } from '../../token/uses.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { commandLog } from './command-log.ts';
import { checkNeedsNoApproval, useRecords, type UseRecords } from './use-records.ts';

/** The token as used by an operator's command. */
export interface OperatorToken extends Token, Pick<TokenClient, 'assignPurpose' | 'macKey' | 'expectMacKey'> {
  /**
   * Records a use before it happens, other than the signatures, which are recorded in any case.
   * @throws {CommandError} if nobody can record it
   */
  announce(use: AnnouncedUse): Promise<void>;
}

/**
 * Uses the token through a separate host that serves an operator: it signs CA certificates, which
 * the service's host does not. Its socket is in a private directory. It ends with the command and
 * needs the PIN; the service's host may run beside it. Each signature is recorded in the audit log
 * before it is made.
 * @param command of signetctl, such as `ca certify`
 * @param registers the client that the command registers with the certificate that it signs
 * @throws {CommandError} also where a signature cannot be recorded, or is not approved
 */
export async function withOperatorToken<T>(
  configPath: string,
  command: KeyUsingCommand,
  work: (token: OperatorToken) => Promise<T>,
  registers?: Registration,
): Promise<T> {
  return withHostOfOwn(configPath, work, useRecords(configPath, command, { registers }));
}

async function withHostOfOwn<T>(configPath: string, work: (token: OperatorToken) => Promise<T>, records: UseRecords): Promise<T> {
  const configured = loadTokenConfig(configPath);
  const tokenOwner = await prepareSoftwareToken(configured);
  const directory = mkdtempSync(join(tmpdir(), 'signetd-operator-'));
  const hostDirectory = directoryOfHost(directory, tokenOwner);
  // The service's host owns its account; an operator's uses are recorded in the audit log.
  const ownFiles = { socketPath: join(hostDirectory, 'token.sock'), accountDirectory: join(hostDirectory, 'account') };
  // It serves its own user, not that of the daemon, which the configuration may name.
  const own = { ...ownFiles, clientUser: undefined };
  const config = { ...configured, host: 'spawn', ...own } as const;
  const ownConfigPath = join(directory, 'token.json');
  // The file has references to secrets, but no secret.
  writeFileSync(ownConfigPath, JSON.stringify({ token: config }), { mode: 0o600 });
  const serviceAccount = accountDirectoryOf(configured);
  const token = new TokenClient(config, ownConfigPath, commandLog, () => undefined, { servesOperator: true, tokenOwner, serviceAccount });
  try {
    await token.start();
    return await work({
      ...announcingToken(token, async (use) => records.record(use)),
      // Nobody knows it before the token has made it, and it signs nothing.
      async makeMac(id, kind, secret, scope) {
        const made = await token.makeMac(id, kind, secret, scope);
        await records.recordLate(macUse(id, kind, made.salt));
        return made;
      },
      announce: async (use) => records.record(use),
      macKey: token.macKey,
      async assignPurpose(id, purpose) {
        await records.recordPurpose(id, purpose);
        return token.assignPurpose(id, purpose);
      },
      expectMacKey: (check, generation) => {
        token.expectMacKey(check, generation);
      },
    });
  } catch (error) {
    throw error instanceof TokenUnavailable ? new CommandError(exitCodes.tokenUnreachable, error.message) : error;
  } finally {
    await token.stop();
    await records.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

/**
 * Makes the directory of the host's own files. It belongs to the user that the host becomes, who
 * must not change the configuration beside it, which the host reads as root.
 */
function directoryOfHost(directory: string, owner: TokenOwner | undefined): string {
  const path = join(directory, 'host');
  mkdirSync(path, { mode: 0o700 });
  if (owner !== undefined) {
    chownSync(path, owner.uid, owner.gid);
    chmodSync(directory, 0o711);
  }
  return path;
}

/**
 * The same with new keys of these kinds, and the state store. They are in the journal until
 * everything is done, so that an interrupted command leaves none: the next start of signetd
 * destroys them. A key that `work` has taken out of the journal is kept, even if `work` fails.
 * @throws {CommandError} if signetd has the state store open
 */
export async function withNewKeys<T>(
  configPath: string,
  command: KeyUsingCommand,
  kinds: readonly KeyKind[],
  work: (token: OperatorToken, ids: readonly KeyId[], store: StateStore) => Promise<T>,
): Promise<T> {
  checkNeedsNoApproval(configPath, command);
  const { state } = loadFoundations(configPath);
  const store = await openStateStore(state, commandLog).catch((error: unknown) => {
    const reason = reasonOf(error);
    throw new CommandError(exitCodes.refused, `stop signetd first, since new keys are announced in its state store: ${reason}`);
  });
  try {
    const makeKeys = async (token: OperatorToken): Promise<T> => {
      const journal = storeKeyJournal(store);
      const ids = kinds.map(newKeyId);
      for (const id of ids) await journal.announce(id, 'CREATE');
      try {
        const made = await work(token, ids, store);
        for (const id of ids) await journal.settle(id);
        return made;
      } catch (error) {
        for (const id of ids) {
          if (!(await store.run('takeOverStep', id))) continue;
          await token.destroyKey(id);
          await journal.settle(id);
        }
        throw error;
      }
    };
    return await withHostOfOwn(configPath, makeKeys, useRecords(configPath, command, { opened: store }));
  } finally {
    await store.close();
  }
}

/**
 * Uses the token that has the key of an issuer, in a command that makes keys on the configured one:
 * the same, or that of another configuration file. Uses of its keys are recorded in the audit log of
 * the command.
 * @param issuerToken path of the other file, of which only the section `token` is read
 * @throws {CommandError} as `withOperatorToken`
 */
export async function withIssuerToken<T>(
  { configPath, command, token, store }: { configPath: string; command: KeyUsingCommand; token: OperatorToken; store: StateStore },
  issuerToken: string | undefined,
  work: (issuer: OperatorToken) => Promise<T>,
): Promise<T> {
  if (issuerToken === undefined) return work(token);
  return withHostOfOwn(resolve(issuerToken), work, useRecords(configPath, command, { opened: store }));
}
