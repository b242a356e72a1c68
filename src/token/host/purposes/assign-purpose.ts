import { keyIdBytes, withPurpose, type KeyId } from '../../key-id.ts';
import { changeIsRefused } from '../../pkcs11-faults.ts';
import { readAssignPurpose } from '../../wire/messages.ts';
import { findById, NoSuchKey } from '../find-objects.ts';
import { setId } from '../key-objects.ts';
import { pkcs11Code, pkcs11js, type Session } from '../session.ts';

/** Cache of key handles. */
interface HandleStore {
  remove(id: KeyId): void;
}

/**
 * Assigns a permanent purpose to a private key from before keys had purposes, and returns its new
 * CKA_ID: only the first byte changes.
 * @throws {RangeError} if the token does not change a CKA_ID, or has two keys with this one
 */
export function assignPurpose(session: Session, keys: HandleStore, body: Buffer): Buffer {
  const { id, purpose } = readAssignPurpose(body);
  const next = withPurpose(id, purpose);
  const [key, another] = findById(session, id, pkcs11js.CKO_PRIVATE_KEY);
  if (another !== undefined) throw new RangeError(`the token has two keys ${id}`);
  if (key === undefined) {
    // Already done by a command that was interrupted afterwards.
    if (findById(session, next, pkcs11js.CKO_PRIVATE_KEY).length === 0) throw new NoSuchKey(id);
    return keyIdBytes(next);
  }
  try {
    setId(session, key, next);
  } catch (error) {
    if (!changeIsRefused(pkcs11Code(error))) throw error;
    throw new RangeError('the token does not change the CKA_ID of a key: make a new key', { cause: error });
  }
  keys.remove(id);
  return keyIdBytes(next);
}
