import type { Handle } from 'pkcs11js';
import { macKeyIdOf, type KeyId } from '../key-id.ts';
import { ckr, handleIsStale } from '../pkcs11-faults.ts';
import { findById, findByLabel } from './find-objects.ts';
import { isHmac, makeHmac } from './hmac.ts';
import { makeMacKey, setId } from './key-objects.ts';
import { macKeyLabel } from './key-templates.ts';
import type { ModuleProfile } from './module-profile.ts';
import { pkcs11Code, pkcs11js, type Session } from './session.ts';

/**
 * Input of the key's check value. The input of a secret's MAC begins differently (`macInput`), so
 * no secret's MAC equals it.
 */
const checkInput = Buffer.from('signetd MAC key check v1\0');

/** The token has no MAC key. */
export class MacKeyMissing extends Error {}

/** Returns the keys with a MAC key's identifier: none before it is made, otherwise one. */
export function findMacKeys(session: Session, generation = 0): Handle[] {
  return findById(session, macKeyIdOf(generation), pkcs11js.CKO_SECRET_KEY);
}

/** Returns what an operator must know if there are several. */
export function severalMacKeysFault(count: number, generation = 0): string | undefined {
  if (count < 2) return undefined;
  return (
    `it has ${count} MAC keys (CKA_ID ${macKeyIdOf(generation)}) where there must be one, and a password that was made with one is wrong with the other: ` +
    "with the vendor's tool, give all but one another CKA_ID, and start; if signetd then reports that the key is not the one of its state store, use the other"
  );
}

/**
 * A MAC key, as used by one thread. Only `make` makes it; the caller must prevent concurrent
 * calls.
 */
export class MacKey {
  readonly #sessionNow: () => Session;
  readonly #profile: ModuleProfile;
  readonly #generation: number;
  #handle: Handle | undefined;
  #check: Buffer | undefined;

  /**
   * @param sessionNow the session of this thread, which is reopened after some faults
   * @param found the key found at the host's start
   * @param generation its number (`mac-generation.ts`)
   */
  constructor(sessionNow: () => Session, profile: ModuleProfile, found: Handle | undefined, generation = 0) {
    this.#generation = generation;
    this.#sessionNow = sessionNow;
    this.#profile = profile;
    this.#handle = found;
  }

  /** Whether it was found, or made, whether or not it was used. */
  get isKnown(): boolean {
    return this.#handle !== undefined;
  }

  /** The cached handle; undefined before the key's first use, which records its check value. */
  get kept(): Handle | undefined {
    return this.#check === undefined ? undefined : this.#handle;
  }

  /** Uses the cached handle; a stale one is looked up once more. @throws {MacKeyMissing} */
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

  /**
   * Returns the key's check value, which reveals nothing about the key, after the token has verified
   * it, as it verifies secrets.
   * @throws {MacKeyMissing}
   */
  check(): Buffer {
    return this.use((key) => this.#checkOf(key));
  }

  /**
   * Makes the key unless there is one, and returns its check value. If two hosts make one at once
   * on the same token, at most one succeeds.
   */
  make(): Buffer {
    const session = this.#sessionNow();
    if (findMacKeys(session, this.#generation).length > 0) return this.check();
    const made = this.#unfinished(session) ?? makeMacKey(session, { id: this.#id }, this.#profile);
    // Another host that makes one now or later sees this one as well. It has made no MAC yet.
    if (findMacKeys(session, this.#generation).length > 1) {
      session.module.C_DestroyObject(session.handle, made);
      throw new Error('another host made a MAC key at the same time; try again');
    }
    // SoftHSM may not find it for a moment while another process logs in.
    this.#handle = made;
    return this.check();
  }

  /** Destroys the key, which nothing verifies with afterwards. A missing key is not an error. */
  destroy(): void {
    const { module, handle } = this.#sessionNow();
    for (const key of findMacKeys(this.#sessionNow(), this.#generation)) module.C_DestroyObject(handle, key);
    this.#handle = undefined;
    this.#check = undefined;
  }

  get #id(): KeyId {
    return macKeyIdOf(this.#generation);
  }

  /** Finishes a key that was interrupted before it had its identifier; it has made no MAC yet. */
  #unfinished(session: Session): Handle | undefined {
    const [unfinished] = this.#profile.idAfterGeneration ? findByLabel(session, macKeyLabel, pkcs11js.CKO_SECRET_KEY) : [];
    if (unfinished !== undefined) setId(session, unfinished, this.#id);
    return unfinished;
  }

  #search(): Handle {
    const found = findMacKeys(this.#sessionNow(), this.#generation);
    const fault = severalMacKeysFault(found.length, this.#generation);
    if (fault !== undefined) throw new Error(`the token cannot be used: ${fault}`);
    const [handle] = found;
    if (handle === undefined) throw new MacKeyMissing('the token has no MAC key');
    const check = this.#checkOf(handle);
    // Only a new host, which its daemons check first, may continue with another key.
    if (this.#check?.equals(check) === false) throw new Error(`CKR_DEVICE_REMOVED:${ckr.DEVICE_REMOVED} the MAC key has changed`);
    this.#handle = handle;
    this.#check = check;
    return handle;
  }

  #checkOf(key: Handle): Buffer {
    const [session, used] = [this.#sessionNow(), { hash: 'sha256', key }] as const;
    const check = makeHmac(session, used, checkInput);
    if (!isHmac(session, used, checkInput, check, this.#profile.macKey.comparedBy))
      throw new Error(`CKR_SIGNATURE_INVALID:${ckr.SIGNATURE_INVALID} the token refuses a MAC that it has made`);
    return check;
  }
}
