import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { newCertificate, OwnService } from '../support/own-service.ts';
import { repetitions } from '../support/repetitions.ts';
import { privateKeysOnToken } from '../support/token-listing.ts';

const kills = repetitions(5);
const timeout = Math.max(300_000, kills * 20_000);
let service: OwnService;

beforeAll(async () => {
  service = await OwnService.start();
});

afterAll(async () => {
  await service.remove();
});

const Answer = z.looseObject({
  result: z.looseObject({ majorCode: z.int().optional(), minorCode: z.int().optional(), resultMinor: z.int().optional() }),
  keyReference: z.looseObject({ reference: z.string() }).optional(),
  state: z.string().optional(),
});
type Answer = z.output<typeof Answer>;

/** Rejects where the connection breaks. */
async function post(operation: string, body: object): Promise<Answer> {
  return Answer.parse(JSON.parse(await service.post(operation, body)));
}

async function newKey(signatureActivationProtocol: string): Promise<{ reference: string }> {
  const { keyReference } = await post('pki/createCertificate', newCertificate(signatureActivationProtocol));
  if (keyReference === undefined) throw new Error('no key');
  return keyReference;
}

const minorOf = async (keyReference: object): Promise<number | undefined> => {
  const inputDocuments = [{ ID: 'd', base64Data: { base64Value: 'ZG9jdW1lbnQ=' } }];
  return (await post('signature/sign', { keyReference, parameters: { rawSignature: {} }, inputDocuments })).result.resultMinor;
};

function keyIdOf(reference: string): string {
  const state = new DatabaseSync(join(service.environment.directory, 'state.sqlite'), { readOnly: true });
  try {
    return String(state.prepare('select key_id from keys where reference = ?').get(reference)?.['key_id']);
  } finally {
    state.close();
  }
}

it(`a single-use key under ${kills} kills -9 gives one signature, and is gone from the token`, { timeout }, async () => {
  for (let kill = 0; kill < kills; kill += 1) {
    const keyReference = await newKey('SINGLE_USE');
    const id = keyIdOf(keyReference.reference);
    const attempts = Array.from({ length: 10 }, async () => minorOf(keyReference).catch(() => undefined));
    // Each kill comes at another moment: of the reservation, the signature, its settlement, the destruction.
    await delay(4 + (24 * kill) / (kills - 1));
    await service.daemon.kill();
    const answered = (await Promise.all(attempts)).filter((minor) => minor === 0).length;
    await service.daemon.start();
    const { state } = await post('pki/checkKey', { keyReference: { reference: keyReference.reference } });
    expect(answered).toBeLessThanOrEqual(1);
    if (answered === 1) expect(state).toBe('CONSUMED');
    if (state === 'ACTIVE') expect(await minorOf(keyReference)).toBe(0);
    expect(await minorOf(keyReference)).toBe(204);
    expect(privateKeysOnToken(service.environment.directory)).not.toContain(id);
  }
});

it('a key that wrong passwords have locked is locked after kill -9 and a restart', async () => {
  const keyReference = await newKey('PASSWORD');
  const wrong = { reference: keyReference.reference, password: 'wrong' };
  const minors = await Promise.all(Array.from({ length: 50 }, async () => minorOf(wrong)));
  expect(minors.filter((minor) => minor === 202)).toHaveLength(5);
  await service.daemon.kill();
  await service.daemon.start();
  expect(await minorOf(keyReference)).toBe(203);
}, 120_000);
