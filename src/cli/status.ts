import { StatusView } from '../admin/views.ts';
import type { Outcome } from './outcome.ts';
import { ask } from './service.ts';
import { fields } from './table.ts';

/** `status`: how the service that runs is. */
export async function status(configPath: string): Promise<Outcome> {
  const { result, notes } = await ask(configPath, { command: 'status' }, StatusView);
  const { audit, lastReload, notLoaded } = result;
  const text = fields([
    ['signetd', `${result.version}, process ${result.pid}, since ${result.started}`],
    ['ready', Object.keys(result.faults).length === 0 ? 'yes' : 'no'],
    ['API', result.api],
    ['configuration', `${result.configuration}${notLoaded.length === 0 ? '' : ' (changed since it was loaded)'}`],
    ['last reload', lastReload === null ? 'none' : `${lastReload.at}, ${lastReload.faults.length === 0 ? 'good' : 'refused'}`],
    ['tenants', result.tenants.join(', ')],
    ['clients', String(result.clients)],
    ['state', result.state],
    ['audit log', auditWords(audit)],
    ['waiting for the token', `${result.tokenWaitingRequests} requests`],
  ]);
  const reloadFaults = (lastReload?.faults ?? []).map((fault) => `the last reload was refused: ${fault}`);
  const left = result.keysLeft.map(({ tokenId, reason }) => `key ${tokenId} should be gone and is still on the token: ${reason}`);
  const warnings = Object.values(result.warnings);
  const unloaded = notLoaded.length === 0 ? [] : [`not loaded yet: ${notLoaded.join(', ')}; run signetctl reload`];
  return {
    json: result,
    text,
    faults: Object.entries(result.faults).map(([part, fault]) => `not ready: ${part}: ${fault}`),
    notes: [...notes, ...reloadFaults, ...unloaded, ...left, ...warnings],
  };
}

function auditWords({ enabled, writable, lastCheckpoint, recordsSinceCheckpoint }: StatusView['audit']): string {
  if (!enabled) return 'switched off';
  if (!writable) return 'it takes no records';
  return `last checkpoint ${lastCheckpoint ?? 'none yet'}, ${recordsSinceCheckpoint} records since`;
}
