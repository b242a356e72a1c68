import { hash } from 'node:crypto';
import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/log.ts';
import { newKeyId, parseKeyId, type KeyId } from '../token/key-id.ts';
import type { Token } from '../token/token.ts';
import type { CheckpointSigner } from './checkpoint.ts';

/**
 * The service key that signs checkpoints, made at the first start: P-256, on the token, announced in the journal before it is made, so that a crash
 * leaves no stray key. The state store keeps its public half.
 */
export async function tokenCheckpointSigner(store: StateStore, token: Token, log: Logger): Promise<CheckpointSigner> {
  const [newest] = await store.run('auditKeys');
  if (newest !== undefined) {
    const id = parseKeyId(newest.key_id);
    if ((await token.listKeys()).some((key) => key.id === id)) return signer(token, id, newest.public_key);
    log.error('the key of the audit checkpoints is not on the token; a new one is made', { keyId: newest.key_id });
  }
  const id = newKeyId('service');
  const now = Date.now();
  await store.run('announce', { key_id: id, intent: 'CREATE', created_at: now });
  const publicKey = await token.createKey(id, 'P-256');
  await store.run('insertAuditKey', { key_id: id, public_key: publicKey, created_at: now });
  return signer(token, id, publicKey);
}

function signer(token: Token, id: KeyId, publicKey: Uint8Array): CheckpointSigner {
  return {
    publicKey,
    async sign(bytes) {
      const [value] = await token.signAsService(id, { scheme: 'ECDSA', hash: 'sha256' }, [hash('sha256', bytes, 'buffer')]);
      if (value === undefined) throw new Error('the token gave no value');
      return value;
    },
  };
}
