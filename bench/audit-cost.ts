/** What the audit log costs: the same requests with it and without it, in turns, by two services that differ in nothing else. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureLoad, serverCpuPerRequest, type Target } from './native-tools.ts';
import { projectRoot, readQuickstart } from './quickstart-description.ts';
import { ServiceClient } from './service-client.ts';
import { signetdPids } from './signetd-processes.ts';

const goal = 0.9;
const turns = [true, false, false, true, true, false, false, true];
const loadLength = { seconds: 4, warmup: 1 };
const signOperation = 'signature/sign';

export interface AuditCost {
  readonly connections: number;
  /** Requests per second with the audit log, and without it: the mean of the turns. */
  readonly on: number;
  readonly off: number;
  /** CPU seconds of a request's record, over all processes of the service. */
  readonly cpuSeconds: number;
  readonly errors: number;
}

export function auditCostLine({ connections, on, off, cpuSeconds, errors }: AuditCost): string {
  const ratio = (on / off).toFixed(2);
  const failures = errors === 0 ? '' : `; ERRORS: ${errors}`;
  return `HTTPS rawSignature (P-256) with audit / without, ${connections} connections: ${on.toFixed(0)}/s / ${off.toFixed(0)}/s = ${ratio} (goal ${goal}), ${(cpuSeconds * 1e6).toFixed(0)} us CPU a record${failures}`;
}

/** `makeBody` makes the request's body for a key. The key is P-256: the fewer the token does, the more the record shows. */
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
      quickstart(directory, 'stop');
      rmSync(directory, { recursive: true, force: true });
    }
  }
}

async function compare(connections: number, on: Target, off: Target): Promise<AuditCost> {
  const rates = { on: 0, off: 0 };
  const cpu = { on: 0, off: 0 };
  let errors = 0;
  for (const isOn of turns) {
    // One after the other: they would take the processor from each other.
    const load = await measureLoad(isOn ? on : off, { connections, ...loadLength });
    rates[isOn ? 'on' : 'off'] += load.requestsPerSecond / (turns.length / 2);
    cpu[isOn ? 'on' : 'off'] += serverCpuPerRequest(load) / (turns.length / 2);
    errors += load.errors;
  }
  return { connections, ...rates, cpuSeconds: cpu.on - cpu.off, errors };
}

async function startService(
  directory: string,
  audited: boolean,
  makeBody: (key: { reference: string; password: string }) => object,
): Promise<Target> {
  quickstart(directory, 'quickstart');
  if (!audited) {
    quickstart(directory, 'stop');
    const config = join(directory, 'signetd.yaml');
    writeFileSync(config, readFileSync(config, 'utf8').replace(/^audit:$/m, 'audit:\n  enabled: false'));
    startAgain(directory);
  }
  const description = readQuickstart(directory);
  if (description === undefined) throw new Error('the quickstart left no description');
  const service = new ServiceClient(description, description.clients.other);
  const bodyFile = join(directory, 'request.json');
  writeFileSync(bodyFile, JSON.stringify(makeBody(await service.createKey())), { mode: 0o600 });
  const { caCertificate } = description;
  const pids = signetdPids(directory);
  return { url: service.urlOf(signOperation), client: service.client, caCertificate, bodyFile, expected: '"resultMajor":0', pids };
}

/** Somebody else may have taken the ports in the meantime, for a moment. */
function startAgain(directory: string, attempts = 5): void {
  try {
    quickstart(directory, 'quickstart');
  } catch (error) {
    if (attempts === 1) throw error;
    startAgain(directory, attempts - 1);
  }
}

function quickstart(directory: string, program: 'quickstart' | 'stop'): void {
  execFileSync(process.execPath, [join(projectRoot, 'dist', 'quickstart', `${program}.js`)], {
    env: { ...process.env, SIGNETD_QUICKSTART_DIRECTORY: directory },
    stdio: 'ignore',
  });
}
