import type { Config } from '../config/config.ts';
import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { AccountHead } from '../token/account-files.ts';
import type { Token } from '../token/token.ts';
import { noAudit, type Audit, type AuditStatus, type BackupPoint } from './audit.ts';
import { AuditLog } from './audit-log.ts';
import type { AuditMemory, KeyReplaced } from './checkpoint-writer.ts';
import { Outbox } from './outbox.ts';
import type { Removable } from './removal.ts';
import { TokenCheckpointKeys } from './checkpoint-keys.ts';

/**
 * The token as the log uses it: to sign checkpoints and to read the ends of the account of uses.
 */
export interface AuditToken extends Token {
  accountHeads(): Promise<readonly AccountHead[]>;
}

export interface RunningAudit extends Audit {
  readonly status: AuditStatus;
  /**
   * Prepares a backup; undefined without an audit log.
   * @throws {Refusal} STORE_FULL
   */
  backupPoint(): Promise<BackupPoint | undefined>;
  /** As in `AuditLog`. Undefined too if nothing is recorded. */
  removeBefore(before: number): Promise<Removable | undefined>;
  /** As in `AuditLog`. Undefined if nothing is recorded. */
  replaceKey(): Promise<KeyReplaced | undefined>;
  /** Call it after the last request and before the token stops. */
  stop(): Promise<void>;
}

/** Opens the configured audit log, with its key on the token and its memory in the state store. */
export async function openAudit(
  { enabled, ...config }: Config['audit'],
  {
    store,
    token,
    log,
    approvals,
  }: { readonly store: StateStore; readonly token: AuditToken; readonly log: Logger; readonly approvals?: number },
): Promise<RunningAudit> {
  if (!enabled) {
    log.warn('the audit log is switched off');
    const status = { writable: true, lagSeconds: 0, lastCheckpointAt: undefined, recordsSinceCheckpoint: 0, newestRecordAt: undefined };
    return {
      ...noAudit,
      status,
      backupPoint: async () => Promise.resolve(undefined),
      removeBefore: async () => Promise.resolve(undefined),
      replaceKey: async () => Promise.resolve(undefined),
      stop: async () => Promise.resolve(),
    };
  }
  const keys = await TokenCheckpointKeys.open(store, token, log);
  return AuditLog.open({
    ...config,
    ...{ keys, signer: keys.signer },
    memory: storedMemory(store, config.name),
    outbox: new Outbox(store, config.name),
    accountHeads: async () => token.accountHeads(),
    ...{ log, approvals },
  });
}

/** Stores the last checkpoint's place in the state store. */
function storedMemory(store: StateStore, log: string): AuditMemory {
  return {
    async head() {
      const row = await store.run('auditHead', log);
      return row === undefined ? undefined : { n: row.records, hash: row.hash, file: row.file };
    },
    keepHead: async ({ n, hash, file }) => store.run('keepAuditHead', { log, records: n, hash, file }),
  };
}
