import { randomBytes } from 'node:crypto';
import { Refusal } from '../result-codes.ts';
import type { KeyChange } from '../state/repositories/uses.ts';
import type { KeyId } from '../token/key-id.ts';
import type { Token } from '../token/token.ts';
import { passwordBytes } from './credentials.ts';
import type { StoredSecret } from './key-record.ts';
import { storedStatesFor } from './states.ts';
import { stretch } from './stretching.ts';

type Macs = Pick<Token, 'makeMac' | 'verifyProof'>;

/**
 * The change that gives a key another password. `own`: the secret that it replaces, which is the one that the attempt began with: another change may have
 * given the record the next one meanwhile. Answers the refusal FIELDS_INCONSISTENT instead where the new password is the one that the key has.
 */
export async function passwordChange(
  token: Macs,
  id: KeyId,
  own: StoredSecret,
  password: string,
): Promise<{ readonly change: KeyChange } | { readonly refusal: Refusal }> {
  const bytes = passwordBytes(password);
  // A one-time password says nothing of the old password, which the new one may be.
  const asOwn = own.stretched ? await stretch(bytes, own.salt) : bytes;
  const isOld = await token.verifyProof(id, { anyOf: [{ kind: 'PASSWORD', ...own, secret: asOwn, signs: false }] });
  if (isOld.verified) return { refusal: samePassword() };
  const salt = randomBytes(16);
  const mac = await token.makeMac(id, 'PASSWORD', salt, await stretch(bytes, salt));
  return { change: { kind: 'password', from: storedStatesFor('changePassword'), replaces: own.mac, salt, mac, stretched: 1 } };
}

function samePassword(): Refusal {
  return new Refusal('FIELDS_INCONSISTENT', { at: '/password', message: 'the new password is the one that the key has' });
}
