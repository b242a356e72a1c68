import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { administrationStep } from '../audit/audited-request.ts';
import { compareState, type Lacking, type StateComparison } from '../audit/compare-state.ts';
import { findTail } from '../audit/find-tail.ts';
import type { AdministrationEntry } from '../audit/record.ts';
import type { Config } from '../config/config.ts';
import type { LastCrl } from '../state/repositories/catching-up.ts';
import type { StateStore } from '../state/state-store.ts';
import { step } from '../state/step.ts';
import { catchUp, type Remedy } from './catch-up.ts';
import type { KnownClients } from './catch-up-clients.ts';
import { CommandRefused, type Done } from './protocol.ts';
import type { ComparisonView, ConfirmedView } from './views.ts';

/** Maximum number of changes in one answer. */
const shownMax = 10_000;

/** Returns a comparison for signetctl, with the effect of a confirmation on each change. */
export async function comparisonView(store: Pick<StateStore, 'run' | 'now'>, comparison: StateComparison): Promise<ComparisonView> {
  const { log, isOlder, isForeign, names, known, last, lacking, absent, untold } = comparison;
  // All of them, since a later change may decide on one that is shown.
  const { remedies } = catchUp(comparison, await knownClients(store), store.now());
  return {
    ...{ log, isOlder, isForeign, names: [...names], untold, knownRecord: known, lastRecord: last },
    lacking: remedies.slice(0, shownMax).map(({ lacking: one, remedy, isLost }) => ({
      ...{ record: one.record, time: one.time, by: one.by, effect: one.effect.effect, remedy, isLost },
      ...{ client: one.client ?? null, tenant: one.tenant ?? null, key: one.key ?? null, publicKey: publicKeyOf(one) ?? null },
    })),
    lackingCount: lacking.length,
    absent: absent ?? null,
  };
}

/** What a confirmation needs of the configuration. */
interface Confirmable extends Pick<Config, 'certificateAuthorities'> {
  readonly audit: Pick<Config['audit'], 'directory' | 'name'>;
}

/**
 * Brings a state store that is older than the audit log to the log's end, in one commit: changes in
 * the log are applied again where possible, the store's place becomes the log's end, and the record
 * of this waits in the outbox for the next start. A crash leaves all of it done, or nothing.
 * @param seen the comparison that the operator confirms; undefined: whatever it is now
 * @throws {CommandRefused} if the store is not older, or the comparison is another one now
 */
export async function confirmState(
  store: StateStore,
  { audit: { directory, name }, certificateAuthorities }: Confirmable,
  entry: AdministrationEntry,
  seen?: Pick<StateComparison, 'known' | 'last' | 'lacking'>,
): Promise<Done> {
  const comparison = await compareState(store, { directory, name });
  const isAsSeen =
    seen === undefined ||
    (comparison.known === seen.known && comparison.last === seen.last && comparison.lacking.length === seen.lacking.length);
  // An approval may have taken minutes.
  if (!isAsSeen) throw new CommandRefused('the state store or the audit log has changed since the service looked at it: restart signetd');
  if (!comparison.isOlder) throw new CommandRefused('the state store is not older than the audit log: there is nothing to confirm');
  const { remedies, steps } = catchUp(comparison, await knownClients(store), store.now(), lastCrls(certificateAuthorities));
  const { tail, file } = await findTail(directory, undefined);
  const lost = remedies.filter(({ isLost }) => isLost);
  const confirmed = {
    ...{ from: comparison.known + 1, to: tail.n },
    ...{ applied: remedies.length - lost.length, lost: lost.length },
  } satisfies ConfirmedView;
  const record = administrationStep(name, { ...entry, confirmed });
  const place = step('replaceAuditHead', { log: name, records: tail.n, hash: tail.hash, file });
  await store.commit([...steps, place, record.step]);
  return { result: confirmed, notes: [...remedies.filter(({ isNoted }) => isNoted).map(inWords), ...uncomparedInWords(comparison)] };
}

async function knownClients(store: Pick<StateStore, 'run'>): Promise<KnownClients> {
  return { registered: await store.run('listClients'), revoked: await store.run('listRevokedClients') };
}

/**
 * Returns the first digits of the SHA-256 of the public key that a command registered or revoked:
 * several clients may have one name.
 */
function publicKeyOf({ by, spki }: Lacking): string | undefined {
  return by === 'client add' || by === 'client revoke' ? spki : undefined;
}

/** The last CRL of a retired authority never ends, or when its certificate does. */
function lastCrls(authorities: Config['certificateAuthorities']): LastCrl[] {
  return Object.entries(authorities)
    .filter(([, { retired }]) => retired)
    .map(([authority, { certificate }]) => ({
      authority,
      endsAt: new X509Certificate(readFileSync(certificate)).validToDate.getTime(),
    }));
}

function inWords({ lacking: one, remedy }: Remedy): string {
  const { record, key, client, by } = one;
  const publicKey = publicKeyOf(one);
  const subject = key === undefined ? (client ?? by) : `key ${key}`;
  return `record ${record}: ${subject}${publicKey === undefined ? '' : ` (public key ${publicKey})`}: ${remedy}`;
}

function uncomparedInWords({ absent, untold }: StateComparison): string[] {
  return [
    ...(absent === undefined ? [] : [`records ${absent.from} to ${absent.to} are missing: their changes were not applied again`]),
    ...(untold === 0
      ? []
      : [`${untold} requests recorded by an earlier version do not say what they changed: their changes were not applied again`]),
  ];
}
