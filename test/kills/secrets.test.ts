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

const kills = 5;
const environment = quickstartEnvironment();
let daemon: DaemonProcess;
let agent: Agent;
let baseUrl: string;

beforeAll(async () => {
  environment.start();
  environment.stop();
  const description = environment.description();
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

const Answer = z.looseObject({
  result: z.looseObject({ majorCode: z.int().optional(), minorCode: z.int().optional(), resultMinor: z.int().optional() }),
  keyReference: z.looseObject({ reference: z.string() }).optional(),
  state: z.string().optional(),
});
type Answer = z.output<typeof Answer>;

/** Rejects where the connection breaks. */
async function post(operation: string, body: object): Promise<Answer> {
  const answer = await new Promise<string>((resolve, reject) => {
    const sent = request(`${baseUrl}/sign/${operation}`, { agent, method: 'POST', headers: { 'Content-Type': 'application/json' } });
    sent.on('response', (response) => {
      text(response).then(resolve, reject);
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
  return Answer.parse(JSON.parse(answer));
}

async function newKey(signatureActivationProtocol: string): Promise<{ reference: string }> {
  const { keyReference } = await post('pki/createCertificate', {
    certificationRequestInfo: {
      signatureActivationProtocol,
      PKCS10: { attributes: { subscriber: {} }, subject: { country: 'FR', commonName: 'Kill' } },
    },
    certificateFormat: 'CERTIFICATE',
  });
  if (keyReference === undefined) throw new Error('no key');
  return keyReference;
}

const minorOf = async (keyReference: object): Promise<number | undefined> => {
  const inputDocuments = [{ ID: 'd', base64Data: { base64Value: 'ZG9jdW1lbnQ=' } }];
  return (await post('signature/sign', { keyReference, parameters: { rawSignature: {} }, inputDocuments })).result.resultMinor;
};

function keyIdOf(reference: string): string {
  const state = new DatabaseSync(join(environment.directory, 'state.sqlite'), { readOnly: true });
  try {
    return String(state.prepare('select key_id from keys where reference = ?').get(reference)?.['key_id']);
  } finally {
    state.close();
  }
}

it(`a single-use key under ${kills} kills -9 gives one signature, and is gone from the token`, async () => {
  for (let kill = 0; kill < kills; kill += 1) {
    const keyReference = await newKey('SINGLE_USE');
    const id = keyIdOf(keyReference.reference);
    const attempts = Array.from({ length: 10 }, async () => minorOf(keyReference).catch(() => undefined));
    // Each kill comes at another moment: of the reservation, the signature, its settlement, the destruction.
    await delay(4 + 6 * kill);
    await daemon.kill();
    const answered = (await Promise.all(attempts)).filter((minor) => minor === 0).length;
    await daemon.start();
    const { state } = await post('pki/checkKey', { keyReference: { reference: keyReference.reference } });
    expect(answered).toBeLessThanOrEqual(1);
    if (answered === 1) expect(state).toBe('CONSUMED');
    if (state === 'ACTIVE') expect(await minorOf(keyReference)).toBe(0);
    expect(await minorOf(keyReference)).toBe(204);
    expect(privateKeysOnToken(environment.directory)).not.toContain(id);
  }
}, 300_000);

it('a key that wrong passwords have locked is locked after kill -9 and a restart', async () => {
  const keyReference = await newKey('PASSWORD');
  const wrong = { reference: keyReference.reference, password: 'wrong' };
  const minors = await Promise.all(Array.from({ length: 50 }, async () => minorOf(wrong)));
  expect(minors.filter((minor) => minor === 202)).toHaveLength(5);
  await daemon.kill();
  await daemon.start();
  expect(await minorOf(keyReference)).toBe(203);
}, 120_000);
