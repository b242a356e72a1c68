import type { StateStore } from '../state/state-store.ts';
import type { KeyJournal } from '../token/key-journal.ts';

/** The journal in the state store. `Keyring.recover` finishes at the next start what it holds. */
export function storeKeyJournal(store: StateStore): KeyJournal {
  return {
    announce: async (id, intent) => store.run('announce', { key_id: id, intent, created_at: store.now() }),
    settle: async (id) => store.run('finishStep', id),
  };
}
