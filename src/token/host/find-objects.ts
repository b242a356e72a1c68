import type { Attribute, Handle } from 'pkcs11js';
import type { KeyId } from '../key-id.ts';
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

export function findObjects({ module, handle }: Session, template: Attribute[]): Handle[] {
  module.C_FindObjectsInit(handle, template);
  try {
    const found: Handle[] = [];
    for (;;) {
      const batch = module.C_FindObjects(handle, findBatch);
      found.push(...batch);
      if (batch.length < findBatch) return found;
    }
  } finally {
    module.C_FindObjectsFinal(handle);
  }
}

/** The token has no key with this identifier. */
export class NoSuchKey extends Error {
  constructor(id: KeyId) {
    super(`no key ${id} on the token`);
  }
}
