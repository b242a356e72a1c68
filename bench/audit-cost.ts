/**
 * Cost of the audit log: the same requests with and without it, in turns, on two otherwise
 * identical services.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureLoad, serverCpuPerRequest, type Load, type Target } from './native-tools.ts';
import { startOwnService, stopOwnService } from './own-service.ts';
import { ServiceClient } from './service-client.ts';
import { signetdPids } from './signetd-processes.ts';

const goals = { cpuMicroseconds: 60, p99Times: 1.5, rate: 0.9, loopDelayMs: 10 } as const;
const connectionCounts = [8, 32];
const turns = [true, false, false, true, true, false, false, true, true, false];
const loadLength = { seconds: 3, warmup: 0.5 };
const warmUpRequests = 15_000;
const signOperation = 'signature/sign';
const document = randomBytes(768).toString('base64');

interface Measurable extends Target {
  readonly opsUrl: string;
}

/** One turn; the delay of the event loop is its 99th percentile. */
interface Turn extends Load {
  readonly loopDelayMs: number;
}

/** Cost of a record, with medians of the turns. */
export interface AuditCost {
  readonly connections: number;
  readonly perSecond: Both;
  readonly cpuMicroseconds: Both;
  readonly p99Ms: Both;
  readonly loopDelayMs: number;
  readonly errors: number;
}

/** A figure with the audit log and without. */
interface Both {
  readonly on: number;
  readonly off: number;
}

/** Returns the cost of a record as lines of text. */
export async function auditCostLines(): Promise<string[]> {
  return (await auditCosts(connectionCounts)).map(lineOf);
}

/** Measures the cost of a record with some numbers of connections. */
export async function auditCosts(counts: readonly number[]): Promise<AuditCost[]> {
  const directories = [mkdtempSync(join(tmpdir(), 'signetd-bench-on-')), mkdtempSync(join(tmpdir(), 'signetd-bench-off-'))] as const;
  try {
    const services = { on: await startService(directories[0], true), off: await startService(directories[1], false) };
    for (const service of Object.values(services)) {
      for (let done = 0; done < warmUpRequests;) done += (await measureLoad(service, { connections: 32, seconds: 3, warmup: 0 })).requests;
    }
    const costs: AuditCost[] = [];
    for (const connections of counts) costs.push(await compare(connections, services));
    return costs;
  } finally {
    for (const directory of directories) {
      stopOwnService(directory);
      rmSync(directory, { recursive: true, force: true });
    }
  }
}

async function compare(connections: number, services: Readonly<Record<'on' | 'off', Measurable>>): Promise<AuditCost> {
  const measured: Record<'on' | 'off', Turn[]> = { on: [], off: [] };
  for (const isOn of turns) {
    const name = isOn ? 'on' : 'off';
    const { opsUrl } = services[name];
    const before = await loopDelays(opsUrl);
    // One after the other: they would take the processor from each other.
    const load = await measureLoad(services[name], { connections, ...loadLength });
    measured[name].push({ ...load, loopDelayMs: delayP99Ms(before, await loopDelays(opsUrl)) });
  }
  const both = (of: (turn: Turn) => number): Both => ({
    on: median(measured.on.map(of)),
    off: median(measured.off.map(of)),
  });
  return {
    connections,
    perSecond: both(({ requestsPerSecond }) => requestsPerSecond),
    cpuMicroseconds: both((turn) => 1e6 * serverCpuPerRequest(turn)),
    p99Ms: both(({ p99Milliseconds }) => p99Milliseconds),
    loopDelayMs: both(({ loopDelayMs }) => loopDelayMs).on,
    errors: [...measured.on, ...measured.off].reduce((sum, turn) => sum + turn.errors, 0),
  };
}

function lineOf({ connections, perSecond: rate, cpuMicroseconds: cpu, p99Ms: p99, loopDelayMs: loopDelay, errors }: AuditCost): string {
  const { cpuMicroseconds, p99Times, rate: rateGoal, loopDelayMs } = goals;
  const record = cpu.on - cpu.off;
  return (
    `rawSignature (P-256) with audit / without, ${connections} connections: ${rate.on.toFixed(0)}/s / ${rate.off.toFixed(0)}/s = ${(rate.on / rate.off).toFixed(2)} ` +
    `(goal ${rateGoal}); a record ${record.toFixed(0)} us CPU, ${(record / cpuMicroseconds).toFixed(2)} of the goal; ` +
    `p99 ${p99.on.toFixed(1)} ms / ${p99.off.toFixed(1)} ms = ${(p99.on / p99.off).toFixed(2)} (goal ${p99Times}); ` +
    `event loop p99 at most ${loopDelay.toFixed(1)} ms late, ${(loopDelay / loopDelayMs).toFixed(2)} of the limit${errors === 0 ? '' : `; ERRORS: ${errors}`}`
  );
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** The key is P-256: the less work the token has, the more the record's cost shows. */
async function startService(directory: string, isAudited: boolean): Promise<Measurable> {
  const description = startOwnService(
    directory,
    isAudited ? undefined : (config) => ({ ...config, audit: { ...config.audit, enabled: false } }),
  );
  const service = new ServiceClient(description, description.clients.other);
  const bodyFile = join(directory, 'request.json');
  const inputDocuments = [{ ID: 'd', base64Data: { base64Value: document } }];
  writeFileSync(bodyFile, JSON.stringify({ keyReference: await service.createKey(), parameters: { rawSignature: {} }, inputDocuments }), {
    mode: 0o600,
  });
  const { caCertificate, opsUrl } = description;
  const pids = signetdPids(directory);
  return { url: service.urlOf(signOperation), client: service.client, caCertificate, bodyFile, expected: '"resultMajor":0', pids, opsUrl };
}

/** How many timers of the daemon's event loop were late by at most so many seconds, since its start. */
type LoopDelays = ReadonlyMap<number, number>;

/** Reads the delays from the daemon's own metrics. */
async function loopDelays(opsUrl: string): Promise<LoopDelays> {
  const text = await (await fetch(new URL('/metrics', opsUrl))).text();
  const buckets = text.matchAll(/^signetd_event_loop_delay_seconds_bucket\{le="(.+)"\} (\d+)$/gm);
  return new Map(Array.from(buckets, ([, bound, count]) => [bound === '+Inf' ? Infinity : Number(bound), Number(count)]));
}

/** Returns the 99th percentile between two measurements, in milliseconds: the upper bound of its bucket. */
function delayP99Ms(before: LoopDelays, after: LoopDelays): number {
  const since = Array.from(after, ([bound, count]) => ({ bound, count: count - (before.get(bound) ?? 0) }));
  const all = since.find(({ bound }) => bound === Infinity)?.count ?? 0;
  if (all === 0) throw new Error('the metrics have no event loop delay');
  return 1000 * (since.find(({ count }) => count >= 0.99 * all)?.bound ?? Infinity);
}
