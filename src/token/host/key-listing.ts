import type { Handle } from 'pkcs11js';
import { isMacKeyId, keyIdOf, type KeyId } from '../key-id.ts';
import { handleIsStale } from '../pkcs11-faults.ts';
import { findObjects } from './find-objects.ts';
import { idBytesOf, setId } from './key-objects.ts';
import { idInLabel, isOurLabel } from './key-templates.ts';
import type { ModuleProfile } from './module-profile.ts';
import { pkcs11Code, pkcs11js, type Session } from './session.ts';

/** How long a thread reads before it looks for requests again. */
const readMs = 10;
/** A key that has no identifier for so long is not being made by anybody. */
const halfMadeMs = 120_000;

/**
 * Reads which of signetd's keys are on the token, without the MAC keys, in steps between requests:
 * each key takes a call, which is a round trip to a network HSM. Nothing waits for it but questions
 * for all keys, since a key is looked for when it is used.
 */
export class KeyListing {
  readonly sessionNow: () => Session;
  readonly #profile: ModuleProfile;
  #unread: Handle[] | undefined;
  readonly #halfMade: Handle[] = [];

  /** @param sessionNow the session of this thread, which is reopened after some faults */
  constructor(sessionNow: () => Session, profile: ModuleProfile) {
    this.sessionNow = sessionNow;
    this.#profile = profile;
  }

  /**
   * Reads some keys. Returns those that it has read, and whether there are more.
   * @throws what the token answers; the keys that were read before are read
   */
  step(): { readonly keys: ReadonlyMap<KeyId, Handle>; readonly isComplete: boolean } {
    this.#unread ??= [pkcs11js.CKO_PRIVATE_KEY, pkcs11js.CKO_SECRET_KEY].flatMap((value) =>
      findObjects(this.sessionNow(), [{ type: pkcs11js.CKA_CLASS, value }]),
    );
    const keys = new Map<KeyId, Handle>();
    const end = performance.now() + readMs;
    do {
      const handle = this.#unread.pop();
      if (handle === undefined) return { keys, isComplete: true };
      const id = this.#read(handle);
      if (id !== undefined && !isMacKeyId(id)) keys.set(id, handle);
    } while (performance.now() < end);
    return { keys, isComplete: false };
  }

  /**
   * When half-made keys are to be looked at again, after the last step; undefined: there are none.
   */
  get halfMadeAfterMs(): number | undefined {
    return this.#halfMade.length === 0 ? undefined : halfMadeMs;
  }

  /**
   * Finishes or destroys the keys that a kill has left half-made: without an identifier the journal
   * would never find them. A key gets the identifier in its label, or is destroyed. Returns those
   * that are kept.
   * @throws what the token answers
   */
  finishHalfMade(): ReadonlyMap<KeyId, Handle> {
    const kept = new Map<KeyId, Handle>();
    for (const handle of this.#halfMade.splice(0)) {
      const id = unlessGone(() => this.#finish(handle));
      if (id !== undefined) kept.set(id, handle);
    }
    return kept;
  }

  /** Keys of other applications on the same token are left alone. */
  #read(handle: Handle): KeyId | undefined {
    const bytes = unlessGone(() => idBytesOf(this.sessionNow(), handle));
    if (bytes?.length === 0) this.#halfMade.push(handle);
    return bytes === undefined || bytes.length === 0 ? undefined : ownId(bytes);
  }

  /**
   * A half-made key is listed without being a token object, or has a label of signetd. Under some
   * profiles keys get their identifier after they are made, and the label says which.
   */
  #finish(key: Handle): KeyId | undefined {
    const session = this.sessionNow();
    const { module, handle } = session;
    const bytes = idBytesOf(session, key);
    if (bytes === undefined || bytes.length > 0) return undefined;
    const [isToken, labelled] = module.C_GetAttributeValue(handle, key, [{ type: pkcs11js.CKA_TOKEN }, { type: pkcs11js.CKA_LABEL }]);
    const kept = Buffer.isBuffer(isToken?.value) ? isToken.value[0] !== 0 : isToken?.value !== false;
    const label = Buffer.isBuffer(labelled?.value) ? labelled.value.toString('utf8') : '';
    const id = kept && this.#profile.idAfterGeneration ? idInLabel(label) : undefined;
    if (id !== undefined) setId(session, key, id);
    else if (!kept || isOurLabel(label)) module.C_DestroyObject(handle, key);
    return id;
  }
}

/** Somebody may destroy an object meanwhile. */
function unlessGone<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (handleIsStale(pkcs11Code(error))) return undefined;
    throw error;
  }
}

function ownId(bytes: Buffer): KeyId | undefined {
  try {
    return keyIdOf(bytes);
  } catch {
    return undefined;
  }
}
