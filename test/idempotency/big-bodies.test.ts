import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { daemonWithLimits, type LimitedDaemon } from '../support/limited-daemon.ts';
import { certificateRequest, contentDocument } from '../support/api.ts';

const contentBytes = 10 * 1024 * 1024;
let daemon: LimitedDaemon;
let agent: Agent;

beforeAll(async () => {
  daemon = await daemonWithLimits({ keptAnswersMaxBytesPerClient: 16 * 1024 * 1024 });
  const { caCertificate, certificate, key } = daemon.peer('other');
  const [ca, cert, privateKey] = [caCertificate, certificate, key].map((file) => readFileSync(file));
  agent = new Agent({ keepAlive: true, ca, cert, key: privateKey });
});

afterAll(async () => {
  agent.destroy();
  await daemon.remove();
});

interface Answered {
  readonly status: number | undefined;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

async function post(operation: string, body: string, headers: Record<string, string> = {}): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const options = { agent, method: 'POST', headers: { 'Content-Type': 'application/json', ...headers } };
    const sent = request(`${daemon.baseUrl}/sign/${operation}`, options, (response) => {
      text(response).then((got) => {
        resolve({ status: response.statusCode, retryAfter: response.headers['retry-after'], text: got });
      }, reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

it('the answer to a big request with an Idempotency-Key is kept once, is repeated to the byte, and takes from what may be kept', async () => {
  const Created = z.object({ keyReference: z.looseObject({ reference: z.string() }) });
  const { keyReference } = Created.parse(JSON.parse((await post('pki/createCertificate', JSON.stringify(certificateRequest()))).text));
  const attached = { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: false } } } };
  const body = JSON.stringify({ keyReference, parameters: attached, inputDocuments: [contentDocument(randomBytes(contentBytes))] });
  const headers = { 'Idempotency-Key': randomUUID() };
  const first = await post('signature/sign', body, headers);
  const second = await post('signature/sign', body, headers);
  expect(first.text.slice(0, 100)).toContain('"resultMajor":0');
  expect(second.text === first.text).toBe(true);

  // Twice in the answer, once in the store.
  const evidenceBytes = (contentBytes * 4) / 3;
  expect(first.text.length).toBeGreaterThan(2 * evidenceBytes);
  const state = new DatabaseSync(join(daemon.directory, 'state.sqlite'), { readOnly: true });
  const kept = Number(state.prepare('select sum(length(bytes)) as bytes from kept_answer_parts').get()?.['bytes']);
  state.close();
  expect(kept).toBeGreaterThan(evidenceBytes);
  expect(kept).toBeLessThan(1.01 * evidenceBytes);

  // 13 of 16 MiB are kept: there is room for a small answer, and for none beside a big one.
  const small = JSON.stringify({ ...certificateRequest(), requestID: randomUUID() });
  expect((await post('pki/createCertificate', small, { 'Idempotency-Key': randomUUID() })).status).toBe(200);
  expect((await post('signature/sign', body, { 'Idempotency-Key': randomUUID() })).status).toBe(200);
  const refused = await post('pki/createCertificate', small, { 'Idempotency-Key': randomUUID() });
  expect([refused.status, refused.text]).toEqual([429, expect.stringContaining('without the header')]);
  expect(Number(refused.retryAfter)).toBeGreaterThan(23 * 3600);
  expect((await post('pki/createCertificate', small)).status).toBe(200);
  expect((await post('signature/sign', body, headers)).text === first.text).toBe(true);
}, 120_000);
