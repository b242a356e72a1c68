import type { KeyId } from '../key-id.ts';

/** The token was searched, and has no key with this identifier. */
export class NoSuchKey extends Error {
  constructor(id: KeyId) {
    super(`no key ${id} on the token`);
  }
}
