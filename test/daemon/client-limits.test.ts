import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { request, type Agent } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { agentOf, OwnService } from '../support/own-service.ts';
import { jsonOf, signetctl, type CommandRun } from '../support/signetctl.ts';
import { until } from '../support/until.ts';

/** Of the quickstart, `app` and `signer` are clients of the tenant `demo`, and `other` is one of `other`. */
let service: OwnService;
let original: string;

beforeAll(async () => {
  service = await OwnService.start();
  original = readFileSync(service.description.configFile, 'utf8');
});
afterAll(async () => service.remove());

interface Settings {
  readonly tenants: Record<string, { limits?: object }>;
  limits: Record<string, number>;
}

function write(edit: (settings: Settings) => void): void {
  const settings = parse(original) as Settings;
  edit(settings);
  writeFileSync(service.description.configFile, stringify(settings));
}

const run = async (...args: string[]): Promise<CommandRun> => signetctl(['--config', service.description.configFile, ...args]);

/** Applies limits of the tenant `demo` by a reload. */
async function reload(limits: object): Promise<void> {
  write(({ tenants }) => {
    Object.assign(tenants['demo'] ?? {}, { limits });
  });
  const reloaded = await run('reload');
  expect([reloaded.status, reloaded.stderr]).toEqual([0, '']);
}

interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

const connectionsOf = (client: string, maxSockets: number): Agent => agentOf(service.description, client, { keepAlive: true, maxSockets });

/** Sends requests of a client at the same moment, each on a connection of its own. */
async function atOnce(client: string, count: number, open?: Agent): Promise<Answer[]> {
  const agent = open ?? connectionsOf(client, count);
  const one = async (): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const headers = { 'Content-Type': 'application/json' };
      const sent = request(`${service.baseUrl}/sign/signature/sign`, { agent, method: 'POST', headers }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'], text });
        });
      });
      sent.on('error', reject);
      sent.end('{}');
    });
  try {
    return await Promise.all(Array.from({ length: count }, one));
  } finally {
    if (agent !== open) agent.destroy();
  }
}

const taken = (answers: readonly Answer[]): number => answers.filter(({ status }) => status !== 429).length;

async function refusals(tenant: string, scope: string, limit: string): Promise<number> {
  const metrics = await (await fetch(`${service.opsUrl}/metrics`)).text();
  const labels = `tenant="${tenant}",scope="${scope}",limit="${limit}"`;
  const line = metrics.split('\n').find((one) => one.startsWith('signetd_requests_refused_total') && one.includes(labels));
  return Number(line?.split(' ').at(-1) ?? 0);
}

describe('limits of a client and of a tenant', () => {
  it('are answered with 429 and Retry-After, apply from a reload on, and end with one, twice in a row', async () => {
    for (let round = 0; round < 2; round += 1) {
      await reload({});
      expect(taken(await atOnce('signer', 20))).toBe(20);
      const before = await refusals('demo', 'client', 'requestsPerSecond');
      await reload({ clients: { signer: { requestsPerSecond: 1, requestsBurst: 3 } } });
      // What it had before is worth no more than the new burst.
      const answers = await atOnce('signer', 20);
      expect(taken(answers)).toBeLessThanOrEqual(4);
      const refused = answers.filter(({ status }) => status === 429);
      expect(refused.every(({ retryAfter }) => Number(retryAfter) >= 1)).toBe(true);
      expect(refused[0]?.text).toContain('this client may send 1 requests per second');
      expect((await refusals('demo', 'client', 'requestsPerSecond')) - before).toBe(refused.length);
      expect([taken(await atOnce('app', 20)), taken(await atOnce('other', 20))]).toEqual([20, 20]);
    }
  });

  it('count all clients of a tenant together, and nobody else, twice in a row', async () => {
    for (let round = 0; round < 2; round += 1) {
      await reload({});
      await reload({ requestsPerSecond: 10 });
      const started = performance.now();
      let [ofFlood, modest] = [0, [] as Answer[]];
      const over = new AbortController();
      const flood = async (): Promise<void> => {
        // On the same connections: a refused one is left unread for a while, also by its end.
        const open = connectionsOf('app', 20);
        while (!over.signal.aborted) ofFlood += taken(await atOnce('app', 20, open));
        open.destroy();
      };
      const few = async (): Promise<void> => {
        for (let count = 0; count < 12; count += 1) {
          await delay(250);
          modest = [...modest, ...(await atOnce('signer', 1))];
        }
        over.abort();
      };
      const [, , other] = await Promise.all([flood(), few(), atOnce('other', 100)]);
      const seconds = (performance.now() - started) / 1000;
      expect(ofFlood + taken(modest)).toBeLessThanOrEqual(20 + 10 * seconds + 1);
      // The one that asks for little has it: nobody uses up what others need.
      expect([taken(modest.slice(2)), taken(other)]).toEqual([10, 100]);
      const [refused] = (await atOnce('app', 40)).filter(({ status }) => status === 429);
      expect(refused?.text).toContain('may send 10 requests per second');
      expect(Number(refused?.retryAfter)).toBeGreaterThanOrEqual(1);
    }
    expect(await refusals('demo', 'tenant', 'requestsPerSecond')).toBeGreaterThan(0);
  });

  it('close a connection more than a client may have, and those of others stay', async () => {
    await reload({ clients: { signer: { connectionsMax: 2 } } });
    const connected = async (client: string): Promise<TLSSocket> => {
      const files = service.description.clients[client];
      const [ca, cert, key] = [service.description.caCertificate, files?.certificate ?? '', files?.key ?? ''].map((file) =>
        readFileSync(file),
      );
      const { hostname: host, port } = new URL(service.baseUrl);
      const socket = connect({ host, port: Number(port), ca, cert, key }).on('error', () => undefined);
      await once(socket, 'secureConnect');
      socket.resume();
      return socket;
    };
    const sockets = [await connected('signer'), await connected('signer'), await connected('app')];
    const third = await connected('signer');
    await until(
      () => {
        expect(third.destroyed).toBe(true);
      },
      { timeoutMs: 10_000 },
    );
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
    sockets.shift()?.destroy();
    const mayComeAgain = async (): Promise<void> => {
      const again = await connected('signer');
      await delay(100);
      expect(again.destroyed).toBe(false);
      again.destroy();
    };
    await until(mayComeAgain, { timeoutMs: 10_000 });
    for (const socket of sockets) socket.destroy();
  });

  it('are shown in force, with a warning for a name that nobody has', async () => {
    await reload({
      requestsPerSecond: 70,
      perClient: { requestsPerSecond: 9 },
      clients: { signer: { requestsMax: 3 }, singer: { requestsMax: 1 } },
    });
    const clients = jsonOf(await run('--json', 'client', 'list')) as { name: string; limits: Record<string, number> }[];
    const limitsOf = (name: string): unknown[] => {
      const { requestsPerSecond, requestsBurst, requestsMax } = clients.find((one) => one.name === name)?.limits ?? {};
      return [requestsPerSecond, requestsBurst, requestsMax];
    };
    expect([limitsOf('app'), limitsOf('signer')]).toEqual([
      [9, 18, 1024],
      [9, 18, 3],
    ]);
    expect((await run('client', 'list')).stdout).toMatch(/signer +demo +\S+ +\S+ +\S+ +9 /);
    const status = await run('status');
    expect(status.stdout).toMatch(/limits of demo/);
    expect(status.stdout.replaceAll(/ +/g, ' ')).toContain(
      '70 requests/s, 1024 at a time; signer 9 requests/s, 3 at a time; singer 9 requests/s, 1 at a time; each other client 9 requests/s, 1024 at a time',
    );
    expect(status.stderr).toContain(
      'tenants.demo.limits.clients: no client "singer" is registered for demo, so its limits apply to nobody',
    );
  });

  it('are refused with the place in the file where they contradict each other, and the former stay', async () => {
    await reload({ clients: { signer: { requestsPerSecond: 1, requestsBurst: 1 } } });
    write(({ tenants }) => {
      const clients = { signer: { requestsPerSecond: 51, bodiesMaxBytes: 1 }, 'the batch.job': { requestsMax: 11 } };
      Object.assign(tenants['demo'] ?? {}, {
        limits: { requestsPerSecond: 50, requestsMax: 10, clients, perClient: { requestsBurst: 101 } },
      });
      Object.assign(tenants['other'] ?? {}, { limits: { requestsBurst: 5, requestsMax: 5000, clients: { x: { requestPerSecond: 1 } } } });
    });
    const misspelt = await run('reload');
    expect([misspelt.status, misspelt.stderr]).toEqual([
      5,
      expect.stringMatching(
        /:\d+:\d+: tenants\.other\.limits\.clients\.x\.requestPerSecond: unknown member; did you mean "requestsPerSecond"\?/,
      ),
    ]);
    writeFileSync(
      service.description.configFile,
      readFileSync(service.description.configFile, 'utf8').replace('requestPerSecond', 'requestsPerSecond'),
    );
    const { status, stderr } = await run('reload');
    expect(status).toBe(5);
    const faults = stderr.split('\n').map((line) => line.replace(/^.*:\d+:\d+: /, ''));
    expect(faults.filter((line) => line !== '').toSorted()).toEqual([
      'tenants.demo.limits.clients.signer.bodiesMaxBytes: must be at least 67108864 (limits.jsonBodyMaxBytes), or bodies of that size would never fit',
      'tenants.demo.limits.clients.signer.requestsPerSecond: must be at most 50: requestsPerSecond of the tenant',
      'tenants.demo.limits.clients.the batch.job.requestsMax: must be at most 10: requestsMax of the tenant',
      'tenants.demo.limits.perClient.requestsBurst: must be at most 100: requestsBurst of the tenant',
      'tenants.other.limits.requestsBurst: requires requestsPerSecond beside it',
      'tenants.other.limits.requestsMax: must be at most 1024: limits.requestsMax, which all tenants share',
    ]);
    expect(taken(await atOnce('signer', 10))).toBeLessThanOrEqual(2);
  });
});
