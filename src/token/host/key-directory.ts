import type { Handle } from 'pkcs11js';
import type { KeyId } from '../key-id.ts';

/** A change of keys that the threads of a host pass to each other. */
export type KeyChange =
  | { readonly kind: 'added'; readonly id: KeyId; readonly handle: Handle }
  | { readonly kind: 'removed'; readonly id: KeyId }
  /** Keys that were read from the token (`KeyListing`). */
  | { readonly kind: 'listed'; readonly keys: ReadonlyMap<KeyId, Handle>; readonly isComplete: boolean };

const maxRemembered = 10_000;

/**
 * Handles of the token's keys, as known to one thread. Identifiers are never reused, so a removed
 * one stays removed, even if the thread that makes its key finishes after another was asked to
 * destroy it: the maker then destroys the key.
 */
export class KeyDirectory {
  readonly #handles = new Map<KeyId, Handle>();
  readonly #removed = new Set<KeyId>();
  /** Keys that this thread made. */
  readonly #made = new Set<KeyId>();
  readonly #tell: (change: KeyChange) => void;
  readonly #destroy: (id: KeyId, handle: Handle) => void;
  #isListed = false;

  /** @param destroy destroys a key that this thread made too late */
  constructor(tell: (change: KeyChange) => void, destroy: (id: KeyId, handle: Handle) => void) {
    this.#tell = tell;
    this.#destroy = destroy;
  }

  get(id: KeyId): Handle | undefined {
    return this.#handles.get(id);
  }

  /** Whether all keys that were on the token at the host's start are known. */
  get isListed(): boolean {
    return this.#isListed;
  }

  /** Returns keys in the order of their identifiers. */
  page({ after, limit }: { readonly after: KeyId | undefined; readonly limit: number }): KeyId[] {
    return [...this.#handles.keys()]
      .filter((id) => after === undefined || id > after)
      .toSorted()
      .slice(0, limit);
  }

  /** Records keys that this thread has read from the token. */
  listed(keys: ReadonlyMap<KeyId, Handle>, isComplete: boolean): void {
    this.#list(keys, isComplete);
    this.#tell({ kind: 'listed', keys, isComplete });
  }

  /** Whether the key's destruction was requested. */
  isRemoved(id: KeyId): boolean {
    return this.#removed.has(id);
  }

  /** Records a key that this thread made. */
  made(id: KeyId, handle: Handle): void {
    remember(this.#made, id);
    this.found(id, handle);
  }

  /**
   * Records a handle that this thread found: not of a removed key, which a token may still find.
   */
  found(id: KeyId, handle: Handle): void {
    if (this.#removed.has(id)) return;
    this.#handles.set(id, handle);
    this.#tell({ kind: 'added', id, handle });
  }

  /** Removes a key that this thread is about to destroy. */
  remove(id: KeyId): void {
    remember(this.#removed, id);
    this.#handles.delete(id);
  }

  /**
   * Tells the other threads once this thread has destroyed the key. Not earlier: the key's maker
   * checks for remains, and two must not destroy at once.
   */
  tellRemoved(id: KeyId): void {
    this.#tell({ kind: 'removed', id });
  }

  /** Applies another thread's change. */
  changed(change: KeyChange): void {
    if (change.kind === 'listed') {
      this.#list(change.keys, change.isComplete);
      return;
    }
    const { kind, id } = change;
    if (kind === 'added') {
      if (!this.#removed.has(id)) this.#handles.set(id, Buffer.from(change.handle));
      return;
    }
    remember(this.#removed, id);
    const handle = this.#handles.get(id);
    this.#handles.delete(id);
    if (handle !== undefined && this.#made.has(id)) this.#destroy(id, handle);
  }

  #list(keys: ReadonlyMap<KeyId, Handle>, isComplete: boolean): void {
    for (const [id, handle] of keys) {
      // A handle that is known already is newer. A Buffer arrives in another thread as a Uint8Array,
      // and pkcs11js accepts only Buffers.
      if (!this.#removed.has(id) && !this.#handles.has(id)) this.#handles.set(id, Buffer.from(handle));
    }
    this.#isListed ||= isComplete;
  }
}

function remember(ids: Set<KeyId>, id: KeyId): void {
  ids.add(id);
  if (ids.size <= maxRemembered) return;
  const oldest = ids.keys().next();
  if (oldest.done !== true) ids.delete(oldest.value);
}
