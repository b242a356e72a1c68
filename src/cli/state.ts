import { comparisonView } from '../admin/state-commands.ts';
import { ComparisonView, ConfirmedView } from '../admin/views.ts';
import { compareState } from '../audit/compare-state.ts';
import { loadConfig } from '../config/config.ts';
import type { Outcome } from './outcome.ts';
import { look, ask } from './service.ts';
import { fields, table } from './table.ts';

/** `state compare`: whether the state store has every change in the audit log. */
export async function stateCompare(configPath: string): Promise<Outcome> {
  const { result, notes } = await look(
    configPath,
    { command: 'state compare' },
    { schema: ComparisonView, read: async (store) => comparisonView(store, await compareState(store, loadConfig(configPath).audit)) },
  );
  const { lacking, lackingCount, isOlder, isForeign, names, absent, untold } = result;
  const otherNames = names.filter((name) => name !== result.log);
  const rows = lacking.map((one) => {
    const key = one.key ?? (one.publicKey === null ? '' : `public key ${one.publicKey}`);
    return [String(one.record), one.time, one.by, one.client ?? '', key, one.effect, one.remedy];
  });
  const text = fields([
    ['audit log', `${result.log}, ${result.lastRecord} records`],
    ['state store', result.knownRecord === 0 ? 'holds no place in the log' : `is at record ${result.knownRecord}`],
    ['missing', `${lackingCount} changes`],
  ]);
  const headings = ['RECORD', 'TIME', 'BY', 'CLIENT', 'KEY', 'CHANGED', 'IF CONFIRMED'];
  return {
    json: result,
    text: rows.length === 0 ? text : `${text}\n${table(headings, rows)}`,
    faults: isOlder
      ? ['the state store is older than the audit log: restore the right one, or accept this one with signetctl state confirm']
      : [],
    notes: [
      ...notes,
      ...(lackingCount > lacking.length ? [`${lackingCount - lacking.length} more changes are not shown`] : []),
      ...(otherNames.length === 0
        ? []
        : [`this directory has records of this log under other names, which are compared too: ${otherNames.join(', ')}`]),
      ...(isForeign ? ['the state store does not know the key that signed the log: it is new, or belongs to another log'] : []),
      ...(absent === null ? [] : [`records ${absent.from} to ${absent.to} are missing and cannot be compared`]),
      ...(untold === 0 ? [] : [`${untold} requests recorded by an earlier version do not say what they changed`]),
    ],
  };
}

/** `state confirm`: accepts a state store that is older than the audit log. */
export async function stateConfirm(configPath: string): Promise<Outcome> {
  const { result, notes } = await ask(configPath, { command: 'state confirm' }, ConfirmedView);
  const { from, to, applied, lost } = result;
  return {
    json: result,
    text:
      `The state store continues from record ${to} of the audit log. Of records ${from} to ${to}, ${applied} changes were applied again or are not needed, ${lost} are lost.\n` +
      'signetd is shutting down; it is ready once its supervisor has restarted it.\n',
    notes,
  };
}
