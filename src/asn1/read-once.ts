import { hash } from 'node:crypto';

export interface Memory {
  /** So many are remembered; the one that was asked for least recently goes first. */
  readonly entriesMax: number;
  /** What is longer is read each time. */
  readonly entryMaxBytes: number;
}

/**
 * A reader that gives the same object for the same bytes: certificates and answers come back again and again, and what is known of them, such as who signed
 * them, stays known. The objects must not change, and may share the memory of what is given to `read`, which is a copy.
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

/** Remembers for each object what was found out about it. */
export function foundOnce<K extends object, V>(find: (key: K) => V): (key: K) => V {
  const found = new WeakMap<K, { readonly value: V }>();
  return (key) => {
    const known = found.get(key) ?? { value: find(key) };
    found.set(key, known);
    return known.value;
  };
}
