import type { Audit } from '../audit/audit.ts';
import type { AdministrationEntry } from '../audit/record.ts';
import { parseKeyReferenceId } from '../keys/key-record.ts';
import type { Keyring } from '../keys/keyring.ts';
import { Refusal } from '../result-codes.ts';
import type { StateStore } from '../state/state-store.ts';
import { findKeyView } from './key-view.ts';
import { type RequestOf, CommandRefused, type Done } from './protocol.ts';

export interface KeyCommands {
  readonly store: StateStore;
  readonly keys: Keyring;
  readonly audit: Audit;
}

/** Unlocks a key and resets its attempts. @throws {CommandRefused} */
export async function unlockKey(
  { store, keys, audit }: KeyCommands,
  { reference }: RequestOf<'key unlock'>,
  entry: AdministrationEntry,
): Promise<Done> {
  return audit.administer({ ...entry, key: reference }, async (settlement) => {
    const { tenant } = await findKeyView(store, reference);
    await keys.operator.unlock(parseKeyReferenceId(reference), settlement({ key: reference, tenant }));
    return { value: { result: await findKeyView(store, reference) } };
  });
}

/** Destroys a key whose secret is lost; certificate and record remain. @throws {CommandRefused} */
export async function removeKey(
  { store, keys, audit }: KeyCommands,
  { reference }: RequestOf<'key remove'>,
  entry: AdministrationEntry,
): Promise<Done> {
  return audit.administer({ ...entry, key: reference }, async (settlement) => {
    const { tenant, state } = await findKeyView(store, reference);
    if (state === 'LEFT_BEHIND')
      throw new CommandRefused(
        `reference: the private key of ${reference} is on a token that the service no longer uses; nothing was destroyed`,
      );
    const ended = new CommandRefused(`reference: the private key of ${reference} is already destroyed; its state is ${state}`);
    if (state === 'REMOVED' || state === 'CONSUMED') throw ended;
    try {
      await keys.operator.remove(parseKeyReferenceId(reference), settlement({ key: reference, tenant }));
    } catch (error) {
      if (error instanceof Refusal && error.code === 'KEY_STATE') throw ended;
      throw error;
    }
    return { value: { result: await findKeyView(store, reference) } };
  });
}
