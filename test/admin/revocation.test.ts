import { readdirSync, readFileSync } from 'node:fs';
import { request, type Agent, type RequestOptions } from 'node:https';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { certificateRequest, contentDocument, textOf, type Body } from '../support/api.ts';
import { agentOf, OwnService } from '../support/own-service.ts';
import { signetctlHere } from '../support/signetctl-here.ts';
import { signetctl as run, type CommandRun } from '../support/signetctl.ts';

const connections = 50;
let service: OwnService;

beforeAll(async () => {
  service = await OwnService.start();
});

afterAll(async () => {
  await service.remove();
});

const signetctl = async (...args: string[]): Promise<CommandRun> => run(['--config', service.description.configFile, ...args]);

const connectionOf = (client: string): Agent => agentOf(service.description, client, { maxSockets: 1 });

interface Arrival {
  /** `0/0`, or `HTTP 403`. */
  readonly outcome: string;
  readonly body: Body;
  /** When its first bytes came, as `performance.now()`. */
  readonly at: number;
  readonly onNewConnection: boolean;
}

const post = { method: 'POST', headers: { 'Content-Type': 'application/json' } } satisfies RequestOptions;

/** Sends a body, the second half of it when `pause` is over. */
async function send(agent: Agent, operation: string, body: object, pause: Promise<unknown> = Promise.resolve()): Promise<Arrival> {
  const text = JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = request(`${service.baseUrl}/sign/${operation}`, { ...post, agent }, (response) => {
      let at = 0;
      let answer = '';
      response.on('data', (chunk: Buffer) => {
        if (at === 0) at = performance.now();
        answer += chunk.toString('utf8');
      });
      response.on('end', () => {
        const parsed = JSON.parse(answer) as Body;
        const { result } = parsed;
        const code = `${textOf(result?.['resultMajor'] ?? result?.['majorCode'])}/${textOf(result?.['resultMinor'] ?? result?.['minorCode'])}`;
        const outcome = response.statusCode === 200 ? code : `HTTP ${String(response.statusCode)}`;
        resolve({ outcome, body: parsed, at, onNewConnection: !sent.reusedSocket });
      });
    });
    sent.on('error', reject);
    sent.write(text.slice(0, text.length / 2));
    void pause.then(() => sent.end(text.slice(text.length / 2)));
  });
}

interface Written {
  readonly kind: string;
  readonly [member: string]: unknown;
}

function records(): Written[] {
  const directory = join(service.environment.directory, 'audit');
  return readdirSync(directory)
    .filter((name) => name.endsWith('.jsonl'))
    .toSorted()
    .flatMap((name) => readFileSync(join(directory, name), 'utf8').split('\n').slice(0, -1))
    .map((line) => JSON.parse(line) as Written);
}

async function newKey(client: string): Promise<object> {
  const { body } = await send(connectionOf(client), 'pki/createCertificate', certificateRequest());
  return { reference: textOf(body['keyReference']?.['reference']), password: textOf(body['keyReference']?.['password']) };
}

const signing = (keyReference: object): object => ({
  keyReference,
  parameters: { rawSignature: {} },
  inputDocuments: [contentDocument('A contract')],
});

describe('a client that is revoked', () => {
  it('gets no signature after the revocation is answered, while 50 connections sign', { timeout: 120_000 }, async () => {
    const body = signing(await newKey('other'));
    const arrivals: Arrival[] = [];
    const untilRefused = async (): Promise<void> => {
      const agent = connectionOf('other');
      for (;;) {
        const arrival = await send(agent, 'signature/sign', body);
        arrivals.push(arrival);
        if (arrival.outcome !== '0/0') break;
      }
      agent.destroy();
    };
    const signers = Array.from({ length: connections }, untilRefused);
    await expect.poll(() => arrivals.length, { timeout: 60_000 }).toBeGreaterThan(4 * connections);
    const revoked = await signetctl('client', 'revoke', 'other');
    const end = performance.now();
    expect(revoked.status).toBe(0);
    await Promise.all(signers);

    const signatures = arrivals.filter(({ outcome }) => outcome === '0/0');
    const refusals = arrivals.filter(({ outcome }) => outcome !== '0/0');
    expect(signatures.filter(({ at }) => at > end)).toEqual([]);
    expect(refusals.map(({ outcome }) => outcome)).toEqual(Array.from({ length: connections }, () => 'HTTP 403'));
    // On the connections that signed before.
    expect(refusals.filter(({ onNewConnection }) => onNewConnection)).toEqual([]);

    const log = records();
    const revocation = log.findIndex(({ command }) => command === 'client revoke');
    const signed = (record: Written): boolean =>
      record['operation'] === 'signature/sign' && record['client'] === 'other' && record['major'] === 0;
    expect(log[revocation]).toMatchObject({ kind: 'administration', uid: process.getuid?.(), client: 'other', tenant: 'other' });
    // Those whose record was being written at that moment are recorded, and their answer did not leave.
    const recorded = log.slice(0, revocation).filter(signed).length;
    expect(recorded).toBeGreaterThanOrEqual(signatures.length);
    expect(recorded).toBeLessThanOrEqual(signatures.length + connections);
    expect(log.slice(revocation).filter(signed)).toEqual([]);
  });

  it('gets none for a request that began before, and does not delay the revocation with it', async () => {
    const body = signing(await newKey('app'));
    const revocation = Promise.withResolvers<CommandRun>();
    const begun = send(connectionOf('signer'), 'signature/sign', body, revocation.promise);
    // The connection is made and the first half sent when another request of the same client is answered.
    expect((await send(connectionOf('signer'), 'signature/sign', body)).outcome).toBe('0/0');
    const started = performance.now();
    revocation.resolve(await signetctl('client', 'revoke', 'signer'));
    expect((await revocation.promise).status).toBe(0);
    expect(performance.now() - started).toBeLessThan(5000);
    expect((await begun).outcome).toBe('HTTP 403');
  });

  it('is served again on an open connection once it is registered again', async () => {
    const agent = connectionOf('p384');
    const configured = ['--config', service.description.configFile];
    const files = service.description.clients['p384'];
    const checkKey = async (): Promise<Arrival> => send(agent, 'pki/checkKey', { keyReference: { reference: '0'.repeat(40) } });
    expect((await checkKey()).outcome).toBe('2/201');
    await signetctlHere([...configured, 'client', 'revoke', 'p384']);
    expect((await checkKey()).outcome).toBe('HTTP 403');
    const roles = ['--certificate', files?.certificate ?? '', '--name', 'p384', '--tenant', 'p384', '--roles'];
    expect((await signetctlHere([...configured, 'client', 'add', ...roles, 'signature', '--again'])).status).toBe(0);
    expect((await checkKey()).outcome).toBe('HTTP 403');
    expect((await signetctlHere([...configured, 'client', 'add', ...roles, 'keys', '--replace'])).status).toBe(0);
    const last = await checkKey();
    expect([last.outcome, last.onNewConnection]).toEqual(['2/201', false]);
    agent.destroy();
  });

  it('stays revoked over a kill', async () => {
    await service.daemon.kill();
    await service.daemon.start();
    expect((await send(connectionOf('other'), 'pki/checkKey', { keyReference: { reference: '0'.repeat(40) } })).outcome).toBe('HTTP 403');
  });
});
