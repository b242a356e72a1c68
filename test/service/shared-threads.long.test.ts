import { readdirSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentOf, newCertificate, OwnService } from '../support/own-service.ts';
import { until } from '../support/until.ts';

let service: OwnService;

beforeAll(async () => {
  service = await OwnService.start();
});
afterAll(async () => {
  await service.remove();
});

interface Key {
  readonly reference: string;
  readonly password: string;
}

async function newKey(client: string): Promise<Key> {
  const answer = JSON.parse(await service.post('pki/createCertificate', newCertificate(), client)) as { keyReference: Key };
  return answer.keyReference;
}

const enveloped = (parameters: object): object => ({ envelopedXAdESSignature: { envelopedXAdESParameters: parameters } });
const documentOf = (content: string): object => ({ ID: 'd', base64Data: { base64Value: Buffer.from(content).toString('base64') } });
const large = `<a>${'<e/>'.repeat(20_000)}</a>`;
/** Takes each node some steps for each other one, up to the limit of the service. */
const costly = enveloped({ xpathTransformation: 'count(//*) > 0' });

/** Sends a request that is left before its answer; answers how to leave. */
function sent(body: object, client: string): () => void {
  const agent = agentOf(service.description, client, { keepAlive: false });
  const options = { agent, method: 'POST', headers: { 'Content-Type': 'application/json' } };
  const one = request(`${service.baseUrl}/sign/signature/sign`, options).on('error', () => undefined);
  one.end(JSON.stringify(body));
  return () => {
    one.destroy();
  };
}

async function metric(name: string): Promise<number> {
  const answer = await new Promise<string>((resolve, reject) => {
    get(`${service.opsUrl}/metrics`, (response) => {
      text(response).then(resolve, reject);
    }).on('error', reject);
  });
  const line = answer.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1));
}

const waitingTasks = async (): Promise<number> => metric('signetd_work_thread_waiting_tasks{lane="parsing"}');

function auditedSigns(): readonly { readonly status?: number; readonly uses?: unknown }[] {
  const directory = join(service.environment.directory, 'audit');
  return readdirSync(directory)
    .filter((name) => name.startsWith('audit-'))
    .flatMap((name) => readFileSync(join(directory, name), 'utf8').trim().split('\n'))
    .map((line) => JSON.parse(line) as { operation?: string; status?: number; uses?: unknown })
    .filter(({ operation }) => operation === 'signature/sign');
}

describe('threads that one tenant keeps busy', () => {
  it('serve another tenant meanwhile, and stop when their clients are gone', async () => {
    const [own, other] = [await newKey('app'), await newKey('other')];
    const count = 8;
    const before = auditedSigns().length;
    const leave = Array.from({ length: count }, () =>
      sent({ keyReference: own, parameters: costly, inputDocuments: [documentOf(large)] }, 'app'),
    );
    await until(async () => expect(await waitingTasks()).toBeGreaterThan(0), { timeoutMs: 60_000 });
    const answer = await service.post('signature/sign', {
      keyReference: other,
      parameters: enveloped({}),
      inputDocuments: [documentOf(large)],
    });
    expect(JSON.parse(answer)).toMatchObject({ result: { resultMajor: 0 } });
    expect(await waitingTasks()).toBeGreaterThan(0);
    for (const one of leave) one();
    await until(async () => expect(await waitingTasks()).toBe(0), { timeoutMs: 60_000 });
    await until(() => expect(auditedSigns().length).toBe(before + count + 1), { timeoutMs: 60_000 });
    const gone = auditedSigns()
      .slice(before)
      .filter(({ status }) => status === 400);
    expect(gone.length).toBe(count);
    expect(gone.filter(({ uses }) => uses !== undefined)).toEqual([]);
    expect(JSON.parse(await service.post('pki/checkKey', { keyReference: own }, 'app'))).toMatchObject({
      secretVerified: true,
      remainingAttempts: 5,
    });
  });
});
