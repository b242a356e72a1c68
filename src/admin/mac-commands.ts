import type { Audit } from '../audit/audit.ts';
import type { AdministrationEntry } from '../audit/record.ts';
import type { Keyring } from '../keys/keyring.ts';
import type { MacKeyInForce } from '../keys/mac-key.ts';
import type { StateStore } from '../state/state-store.ts';
import type { TokenMacKey } from '../token/token.ts';
import { CommandRefused, type Done, type RequestOf } from './protocol.ts';
import type { MacView } from './views.ts';

export interface MacCommands {
  readonly store: StateStore;
  readonly audit: Audit;
  readonly keys: Pick<Keyring, 'renewal'>;
  readonly macKey: MacKeyInForce;
  readonly token: { readonly macKey: Pick<TokenMacKey, 'destroy'> };
}

/** Makes another MAC key, and seals every row anew with it. */
export async function rotateMac(context: MacCommands, entry: AdministrationEntry): Promise<Done> {
  return context.audit.administer(entry, async () => {
    await context.macKey.rotate();
    await context.keys.renewal.resealAll();
    return { value: { result: await macView(context) } };
  });
}

/**
 * Destroys the former MAC keys, and whatever an earlier command left of them.
 * @throws {CommandRefused} if secrets depend on one, unless it is forced
 */
export async function destroyFormerMac(
  context: MacCommands,
  { force }: RequestOf<'mac destroy'>,
  entry: AdministrationEntry,
): Promise<Done> {
  const { store, macKey, token, keys, audit } = context;
  return audit.administer(entry, async () => {
    await keys.renewal.resealAll();
    const { secrets, oneTime, former } = await macView(context);
    const known = await store.run('listMacKeys');
    const all = known.filter(({ generation }) => generation < macKey.generation);
    if (all.length === 0) throw new CommandRefused('there is no former MAC key: signetctl mac rotate makes another one first');
    if (!force && former > 0 && secrets + oneTime > 0) {
      throw new CommandRefused(
        `nothing was destroyed: ${secrets} keys have a password, authToken or transaction that only a former MAC key verifies, and ${oneTime} one-time passwords and activation data are open. ` +
          'Each is made anew when it is used, or ends; --force destroys the key now, and these keys can never sign again: they need new certificates',
      );
    }
    for (const { generation } of all) {
      await store.run('endMacKey', { generation, now: store.now() });
      // Again for those that an earlier command may have left behind.
      await token.macKey.destroy(generation, macKey.generation);
    }
    return { value: { result: { ...(await macView(context)), lost: secrets } } };
  });
}

/** Which MAC keys there are, and what depends on former ones. */
export async function macView({ store, macKey }: Pick<MacCommands, 'store' | 'macKey'>): Promise<MacView> {
  const known = await store.run('listMacKeys');
  const dependents = await store.run('countMacDependents', { current: macKey.generation, now: store.now() });
  const former = known.filter(({ generation, destroyedAt }) => destroyedAt === null && generation < macKey.generation).length;
  return { current: macKey.generation, former, ...dependents };
}
