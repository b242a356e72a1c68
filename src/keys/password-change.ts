import { randomBytes } from 'node:crypto';
import { Refusal } from '../result-codes.ts';
import type { KeyChange } from '../state/repositories/uses.ts';
import type { Token } from '../token/token.ts';
import { passwordBytes } from './credentials.ts';
import type { KeyRecord, StoredSecret } from './key-record.ts';
import { sealKey } from './seals.ts';
import { storedStatesFor } from './states.ts';
import { stretch } from './stretching.ts';

type Macs = Pick<Token, 'makeMac' | 'verifyProof'>;

/**
 * The change that gives a key another password. `own`: the secret that it replaces, which is the one that the attempt began with: another change may have
 * given the record the next one meanwhile. Answers the refusal FIELDS_INCONSISTENT instead where the new password is the one that the key has.
 */
export async function passwordChange(
  token: Macs,
  key: KeyRecord,
  own: StoredSecret,
  password: string,
): Promise<{ readonly change: KeyChange } | { readonly refusal: Refusal }> {
  const bytes = passwordBytes(password);
  // A one-time password says nothing of the old password, which the new one may be.
  const asOwn = own.stretched ? await stretch(bytes, own.salt) : bytes;
  const { scope } = key.seal;
  const isOld = await token.verifyProof(key.id, { anyOf: [{ kind: 'PASSWORD', ...own, secret: asOwn, scope, signs: false }] });
  if (isOld.verified) return { refusal: samePassword() };
  const salt = randomBytes(16);
  const mac = await token.makeMac(key.id, 'PASSWORD', salt, await stretch(bytes, salt), scope);
  const seal = await sealKey(token, key.id, scope, {
    ...{ secret_salt: salt, secret_mac: mac, secret_stretched: 1 },
    ...{ transaction_salt: key.transaction?.salt ?? null, transaction_mac: key.transaction?.mac ?? null },
  });
  return { change: { kind: 'password', from: storedStatesFor('changePassword'), replaces: own.mac, salt, mac, stretched: 1, seal } };
}

function samePassword(): Refusal {
  return new Refusal('FIELDS_INCONSISTENT', { at: '/password', message: 'the new password is the one that the key has' });
}
