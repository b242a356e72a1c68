import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { DaemonProcess, withOwnPorts } from '../support/daemon-process.ts';
import { quickstartEnvironment } from '../support/quickstart-environment.ts';
import { privateKeysOnToken } from '../support/token-listing.ts';

const calls = 200;
const kills = 16;
const environment = quickstartEnvironment();
let daemon: DaemonProcess;
let agent: Agent;
let baseUrl: string;

beforeAll(async () => {
  environment.start();
  environment.stop();
  const description = environment.description();
  // Keys of P-256: the tenant's profile says so.
  const files = description.clients['other'];
  if (files === undefined) throw new Error('no client');
  agent = new Agent({
    keepAlive: true,
    ca: readFileSync(description.caCertificate),
    cert: readFileSync(files.certificate),
    key: readFileSync(files.key),
  });
  const addresses = withOwnPorts(environment);
  ({ baseUrl } = addresses);
  daemon = new DaemonProcess(description.configFile, addresses.opsUrl);
  await daemon.start();
});

afterAll(async () => {
  await daemon.stop();
  environment.remove();
});

/** The answer's text. Rejects where the connection breaks. */
async function post(operation: string, body: object): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(`${baseUrl}/sign/${operation}`, { agent, method: 'POST', headers: { 'Content-Type': 'application/json' } });
    sent.on('response', (response) => {
      text(response).then(resolve, reject);
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
}

const Created = z.object({
  result: z.object({ majorCode: z.literal(0) }),
  keyReference: z.object({ reference: z.string(), password: z.string() }),
});
type KeyReference = z.output<typeof Created>['keyReference'];

const creation = {
  certificationRequestInfo: {
    signatureActivationProtocol: 'PASSWORD',
    PKCS10: { attributes: { subscriber: {} }, subject: { country: 'FR', commonName: 'Kill' } },
  },
  certificateFormat: 'CERTIFICATE',
};

it(`${calls} × createCertificate under kill -9 of host and daemon: every acknowledged key works, and nothing else is left`, async () => {
  const acknowledged: KeyReference[] = [];
  let asked = 0;
  const worker = async (): Promise<void> => {
    while (asked < calls) {
      asked += 1;
      try {
        const created = Created.safeParse(JSON.parse(await post('pki/createCertificate', creation)));
        if (created.success) acknowledged.push(created.data.keyReference);
      } catch {
        await daemon.ready();
      }
    }
  };
  const killer = async (): Promise<void> => {
    for (let count = 0; count < kills; count += 1) {
      if (asked >= calls) return;
      // Each kill comes at another moment of some creation.
      await delay(randomInt(20, 120));
      if (count % 2 === 0) {
        daemon.killHost();
      } else {
        await daemon.kill();
        await daemon.start();
      }
      // SoftHSM can lose a token when it is killed within a login: the host is ready before the next kill.
      await daemon.ready();
    }
  };
  await Promise.all([killer(), ...Array.from({ length: 4 }, worker)]);
  await daemon.ready();
  expect(acknowledged.length).toBeGreaterThan(calls / 2);

  for (const keyReference of acknowledged) {
    const answer = await post('signature/sign', {
      keyReference,
      parameters: { rawSignature: {} },
      inputDocuments: [{ ID: 'd', base64Data: { base64Value: 'ZG9jdW1lbnQ=' } }],
    });
    expect(answer).toContain('"resultMajor":0');
  }
  await daemon.kill();
  await daemon.start();
  await daemon.stop();

  const state = new DatabaseSync(join(environment.directory, 'state.sqlite'), { readOnly: true });
  const recorded = state
    .prepare("select key_id from keys where state = 'ACTIVE' union select key_id from key_pool")
    .all()
    .map((row) => String(row['key_id']));
  expect(state.prepare('select * from key_journal').all()).toEqual([]);
  expect(state.prepare('select reference from keys where reference not in (select sha1 from certificates)').all()).toEqual([]);
  state.close();
  const onToken = privateKeysOnToken(environment.directory);
  const callers = onToken.filter((id) => id.startsWith('43'));
  expect(callers.toSorted()).toEqual(recorded.toSorted());
}, 300_000);
