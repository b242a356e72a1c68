import { keyPage } from '../admin/key-view.ts';
import type { StateStore } from '../state/state-store.ts';
import type { FoundKeys, Key } from './page/answers.ts';

export interface KeyQuery {
  /** Part of the subject in any case, or the beginning of the reference. */
  readonly text: string;
  readonly tenant: string | undefined;
  readonly state: string | undefined;
  /** `next` of the answer before. */
  readonly after: string | undefined;
}

/** Keys that one answer shows, and that one search looks at: their certificates are parsed. */
const shownMax = 50;
const lookedMax = 2000;
/** So few at a time that requests do not wait for them. */
const pageSize = 50;

/**
 * Searches keys in the order of their references. A state follows from counters and times, and a
 * name is in the certificate, so keys are looked at one by one, up to a limit: `next` says where to
 * go on.
 */
export async function searchKeys(store: StateStore, query: KeyQuery): Promise<FoundKeys> {
  const text = query.text.trim().toLowerCase();
  const prefix = /^[0-9a-f]{4,40}$/.test(text) ? text : undefined;
  if (prefix !== undefined && query.after === undefined) {
    const found = await keysWithPrefix(store, prefix, query);
    // A name can be of hexadecimal digits too.
    if (found.keys.length > 0) return found;
  }
  const keys: Key[] = [];
  let looked = 0;
  let after = query.after;
  while (looked < lookedMax) {
    const page = await keyPage(store, { tenant: query.tenant, after, limit: pageSize });
    for (const key of page.keys) {
      looked += 1;
      after = key.reference;
      if (isWanted(key, query) && (text === '' || key.subject.toLowerCase().includes(text))) keys.push(key);
      if (keys.length === shownMax) return { keys, next: page.more || key !== page.keys.at(-1) ? after : null, looked };
    }
    if (!page.more) return { keys, next: null, looked };
  }
  return { keys, next: after ?? null, looked };
}

async function keysWithPrefix(store: StateStore, prefix: string, query: KeyQuery): Promise<FoundKeys> {
  // The reference before the first that can have the prefix; references are 40 digits.
  const { keys: page } = await keyPage(store, { tenant: query.tenant, after: prefix.slice(0, 39), limit: shownMax });
  const keys = page.filter((key) => key.reference.startsWith(prefix) && isWanted(key, query));
  return { keys, next: null, looked: page.length };
}

function isWanted(key: Key, { tenant, state }: KeyQuery): boolean {
  return (tenant === undefined || key.tenant === tenant) && (state === undefined || key.state === state);
}
