import { comparisonView } from '../../admin/state-commands.ts';
import { ComparisonView } from '../../admin/views.ts';
import { compareState } from '../../audit/compare-state.ts';
import { loadConfig } from '../../config/config.ts';
import type { Outcome } from '../outcome.ts';
import { look } from '../service.ts';
import { fields, table } from '../table.ts';

/** `state compare`: whether the state store has all that the audit log tells of. */
export async function stateCompare(configPath: string): Promise<Outcome> {
  const { result, notes } = await look(
    configPath,
    { command: 'state compare' },
    { schema: ComparisonView, read: async (store) => comparisonView(store, await compareState(store, loadConfig(configPath).audit)) },
  );
  const { lacking, lackingCount, isOlder, absent, untold } = result;
  const rows = lacking.map((one) => [String(one.record), one.time, one.by, one.client ?? '', one.key ?? '', one.effect, one.remedy]);
  const text = fields([
    ['audit log', `${result.log}, ${result.lastRecord} records`],
    ['state store', result.knownRecord === 0 ? 'names no place in it' : `is at record ${result.knownRecord}`],
    ['it lacks', `${lackingCount} changes`],
  ]);
  const headings = ['RECORD', 'TIME', 'BY', 'CLIENT', 'KEY', 'CHANGED', 'A CONFIRMATION'];
  return {
    json: result,
    text: rows.length === 0 ? text : `${text}\n${table(headings, rows)}`,
    faults: isOlder
      ? ['the state store is older than the audit log: bring back the right one, or go on with this one by signetctl state confirm']
      : [],
    notes: [
      ...notes,
      ...(lackingCount > lacking.length ? [`${lackingCount - lacking.length} more changes are not shown`] : []),
      ...(absent === null ? [] : [`records ${absent.from} to ${absent.to} are not there, and cannot be compared`]),
      ...(untold === 0 ? [] : [`${untold} requests of an earlier version do not say what they changed`]),
    ],
  };
}
