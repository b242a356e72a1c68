import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/log.ts';
import { keyForPurpose } from '../token/key-for-purpose.ts';
import { keyTrial, type KeyId } from '../token/key-id.ts';
import type { Token } from '../token/token.ts';
import type { CheckpointSigner } from './checkpoint.ts';

/**
 * The service key that signs checkpoints, made at the first start: P-256, on the token. The state store keeps its public half, and those of the keys
 * before it.
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
      log.error('the key of the audit checkpoints is not on the token, or has no purpose; a new one is made', { keyId: known });
    },
  });
  const row = (await store.run('auditKeys')).find(({ key_id: keyId }) => keyId === id);
  if (row === undefined) throw new Error(`the state store has no public key of ${id}, which signs audit checkpoints`);
  return { publicKey: row.public_key, sign: async (bytes) => signed(token, id, bytes) };
}

async function signed(token: Token, id: KeyId, bytes: Uint8Array): Promise<Uint8Array> {
  return token.signAsService(id, { scheme: 'ECDSA', hash: 'sha256' }, bytes);
}
