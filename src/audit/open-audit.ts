import type { Config } from '../config/config.ts';
import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { AccountHead } from '../token/account-files.ts';
import type { Token } from '../token/token.ts';
import { noAudit, type Audit } from './audit.ts';
import { tokenCheckpointSigner } from './audit-key.ts';
import { AuditLog, type AuditMemory, type AuditStatus } from './audit-log.ts';
import { Outbox } from './outbox.ts';

/** The token as the log needs it: what signs checkpoints, and where the account of uses ends. */
export interface AuditToken extends Token {
  accountHeads(): Promise<readonly AccountHead[]>;
}

export interface RunningAudit extends Audit {
  readonly status: AuditStatus;
  /** After the last request, before the token stops. */
  stop(): Promise<void>;
}

/** Opens the audit log that the configuration describes, with its key on the token and its memory in the state store. */
export async function openAudit(
  { enabled, ...config }: Config['audit'],
  { store, token, log }: { readonly store: StateStore; readonly token: AuditToken; readonly log: Logger },
): Promise<RunningAudit> {
  if (!enabled) {
    log.warn('the audit log is switched off');
    const status = { writable: true, lagSeconds: 0, lastCheckpointAt: undefined, recordsSinceCheckpoint: 0 };
    return { ...noAudit, status, stop: async () => Promise.resolve() };
  }
  return AuditLog.open({
    ...config,
    signer: await tokenCheckpointSigner(store, token, log),
    memory: storedMemory(store, config.name),
    outbox: new Outbox(store, config.name),
    accountHeads: async () => token.accountHeads(),
    log,
  });
}

/** The last checkpoint, in the state store. */
function storedMemory(store: StateStore, log: string): AuditMemory {
  return {
    async head() {
      const row = await store.run('auditHead', log);
      return row === undefined ? undefined : { n: row.records, hash: row.hash, file: row.file };
    },
    keepHead: async ({ n, hash, file }) => store.run('keepAuditHead', { log, records: n, hash, file }),
  };
}
