import { administrationStep } from '../audit/audited-request.ts';
import { compareState, type StateComparison } from '../audit/compare-state.ts';
import { findTail } from '../audit/find-tail.ts';
import type { AdministrationEntry } from '../audit/record.ts';
import type { Config } from '../config/config.ts';
import type { StateStore } from '../state/state-store.ts';
import { step } from '../state/step.ts';
import { catchUp, type Remedy } from './catch-up.ts';
import { CommandRefused, type Done } from './protocol.ts';
import type { ComparisonView, ConfirmedView } from './views.ts';

/** Maximum number of changes in one answer. */
const shownMax = 10_000;

/** Returns a comparison for signetctl, with the effect of a confirmation on each change. */
export async function comparisonView(store: Pick<StateStore, 'run' | 'now'>, comparison: StateComparison): Promise<ComparisonView> {
  const { log, isOlder, isForeign, names, known, last, lacking, absent, untold } = comparison;
  const { remedies } = catchUp({ ...comparison, lacking: lacking.slice(0, shownMax) }, await store.run('listClients'), store.now());
  return {
    ...{ log, isOlder, isForeign, names: [...names], untold, knownRecord: known, lastRecord: last },
    lacking: remedies.map(({ lacking: one, remedy, isLost }) => ({
      ...{ record: one.record, time: one.time, by: one.by, effect: one.effect.effect, remedy, isLost },
      ...{ client: one.client ?? null, tenant: one.tenant ?? null, key: one.key ?? null },
    })),
    lackingCount: lacking.length,
    absent: absent ?? null,
  };
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
  { directory, name }: Pick<Config['audit'], 'directory' | 'name'>,
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
  const { remedies, steps } = catchUp(comparison, await store.run('listClients'), store.now());
  const { tail, file } = await findTail(directory, undefined);
  const lost = remedies.filter(({ isLost }) => isLost);
  const confirmed = {
    ...{ from: comparison.known + 1, to: tail.n },
    ...{ applied: remedies.length - lost.length, lost: lost.length },
  } satisfies ConfirmedView;
  const record = administrationStep(name, { ...entry, confirmed });
  const place = step('replaceAuditHead', { log: name, records: tail.n, hash: tail.hash, file });
  await store.commit([...steps, place, record.step]);
  return { result: confirmed, notes: [...lost.map(lostInWords), ...uncomparedInWords(comparison)] };
}

function lostInWords({ lacking: { record, key, client }, remedy }: Remedy): string {
  return `record ${record}: ${key === undefined ? (client ?? '') : `key ${key}`}: ${remedy}`;
}

function uncomparedInWords({ absent, untold }: StateComparison): string[] {
  return [
    ...(absent === undefined ? [] : [`records ${absent.from} to ${absent.to} are missing: their changes were not applied again`]),
    ...(untold === 0
      ? []
      : [`${untold} requests recorded by an earlier version do not say what they changed: their changes were not applied again`]),
  ];
}
