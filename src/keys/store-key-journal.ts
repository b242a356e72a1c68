import type { StateStore } from '../state/state-store.ts';
import type { KeyJournal } from '../token/key-journal.ts';

/**
 * Returns the key journal in the state store. `Keyring.recover` finishes its entries at the next
 * start.
 */
export function storeKeyJournal(store: StateStore): KeyJournal {
  return {
    announce: async (id, intent) => store.run('announce', { key_id: id, intent, created_at: store.now() }),
    settle: async (id) => store.run('finishStep', id),
  };
}
