import type { GivenSecret } from '../../src/keys/credentials.ts';
import type { IdentityName } from '../../src/keys/identity-keys.ts';
import { newIdentitySecret, type IdentitySecret } from '../../src/keys/new-identity.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { newKeyId } from '../../src/token/key-id.ts';
import type { Token } from '../../src/token/token.ts';

/** Makes the key of a digital identity as signetctl does. The token's host serves an operator. */
export async function newIdentity(
  store: StateStore,
  token: Token,
  name: IdentityName,
  curve: 'P-256' | 'P-384' | 'P-521' = 'P-256',
): Promise<IdentitySecret> {
  const id = newKeyId('identity');
  await store.run('announce', { key_id: id, intent: 'CREATE', created_at: store.now() });
  const publicKeyInfo = await token.createKey(id, curve);
  const secret = await newIdentitySecret(token, { ...name, id, type: curve, publicKeyInfo, createdAt: store.now() });
  await store.run('insertIdentityKey', secret.row);
  return secret;
}

export function givenPassword(text: string): GivenSecret {
  return { member: 'password', bytes: Buffer.from(text), transactionId: undefined };
}
