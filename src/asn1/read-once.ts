import { hash } from 'node:crypto';

export interface Memory {
  /** Number of cached entries; the least recently used is evicted first. */
  readonly entriesMax: number;
  /** Longer inputs are not cached. */
  readonly entryMaxBytes: number;
}

/**
 * Returns a reader that gives the same object for the same bytes. Certificates and OCSP responses
 * recur, and results derived from them (such as who signed them) stay cached as well. The objects
 * must not change; they may share the memory of the copy passed to `read`.
 */
export function readOnce<T>(read: (der: Uint8Array) => T, { entriesMax, entryMaxBytes }: Memory): (der: Uint8Array) => T {
  const known = new Map<string, T>();
  return (der) => {
    if (der.length > entryMaxBytes) return read(der);
    const digest = hash('sha256', der, 'base64');
    const before = known.get(digest);
    const value = before ?? read(Uint8Array.from(der));
    if (before !== undefined) known.delete(digest);
    known.set(digest, value);
    const [oldest] = known.keys();
    if (known.size > entriesMax && oldest !== undefined) known.delete(oldest);
    return value;
  };
}

/** Caches the result of `find` for each object. */
export function foundOnce<K extends object, V>(find: (key: K) => V): (key: K) => V {
  const found = new WeakMap<K, { readonly value: V }>();
  return (key) => {
    const known = found.get(key) ?? { value: find(key) };
    found.set(key, known);
    return known.value;
  };
}

/**
 * Returns a reader that gives the same object for the same bytes while the object is in use: large
 * inputs are parsed and checked once, without being kept in memory. The objects must not change;
 * they share the memory of what is passed to `read`, which is never part of a larger buffer. `digest`:
 * SHA-256 of the bytes in Base64, where it is known.
 */
export function readWhileAlive<T extends object>(read: (der: Uint8Array) => T): (der: Uint8Array, digest?: string) => T {
  const known = new Map<string, WeakRef<T>>();
  const gone = new FinalizationRegistry<string>((digest) => {
    if (known.get(digest)?.deref() === undefined) known.delete(digest);
  });
  return (der, digest = hash('sha256', der, 'base64')) => {
    const before = known.get(digest)?.deref();
    if (before !== undefined) return before;
    const value = read(der.byteLength === der.buffer.byteLength ? der : Uint8Array.from(der));
    known.set(digest, new WeakRef(value));
    gone.register(value, digest);
    return value;
  };
}
