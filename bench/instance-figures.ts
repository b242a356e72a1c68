/**
 * Signatures of one instance and of two, as docs/several-instances.md sets them up. All are on this machine and share its processors
 * and one token, so only the ratio says something.
 */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SeveralInstances } from '../test/support/several-instances.ts';
import { measureLoad, type Load, type Target } from './native-tools.ts';
import { readQuickstart, type Quickstart } from './quickstart-description.ts';
import { ServiceClient } from './service-client.ts';

const connectionCounts = [8, 32];
const rounds = 3;
const loadLength = { seconds: 4, warmup: 1 };
/** After these, the JavaScript engine has compiled what it compiles. */
const warmUpRequests = 10_000;
const signOperation = 'signature/sign';

const cases = ['one', 'one behind the balancer', 'two'] as const;
type Case = (typeof cases)[number];

/** Loads with so many connections. */
export interface InstanceFigures {
  readonly connections: number;
  readonly one: Load;
  /** One instance, reached by the balancer. */
  readonly behind: Load;
  readonly two: Load;
}

/** The quickstart that the instances were made from, with the address of the first of them. */
export function quickstartOf({ environment, instances: [first] }: SeveralInstances): Quickstart {
  const quickstart = readQuickstart(environment.directory);
  if (quickstart === undefined) throw new Error('the instances have no description');
  return { ...quickstart, baseUrl: first.baseUrl };
}

/** Measures the instances, in turns; each figure is the median of three. */
export async function instanceFigures(several: SeveralInstances, say: (line: string) => void): Promise<InstanceFigures[]> {
  const [first, second] = several.instances;
  const quickstart = quickstartOf(several);
  const service = new ServiceClient(quickstart, quickstart.clients.other);
  const bodyFile = join(several.environment.directory, 'sign.json');
  const inputDocuments = [{ ID: 'd', base64Data: { base64Value: randomBytes(768).toString('base64') } }];
  writeFileSync(bodyFile, JSON.stringify({ keyReference: await service.createKey(), parameters: { rawSignature: {} }, inputDocuments }), {
    mode: 0o600,
  });
  const target = (baseUrl: string): Target => ({
    url: new URL(service.urlOf(signOperation).pathname, baseUrl),
    client: service.client,
    caCertificate: quickstart.caCertificate,
    bodyFile,
    expected: '"resultMajor":0',
    pids: [process.pid],
  });
  say('warm-up');
  for (const { baseUrl } of several.instances)
    for (let done = 0; done < warmUpRequests;)
      done += (await measureLoad(target(baseUrl), { connections: 32, seconds: 3, warmup: 0 })).requests;
  const loads = new Map<string, Load[]>();
  for (let round = 1; round <= rounds; round += 1) {
    for (const which of cases) {
      say(`round ${round} of ${rounds}: ${which}`);
      if (which === 'one') await second.daemon.stop();
      if (which === 'two') await second.daemon.start();
      const baseUrl = which === 'one' ? first.baseUrl : several.baseUrl;
      for (const connections of connectionCounts) {
        const load = await measureLoad(target(baseUrl), { connections, ...loadLength });
        const name = nameOf(which, connections);
        loads.set(name, [...(loads.get(name) ?? []), load]);
      }
    }
  }
  return connectionCounts.map((connections) => {
    const [one, behind, two] = cases.map((which) => medianOf(loads.get(nameOf(which, connections)) ?? []));
    if (one === undefined || behind === undefined || two === undefined) throw new Error('a case was not measured');
    return { connections, one, behind, two };
  });
}

const nameOf = (which: Case, connections: number): string => `${which}, ${connections}`;

function medianOf(loads: readonly Load[]): Load | undefined {
  return loads.toSorted((one, other) => one.requestsPerSecond - other.requestsPerSecond)[Math.floor(loads.length / 2)];
}
