import { hash } from 'node:crypto';

/**
 * Returns a reader that gives the same object for the same bytes while the object is in use: large
 * inputs are parsed and checked once, without being kept in memory. The objects must not change;
 * they share the memory of what is passed to `read`, which is never part of a larger buffer.
 */
export function readWhileAlive<T extends object>(read: (der: Uint8Array) => T): (der: Uint8Array) => T {
  const known = new Map<string, WeakRef<T>>();
  const gone = new FinalizationRegistry<string>((digest) => {
    if (known.get(digest)?.deref() === undefined) known.delete(digest);
  });
  return (der) => {
    const digest = hash('sha256', der, 'base64');
    const before = known.get(digest)?.deref();
    if (before !== undefined) return before;
    const value = read(der.byteLength === der.buffer.byteLength ? der : Uint8Array.from(der));
    known.set(digest, new WeakRef(value));
    gone.register(value, digest);
    return value;
  };
}
