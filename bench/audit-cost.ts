/**
 * Cost of the audit log: the same requests with and without it, in turns, on two otherwise
 * identical services.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureLoad, serverCpuPerRequest, type Target } from './native-tools.ts';
import { startOwnService, stopOwnService } from './own-service.ts';
import { ServiceClient } from './service-client.ts';
import { signetdPids } from './signetd-processes.ts';

const goal = 0.9;
const loopDelayGoalMs = 10;
const turns = [true, false, false, true, true, false, false, true];
const loadLength = { seconds: 4, warmup: 1 };
const signOperation = 'signature/sign';

export interface AuditCost {
  readonly connections: number;
  /** Requests per second with and without the audit log: the mean of the turns. */
  readonly on: number;
  readonly off: number;
  /** CPU seconds for a request's record, over all processes of the service. */
  readonly cpuSeconds: number;
  /** 99th percentile of the event loop's delay under load with the audit log, in the worst turn. */
  readonly loopDelayP99Ms: number;
  readonly errors: number;
}

export function auditCostLine({ connections, on, off, cpuSeconds, loopDelayP99Ms, errors }: AuditCost): string {
  const ratio = (on / off).toFixed(2);
  const failures = errors === 0 ? '' : `; ERRORS: ${errors}`;
  return `HTTPS rawSignature (P-256) with audit / without, ${connections} connections: ${on.toFixed(0)}/s / ${off.toFixed(0)}/s = ${ratio} (goal ${goal}), ${(cpuSeconds * 1e6).toFixed(0)} us CPU a record; event loop p99 ${loopDelayP99Ms.toFixed(1)} ms late, ${(loopDelayP99Ms / loopDelayGoalMs).toFixed(2)} of the limit ${loopDelayGoalMs} ms${failures}`;
}

/**
 * `makeBody` makes the request's body for a key. The key is P-256: the less work the token has, the
 * more the record's cost shows.
 */
export async function measureAuditCost(
  connectionCounts: readonly number[],
  makeBody: (key: { reference: string; password: string }) => object,
): Promise<AuditCost[]> {
  const directories = [mkdtempSync(join(tmpdir(), 'signetd-bench-on-')), mkdtempSync(join(tmpdir(), 'signetd-bench-off-'))] as const;
  try {
    const on = await startService(directories[0], true, makeBody);
    const off = await startService(directories[1], false, makeBody);
    const costs: AuditCost[] = [];
    for (const connections of connectionCounts) costs.push(await compare(connections, on, off));
    return costs;
  } finally {
    for (const directory of directories) {
      stopOwnService(directory);
      rmSync(directory, { recursive: true, force: true });
    }
  }
}

interface Measurable extends Target {
  readonly opsUrl: string;
}

async function compare(connections: number, on: Measurable, off: Measurable): Promise<AuditCost> {
  const rates = { on: 0, off: 0 };
  const cpu = { on: 0, off: 0 };
  let loopDelayP99Ms = 0;
  let errors = 0;
  for (const isOn of turns) {
    const { opsUrl } = isOn ? on : off;
    // Starts a new measurement.
    await eventLoopDelayP99Ms(opsUrl);
    // One after the other: they would take the processor from each other.
    const load = await measureLoad(isOn ? on : off, { connections, ...loadLength });
    if (isOn) loopDelayP99Ms = Math.max(loopDelayP99Ms, await eventLoopDelayP99Ms(opsUrl));
    rates[isOn ? 'on' : 'off'] += load.requestsPerSecond / (turns.length / 2);
    cpu[isOn ? 'on' : 'off'] += serverCpuPerRequest(load) / (turns.length / 2);
    errors += load.errors;
  }
  return { connections, ...rates, cpuSeconds: cpu.on - cpu.off, loopDelayP99Ms, errors };
}

async function startService(
  directory: string,
  isAudited: boolean,
  makeBody: (key: { reference: string; password: string }) => object,
): Promise<Measurable> {
  const description = startOwnService(
    directory,
    isAudited ? undefined : (config) => ({ ...config, audit: { ...config.audit, enabled: false } }),
  );
  const service = new ServiceClient(description, description.clients.other);
  const bodyFile = join(directory, 'request.json');
  writeFileSync(bodyFile, JSON.stringify(makeBody(await service.createKey())), { mode: 0o600 });
  const { caCertificate, opsUrl } = description;
  const pids = signetdPids(directory);
  return { url: service.urlOf(signOperation), client: service.client, caCertificate, bodyFile, expected: '"resultMajor":0', pids, opsUrl };
}

/**
 * Returns the 99th percentile of the daemon's event loop delay since the last call, in
 * milliseconds, from its own metrics.
 */
export async function eventLoopDelayP99Ms(opsUrl: string): Promise<number> {
  const answer = await fetch(new URL('/metrics', opsUrl));
  const found = /^signetd_event_loop_delay_seconds\{quantile="0\.99"\} (\S+)$/m.exec(await answer.text());
  if (found === null) throw new Error('the metrics have no event loop delay');
  return Number(found[1]) * 1000;
}
