import type { Attribute, Handle } from 'pkcs11js';
import type { KeyId } from '../key-id.ts';
import { checkLoggedIn } from './login-state.ts';
import { pkcs11js, type Session } from './session.ts';

const findBatch = 256;

export function findById(session: Session, id: KeyId, objectClass: number): Handle[] {
  return findObjects(session, [
    { type: pkcs11js.CKA_CLASS, value: objectClass },
    { type: pkcs11js.CKA_ID, value: Buffer.from(id, 'hex') },
  ]);
}

export function findByLabel(session: Session, label: string, objectClass: number): Handle[] {
  return findObjects(session, [
    { type: pkcs11js.CKA_CLASS, value: objectClass },
    { type: pkcs11js.CKA_LABEL, value: label },
  ]);
}

/**
 * Returns the handles of all objects with these attributes. The end of a search is an answer without
 * objects: a module may return fewer than it was asked for before (PKCS#11 v2.40 §5.7).
 * @throws {Error} with the code USER_NOT_LOGGED_IN if the session has lost its login
 */
export function findObjects(session: Session, template: Attribute[]): Handle[] {
  const { module, handle } = session;
  const found: Handle[] = [];
  module.C_FindObjectsInit(handle, template);
  try {
    for (let batch = module.C_FindObjects(handle, findBatch); batch.length > 0; batch = module.C_FindObjects(handle, findBatch)) {
      found.push(...batch);
    }
  } finally {
    module.C_FindObjectsFinal(handle);
  }
  checkLoggedIn(session);
  return found;
}

/** The token has no key with this identifier. */
export class NoSuchKey extends Error {
  constructor(id: KeyId) {
    super(`no key ${id} on the token`);
  }
}
