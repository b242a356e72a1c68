import type { KeyId } from './key-id.ts';

/**
 * Where a step on the token is written down before it begins, so that a kill between the token and the record that holds the key leaves
 * no orphan: what is announced and not settled is destroyed on the token at the next start.
 */
export interface KeyJournal {
  /** Durable when it resolves. CREATE: the token is about to make the key. DESTROY: it is about to destroy it. Once for each step. */
  announce(id: KeyId, intent: 'CREATE' | 'DESTROY'): Promise<void>;
  /** The step is over: a record holds the key, or the key is gone from the token. A key that is not announced is no error. */
  settle(id: KeyId): Promise<void>;
}
