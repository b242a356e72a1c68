import { hash } from 'node:crypto';

/**
 * A reader that gives the same object for the same bytes as long as somebody has it: big things are taken apart, and judged, once, and nothing is kept in
 * memory for it. The objects must not change, and share the memory of what is given to `read`, which is never a part of something bigger.
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
