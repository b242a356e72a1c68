import { StatusView, unusableFile } from '../admin/views.ts';
import { fixedMembers } from '../config/changes.ts';
import type { Outcome } from './outcome.ts';
import { ask } from './service.ts';
import { fields } from './table.ts';
import { z } from 'zod';

/** `status`: the state of the running service. */
export async function status(configPath: string): Promise<Outcome> {
  const { result, notes } = await ask(configPath, { command: 'status' }, StatusView);
  const { audit, lastReload, notLoaded } = result;
  const text = fields([
    ['signetd', `${result.version}, process ${result.pid}, since ${result.started}`],
    ['ready', Object.keys(result.faults).length === 0 ? 'yes' : 'no'],
    ['API', result.api],
    ['configuration', `${result.configuration}${notLoaded.length === 0 ? '' : ' (changed since it was loaded)'}`],
    ['last reload', lastReload === null ? 'none' : `${lastReload.at}, ${lastReload.faults.length === 0 ? 'successful' : 'refused'}`],
    ['tenants', result.tenants.join(', ')],
    ...result.limits.map((one) => [`limits of ${one.tenant}`, limitWords(one)] as const),
    ['clients', String(result.clients)],
    ['state', result.state],
    ['audit log', auditWords(audit)],
    ['waiting for the token', `${result.tokenWaitingRequests} requests`],
  ]);
  const reloadFaults = (lastReload?.faults ?? []).map((fault) => `the last reload was refused: ${fault}`);
  const left = result.keysLeft.map(
    ({ tokenId, reason }) => `key ${tokenId} should have been destroyed but is still on the token: ${reason}`,
  );
  const warnings = Object.values(result.warnings);
  const unloaded = notLoaded.length === 0 ? [] : [unloadedWords(notLoaded)];
  return {
    json: result,
    text,
    faults: Object.entries(result.faults).map(([part, fault]) => `not ready: ${part}: ${fault}`),
    notes: [...notes, ...reloadFaults, ...unloaded, ...left, ...warnings],
  };
}

function limitWords({ perClient, clients, ...all }: StatusView['limits'][number]): string {
  const rate = all.requestsPerSecond === null ? 'no rate of its own' : `${all.requestsPerSecond} requests/s`;
  const named = clients.map((one) => `${one.client} ${clientWords(one)}`);
  const others = `${named.length === 0 ? 'each client' : 'each other client'} ${clientWords(perClient)}`;
  return [`${rate}, ${all.requestsMax} at a time`, ...named, others].join('; ');
}

function clientWords({ requestsPerSecond, requestsMax }: StatusView['limits'][number]['perClient']): string {
  return `${requestsPerSecond} requests/s, ${requestsMax} at a time`;
}

function unloadedWords(members: readonly string[]): string {
  if (members.includes(unusableFile)) return 'the file cannot be loaded as it is now: signetctl config check shows its faults';
  const fixed = fixedMembers(members);
  const remedy = fixed.length === 0 ? 'run signetctl reload' : `restart signetd, since a reload cannot change ${fixed.join(', ')}`;
  return `not loaded yet: ${members.join(', ')}; ${remedy}`;
}

function auditWords({ enabled, writable, lastCheckpoint, recordsSinceCheckpoint: records }: StatusView['audit']): string {
  if (!enabled) return 'switched off';
  if (writable === false) return 'not writable';
  const place = records === null ? 'its last checkpoint is not known yet' : checkpointWords(lastCheckpoint, records);
  return writable === null ? `not open yet; ${place}` : place;
}

function checkpointWords(at: string | null, records: number): string {
  return `last checkpoint ${at ?? 'none yet'}, ${records} records since`;
}

/** `reload`: does the same as SIGHUP and reports the result. */
export async function reload(configPath: string): Promise<Outcome> {
  const { result, notes } = await ask(configPath, { command: 'reload' }, z.strictObject({ changed: z.array(z.string()) }));
  const changed = result.changed.length === 0 ? 'No setting changed; files were read again.' : `Changed: ${result.changed.join(', ')}`;
  return { json: result, text: `Configuration reloaded. ${changed}\n`, notes };
}
