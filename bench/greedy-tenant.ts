/**
 * A process that loads a service as a tenant does that wants all of it: `greedy-tenant.ts DIRECTORY
 * KIND`. Writes a line when the load begins, and with each answer; ends with its input.
 */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { greedyKinds, type GreedyKind } from './greedy-requests.ts';
import { readQuickstart } from './quickstart-description.ts';
import { ServiceClient } from './service-client.ts';

/** After a refusal or a fault. */
const pauseMs = 20;

const [directory = '', name = ''] = process.argv.slice(2);
const quickstart = readQuickstart(directory);
const kinds: Readonly<Record<string, GreedyKind>> = greedyKinds;
const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
if (quickstart === undefined || kind === undefined) throw new Error(`no service in ${directory}, or no kind "${name}"`);
const service = new ServiceClient(quickstart, quickstart.clients.app);
const asked = await kind.prepare({ quickstart, service });
const { app } = quickstart.clients;
const agent = new Agent({
  keepAlive: true,
  ...{ maxSockets: kind.connections, ca: readFileSync(quickstart.caCertificate) },
  ...{ cert: readFileSync(app.certificate), key: readFileSync(app.key) },
});

/** Sends the body, and returns the status of the answer. */
async function post(url: URL, body: Buffer): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const headers = { 'Content-Type': 'application/json', 'Content-Length': body.length };
  const sent = request(url, { method: 'POST', agent, headers }, (response) => {
    response
      .resume()
      .on('end', () => {
        resolve(response.statusCode ?? 0);
      })
      .on('error', reject);
  });
  sent.on('error', reject);
  sent.end(body);
  return promise;
}

async function ask(): Promise<boolean> {
  try {
    if ('repeat' in asked) await asked.repeat();
    else if ((await post(service.urlOf(asked.operation), asked.body)) !== 200) return false;
    return true;
  } catch {
    return false;
  }
}

async function goOn(): Promise<never> {
  for (;;) {
    if (await ask()) process.stdout.write('answer\n');
    else await delay(pauseMs);
  }
}

process.stdin.resume().on('end', () => process.exit(0));
process.stdout.write('begin\n');
await Promise.all(Array.from({ length: kind.connections }, goOn));
