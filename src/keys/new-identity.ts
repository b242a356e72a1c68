import { createHash } from 'node:crypto';
import type { KeyType } from '../config/key-types.ts';
import type { IdentityKeyRow } from '../state/tables/identity-keys.ts';
import type { KeyId } from '../token/key-id.ts';
import type { Candidate, Token } from '../token/token.ts';
import type { IdentityName } from './identity-keys.ts';
import { drawSecret } from './new-key.ts';
import { identityScope, noTransaction, sealKey } from './seals.ts';

/** A key pair on the token, which is to become the key of a digital identity. */
export interface NewIdentityKey extends IdentityName {
  readonly id: KeyId;
  readonly type: KeyType;
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKeyInfo: Uint8Array;
  /** Milliseconds since epoch. */
  readonly createdAt: number;
}

/** What the key needs besides its pair on the token. */
export interface IdentitySecret {
  readonly row: IdentityKeyRow;
  /** Shown only once. */
  readonly password: string;
  /** Lets the key sign: the password with its MAC. */
  readonly proof: Candidate;
}

/**
 * Draws the password of a new identity's key, and makes its row with the MAC of the password and
 * the seal.
 */
export async function newIdentitySecret(token: Pick<Token, 'random' | 'makeMac'>, key: NewIdentityKey): Promise<IdentitySecret> {
  const { id, type, publicKeyInfo, createdAt } = key;
  const facts = {
    reference: createHash('sha1').update(publicKeyInfo).digest('hex'),
    ...{ tenant: key.tenant, ca: key.ca, certificate_id: key.certificateId },
    ...{ key_id: id, key_type: type, public_key: publicKeyInfo, created_at: createdAt },
  };
  const scope = identityScope(facts);
  const { password } = await drawSecret(token, 'PASSWORD');
  if (password === undefined) throw new Error('a key with a password has one');
  const secret = Buffer.from(password);
  const { salt, mac } = await token.makeMac(id, 'PASSWORD', secret, scope);
  const secrets = { secret_salt: salt, secret_mac: mac, secret_stretched: 0 };
  const seal = await sealKey(token, id, scope, { ...secrets, ...noTransaction });
  const counters = { failures_in_row: 0, failures_since_success: 0, locked_until: null };
  return {
    row: { ...facts, ...secrets, ...counters, state: 'ACTIVE', ...seal },
    password,
    proof: { kind: 'PASSWORD', salt, mac, secret, scope, signs: true },
  };
}
