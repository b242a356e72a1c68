import type { Handle } from 'pkcs11js';
import { macKeyId } from '../key-id.ts';
import { ckr, handleIsStale } from '../pkcs11-faults.ts';
import { findById, findByLabel } from './find-objects.ts';
import { makeMacKey, setId } from './key-objects.ts';
import { macKeyLabel } from './key-templates.ts';
import type { ModuleProfile } from './module-profile.ts';
import { pkcs11Code, pkcs11js, type Session } from './session.ts';

const hmac = { mechanism: pkcs11js.CKM_SHA256_HMAC };
const macBytes = 32;
/** What the key is known by is its MAC of this. No secret's MAC is one, since theirs are of bytes that begin otherwise (`macInput`). */
const checkInput = Buffer.from('signetd MAC key check v1\0');

/** The token has no key that secrets are checked with. */
export class MacKeyMissing extends Error {}

/** The keys with the identifier of the one that secrets are checked with: none before it is made, else one. */
export function findMacKeys(session: Session): Handle[] {
  return findById(session, macKeyId, pkcs11js.CKO_SECRET_KEY);
}

/** What is wrong where there are several, for an operator. */
export function severalMacKeysFault(count: number): string | undefined {
  if (count < 2) return undefined;
  return (
    `it has ${count} keys for secrets (CKA_ID ${macKeyId}) where there must be one, and a password that was made with one is wrong with the other: ` +
    'give all but one another CKA_ID with the tool of its vendor, start, and where signetd then says that the key is another one than its state store was used with, take the other'
  );
}

/** The key that secrets are checked with, as one thread has it. It is made by `make` alone: whoever calls that sees to it that nobody else does meanwhile. */
export class MacKey {
  readonly #sessionNow: () => Session;
  readonly #profile: ModuleProfile;
  #handle: Handle | undefined;
  #check: Buffer | undefined;

  /** @param sessionNow the session of this thread, which is opened anew after some faults; @param found at the host's start */
  constructor(sessionNow: () => Session, profile: ModuleProfile, found: Handle | undefined) {
    this.#sessionNow = sessionNow;
    this.#profile = profile;
    this.#handle = found;
  }

  /** Uses the kept handle; a stale one is looked for once more. @throws {MacKeyMissing} */
  use<T>(work: (key: Handle) => T): T {
    const kept = this.#handle ?? this.#search();
    try {
      this.#check ??= this.#checkOf(kept);
      return work(kept);
    } catch (error) {
      if (!handleIsStale(pkcs11Code(error))) throw error;
      return work(this.#search());
    }
  }

  /** What the key is known by. It tells nothing of the key. @throws {MacKeyMissing} */
  check(): Buffer {
    return this.use((key) => this.#checkOf(key));
  }

  /** Makes the key, unless there is one, and answers what it is known by. Of two who make one at once on the same token, one at most succeeds. */
  make(): Buffer {
    const session = this.#sessionNow();
    if (findMacKeys(session).length > 0) return this.check();
    const made = this.#unfinished(session) ?? makeMacKey(session, { id: macKeyId }, this.#profile);
    // Whoever made one by now, or makes one later, sees this one as well. It has made no MAC yet.
    if (findMacKeys(session).length > 1) {
      session.module.C_DestroyObject(session.handle, made);
      throw new Error('somebody else made a key for secrets at the same time; ask again');
    }
    return this.check();
  }

  /** One whose making was cut short before it had its identifier has made no MAC yet. */
  #unfinished(session: Session): Handle | undefined {
    const [unfinished] = this.#profile.idAfterGeneration ? findByLabel(session, macKeyLabel, pkcs11js.CKO_SECRET_KEY) : [];
    if (unfinished !== undefined) setId(session, unfinished, macKeyId);
    return unfinished;
  }

  #search(): Handle {
    const found = findMacKeys(this.#sessionNow());
    const fault = severalMacKeysFault(found.length);
    if (fault !== undefined) throw new Error(`the token cannot be used: ${fault}`);
    const [handle] = found;
    if (handle === undefined) throw new MacKeyMissing('the token has no key for secrets');
    const check = this.#checkOf(handle);
    // Only a new host, which its daemons look at first, may go on with another.
    if (this.#check?.equals(check) === false)
      throw new Error(`CKR_DEVICE_REMOVED:${ckr.DEVICE_REMOVED} the key for secrets is another one than before`);
    this.#handle = handle;
    this.#check = check;
    return handle;
  }

  #checkOf(key: Handle): Buffer {
    const { module, handle } = this.#sessionNow();
    module.C_SignInit(handle, hmac, key);
    return Buffer.from(module.C_Sign(handle, checkInput, Buffer.alloc(macBytes)));
  }
}
