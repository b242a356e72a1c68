import type { KeyType } from '../config/key-types.ts';
import type { StateStore } from '../state/state-store.ts';
import { parseKeyId } from '../token/key-id.ts';
import type { Destruction } from './destruction.ts';

/** Enough for a successor of each of the service's own keys that are replaced by themselves. */
const roomKeys = 3;

/**
 * Destroys keys that wait in the pool of a full token: the service needs room for keys of its own,
 * such as the next one of an OCSP responder. Returns how many.
 */
export async function leaveRoom(
  { store, destruction }: { readonly store: StateStore; readonly destruction: Pick<Destruction, 'undoCreation'> },
  types: Iterable<KeyType>,
): Promise<number> {
  let destroyed = 0;
  for (const keyType of types) {
    while (destroyed < roomKeys) {
      const row = await store.run('takeFromPool', { keyType, now: store.now() });
      if (row === undefined) break;
      await destruction.undoCreation(parseKeyId(row.key_id));
      destroyed += 1;
    }
  }
  return destroyed;
}
