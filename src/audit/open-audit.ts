import type { Config } from '../config/config.ts';
import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { AccountHead } from '../token/account-files.ts';
import type { Token } from '../token/token.ts';
import { noAudit, type Audit, type AuditStatus, type BackupPoint } from './audit.ts';
import { AuditLog } from './audit-log.ts';
import type { AuditMemory } from './checkpoint-writer.ts';
import { Outbox } from './outbox.ts';
import type { Removable } from './removal.ts';
import { keyForPurpose } from '../token/key-for-purpose.ts';
import { keyTrial, type KeyId } from '../token/key-id.ts';
import type { CheckpointSigner } from './checkpoint.ts';

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
      stop: async () => Promise.resolve(),
    };
  }
  return AuditLog.open({
    ...config,
    signer: await tokenCheckpointSigner(store, token, log),
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

/**
 * Returns the signer of checkpoints: a P-256 service key on the token, made at the first start. The
 * state store keeps its public key, and those of earlier keys.
 */
export async function tokenCheckpointSigner(store: StateStore, token: Token, log: Logger): Promise<CheckpointSigner> {
  let made: Uint8Array | undefined;
  const id = await keyForPurpose(store, token, {
    keyPurpose: 'audit',
    find: async () => store.run('findAuditKey'),
    try: async (known) => signed(token, known, keyTrial),
    async make(next) {
      made = await token.createKey(next, 'P-256');
    },
    take: async (next, replaces) =>
      store.run('takeAuditKey', { key_id: next, public_key: made ?? new Uint8Array(), created_at: store.now(), replaces }),
    lost(known) {
      log.error('the key for audit checkpoints is not on the token, or has no purpose; making a new one', { keyId: known });
    },
  });
  const row = (await store.run('auditKeys')).find(({ key_id: keyId }) => keyId === id);
  if (row === undefined) throw new Error(`the state store has no public key of ${id}, which signs audit checkpoints`);
  return { publicKey: row.public_key, sign: async (bytes) => signed(token, id, bytes) };
}

async function signed(token: Token, id: KeyId, bytes: Uint8Array): Promise<Uint8Array> {
  return token.signAsService(id, { scheme: 'ECDSA', hash: 'sha256' }, bytes);
}
