import type { Audit } from '../audit/audit.ts';
import type { AdministrationEntry } from '../audit/record.ts';
import { tenantId } from '../clients/caller.ts';
import { identityKeyOf } from '../keys/identity-keys.ts';
import { isLocked, remainingAttempts } from '../keys/key-record.ts';
import type { Keyring } from '../keys/keyring.ts';
import type { StateStore } from '../state/state-store.ts';
import type { IdentityKeyRow } from '../state/tables/identity-keys.ts';
import { parseKeyId } from '../token/key-id.ts';
import type { Token } from '../token/token.ts';
import { CommandRefused, type Done, type RequestOf } from './protocol.ts';
import type { IdentityKeyView } from './views.ts';

export interface IdentityCommands {
  readonly store: StateStore;
  readonly keys: Keyring;
  readonly token: Pick<Token, 'findKeys'>;
  readonly audit: Audit;
}

/**
 * Returns the keys of all digital identities.
 * @param onToken CKA_IDs of the keys on the token; undefined: not known
 */
export async function identityKeyViews(store: StateStore, onToken?: ReadonlySet<string>): Promise<IdentityKeyView[]> {
  const rows = await store.run('listIdentityKeys');
  return rows.map((row) => viewOf(row, store.now(), onToken));
}

/** Lists the keys of all digital identities, and whether they are on the token. */
export async function listIdentities({ store, token }: IdentityCommands): Promise<IdentityKeyView[]> {
  const ids = (await store.run('listIdentityKeys')).map(({ key_id: keyId }) => parseKeyId(keyId));
  return identityKeyViews(store, await token.findKeys(ids));
}

/** Unlocks the key of an identity and resets its attempts. @throws {CommandRefused} */
export async function unlockIdentity(
  { store, keys, audit }: IdentityCommands,
  request: RequestOf<'identity unlock'>,
  entry: AdministrationEntry,
): Promise<Done> {
  return audit.administer(entry, async (settlement) => {
    const { reference, tenant } = await rowOf(store, request);
    await keys.operator.unlockIdentity(reference, settlement({ key: reference, tenant }));
    return { value: { result: viewOf(await rowOf(store, request), store.now(), undefined) } };
  });
}

/** Destroys the key of an identity. @throws {CommandRefused} */
export async function removeIdentity(
  { store, keys, audit }: IdentityCommands,
  request: RequestOf<'identity remove'>,
  entry: AdministrationEntry,
): Promise<Done> {
  return audit.administer(entry, async (settlement) => {
    const row = await rowOf(store, request);
    if (!(await keys.operator.removeIdentity(row, settlement({ key: row.reference, tenant: row.tenant })))) throw unknown(request);
    return { value: { result: viewOf(row, store.now(), undefined) } };
  });
}

type Named = Omit<RequestOf<'identity unlock'>, 'command'>;

async function rowOf(store: StateStore, request: Named): Promise<IdentityKeyRow> {
  const { tenant, ca, certificateId } = request;
  const row = await store.run('findIdentityKey', { tenant, ca, certificate_id: certificateId });
  if (row === undefined) throw unknown(request);
  return row;
}

function unknown({ tenant, ca, certificateId }: Named): CommandRefused {
  return new CommandRefused(`${tenant} has no key for the identity ${ca} ${certificateId}`);
}

/** @param now the store's time, which locks use: milliseconds since the epoch */
function viewOf(row: IdentityKeyRow, now: number, onToken: ReadonlySet<string> | undefined): IdentityKeyView {
  const key = identityKeyOf(row, tenantId(row.tenant));
  const { lockedUntil } = key;
  return {
    ...{ tenant: row.tenant, ca: row.ca, certificateId: row.certificate_id },
    ...{ type: row.key_type, tokenId: row.key_id, reference: row.reference },
    publicKey: Buffer.from(row.public_key).toString('base64'),
    created: new Date(row.created_at).toISOString(),
    remainingAttempts: remainingAttempts(key, now),
    isLocked: isLocked(key, now),
    lockedUntil: lockedUntil === undefined || lockedUntil <= now ? null : new Date(lockedUntil).toISOString(),
    isOnToken: onToken === undefined ? null : onToken.has(row.key_id),
  };
}
