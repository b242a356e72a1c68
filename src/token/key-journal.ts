import type { KeyId } from './key-id.ts';

/**
 * Journal of steps on the token. Each step is recorded before it begins, so that a kill between the
 * token's step and the key's record leaves no orphan: keys that are announced and not settled are
 * destroyed on the token at the next start.
 */
export interface KeyJournal {
  /**
   * Records a step that the token is about to take; durable when it resolves. Once for each step.
   */
  announce(id: KeyId, intent: 'CREATE' | 'DESTROY'): Promise<void>;
  /**
   * Marks the step as done: a record holds the key, or the key is gone from the token. A key that
   * was not announced is not an error.
   */
  settle(id: KeyId): Promise<void>;
}
