import type { Handle } from 'pkcs11js';
import type { KeyId } from '../key-id.ts';

/** A change that the threads of a host tell each other. */
export type KeyChange =
  | { readonly kind: 'added'; readonly id: KeyId; readonly handle: Handle }
  | { readonly kind: 'removed'; readonly id: KeyId };

const maxRemembered = 10_000;

/**
 * Where the keys of the token are, as one thread knows it. Identifiers are never used twice, so one that was removed stays removed, even when the
 * thread that makes its key finishes after another one was told to destroy it: the key is then destroyed by its maker.
 */
export class KeyDirectory {
  readonly #handles: Map<KeyId, Handle>;
  readonly #removed = new Set<KeyId>();
  /** Keys that this thread made. */
  readonly #made = new Set<KeyId>();
  readonly #tell: (change: KeyChange) => void;
  readonly #destroy: (id: KeyId, handle: Handle) => void;

  /** @param destroy destroys what this thread made too late */
  constructor(known: ReadonlyMap<KeyId, Handle>, tell: (change: KeyChange) => void, destroy: (id: KeyId, handle: Handle) => void) {
    // A Buffer crosses threads as a Uint8Array, and pkcs11js takes only Buffers.
    this.#handles = new Map([...known].map(([id, handle]) => [id, Buffer.from(handle)]));
    this.#tell = tell;
    this.#destroy = destroy;
  }

  get(id: KeyId): Handle | undefined {
    return this.#handles.get(id);
  }

  all(): Iterable<KeyId> {
    return this.#handles.keys();
  }

  /** Whether somebody asked for the key's destruction before. */
  isRemoved(id: KeyId): boolean {
    return this.#removed.has(id);
  }

  /** This thread made the key. */
  made(id: KeyId, handle: Handle): void {
    remember(this.#made, id);
    this.found(id, handle);
  }

  /** This thread has the key's handle. */
  found(id: KeyId, handle: Handle): void {
    this.#handles.set(id, handle);
    this.#tell({ kind: 'added', id, handle });
  }

  /** This thread is about to destroy the key. */
  remove(id: KeyId): void {
    remember(this.#removed, id);
    this.#handles.delete(id);
  }

  /** This thread has destroyed what it found. Not told before: its maker looks whether anything is left, and two must not destroy at once. */
  tellRemoved(id: KeyId): void {
    this.#tell({ kind: 'removed', id });
  }

  /** Another thread's change. */
  changed(change: KeyChange): void {
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
}

function remember(ids: Set<KeyId>, id: KeyId): void {
  ids.add(id);
  if (ids.size <= maxRemembered) return;
  const oldest = ids.keys().next();
  if (oldest.done !== true) ids.delete(oldest.value);
}
