import { randomBytes } from 'node:crypto';
import { Refusal } from '../result-codes.ts';
import type { KeyChange } from '../state/repositories/uses.ts';
import type { Token } from '../token/token.ts';
import { passwordBytes } from './credentials.ts';
import type { ActivatableKey, StoredSecret } from './key-record.ts';
import { refusing } from './reserved.ts';
import { sealKey } from './seals.ts';
import { storedStatesFor } from './states.ts';
import { stretch } from './stretching.ts';

type Macs = Pick<Token, 'makeMac' | 'verifyProof'>;

/**
 * Makes the change that sets another password. `own`: the secret to be replaced, as it was when the
 * attempt began; another change may have replaced it in the record meanwhile. Returns the refusal
 * FIELDS_INCONSISTENT if the new password is the current one.
 */
export async function passwordChange(
  token: Macs,
  key: ActivatableKey,
  own: StoredSecret,
  password: string,
): Promise<{ readonly change: KeyChange } | { readonly refusal: Refusal }> {
  const bytes = passwordBytes(password);
  // A one-time password does not prove the old password, so the new one may be equal to it.
  const { salt: ownSalt, mac: ownMac, stretchSalt: ownStretchSalt } = own;
  const asOwn = ownStretchSalt === undefined ? bytes : await stretch(bytes, ownStretchSalt);
  const { scope } = key.seal;
  // The host counts this comparison as a wrong secret, as it is in every honest change; it is one
  // of those that the host compares at once.
  const old = { kind: 'PASSWORD', salt: ownSalt, mac: ownMac, secret: asOwn, scope, signs: false } as const;
  const isOld = await refusing(key, token.verifyProof(key.id, { anyOf: [old] }));
  if (isOld.verified) return { refusal: samePassword() };
  const stretchSalt = randomBytes(16);
  const { salt: macSalt, mac } = await token.makeMac(key.id, 'PASSWORD', await stretch(bytes, stretchSalt), scope);
  const salt = Buffer.concat([macSalt, stretchSalt]);
  const seal = await sealKey(token, key.id, scope, {
    ...{ secret_salt: salt, secret_mac: mac, secret_stretched: 1 },
    ...{ transaction_salt: key.transaction?.salt ?? null, transaction_mac: key.transaction?.mac ?? null },
  });
  return { change: { kind: 'password', from: storedStatesFor('changePassword'), replaces: ownMac, salt, mac, stretched: 1, seal } };
}

function samePassword(): Refusal {
  return new Refusal('FIELDS_INCONSISTENT', { at: '/password', message: 'the new password is the same as the current one' });
}
