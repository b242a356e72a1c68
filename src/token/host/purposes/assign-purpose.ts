import { keyIdBytes, withPurpose, type KeyId } from '../../key-id.ts';
import { changeIsRefused } from '../../pkcs11-faults.ts';
import { readAssignPurpose } from '../../wire/messages.ts';
import { findById } from '../find-objects.ts';
import { setId } from '../key-objects.ts';
import { NoSuchKey } from '../no-such-key.ts';
import { pkcs11Code, pkcs11js, type Session } from '../session.ts';

/** Where the handles of keys are kept. */
interface HandleStore {
  remove(id: KeyId): void;
}

/**
 * Gives a private key from before keys had purposes one, which it keeps, and answers its new CKA_ID: the first byte says it, the others stay.
 * @throws {RangeError} where the token changes no CKA_ID, or has two keys of that one
 */
export function assignPurpose(session: Session, keys: HandleStore, body: Buffer): Buffer {
  const { id, purpose } = readAssignPurpose(body);
  const next = withPurpose(id, purpose);
  const [key, another] = findById(session, id, pkcs11js.CKO_PRIVATE_KEY);
  if (another !== undefined) throw new RangeError(`the token has two keys ${id}`);
  if (key === undefined) {
    // Done before, by a command that was cut short after it.
    if (findById(session, next, pkcs11js.CKO_PRIVATE_KEY).length === 0) throw new NoSuchKey(id);
    return keyIdBytes(next);
  }
  try {
    setId(session, key, next);
  } catch (error) {
    if (!changeIsRefused(pkcs11Code(error))) throw error;
    throw new RangeError('the token does not change the CKA_ID of a key: make another one', { cause: error });
  }
  keys.remove(id);
  return keyIdBytes(next);
}
