import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { IdleFlood } from '../../support/idle-flood.ts';
import { agentOf, newCertificate, OwnService } from '../../support/own-service.ts';

const Sections = z.looseObject({
  limits: z.looseObject({}),
  listeners: z.looseObject({ public: z.looseObject({ port: z.number() }) }),
});
const tries = 9;
/** On a quiet machine an answer takes less than the scheduler's share of a busy one. */
const leastMs = 20;
let service: OwnService;
let publicPort = 0;
let sign: (localAddress: string) => Promise<string>;
let flood: IdleFlood | undefined;

beforeAll(async () => {
  service = await OwnService.start((environment) => {
    const { configFile } = environment.description();
    const config = Sections.parse(parse(readFileSync(configFile, 'utf8')));
    publicPort = config.listeners.public.port;
    // What an installation has that sets nothing.
    delete config.limits['connectionsMaxUnadmittedPerAddress'];
    delete config.listeners.public['connectionsMaxPerAddress'];
    writeFileSync(configFile, stringify(config));
  });
  const { keyReference } = z
    .object({ keyReference: z.object({ reference: z.string(), password: z.string() }) })
    .parse(JSON.parse(await service.post('pki/createCertificate', newCertificate())));
  const digest = { digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue: createHash('sha256').update('x').digest('base64') };
  const body = JSON.stringify({ keyReference, parameters: { rawSignature: {} }, inputDocuments: [{ ID: 'd', digest }] });
  sign = async (localAddress) =>
    new Promise((resolve, reject) => {
      const agent = agentOf(service.description, 'other', { keepAlive: false, maxCachedSessions: 0, localAddress });
      const options = { agent, method: 'POST', headers: { 'Content-Type': 'application/json' } };
      const sent = request(`${service.baseUrl}/sign/signature/sign`, options, (response) => {
        text(response).then(resolve, reject);
      });
      sent.on('error', reject).end(body);
    });
}, 240_000);
afterEach(async () => {
  await flood?.end();
  flood = undefined;
});
afterAll(async () => {
  await service.remove();
});

const read = async (): Promise<string> =>
  new Promise((resolve, reject) => {
    const sent = get({ host: '127.0.0.1', port: publicPort, path: '/pki/issuing.cer', agent: false }, (response) => {
      response.resume().on('end', () => {
        resolve(String(response.statusCode));
      });
    });
    sent.on('error', reject);
  });

/** Answers of as many tries one after the other, each on a connection of its own, and the median of their times. */
async function tried(work: () => Promise<string>): Promise<{ answers: string[]; medianMs: number }> {
  const answers: string[] = [];
  const times: number[] = [];
  for (let count = 0; count < tries; count += 1) {
    const begun = performance.now();
    answers.push(await work().catch((error: unknown) => String(error)));
    times.push(performance.now() - begun);
  }
  return { answers, medianMs: times.toSorted((one, other) => one - other)[Math.floor(tries / 2)] ?? Infinity };
}

/** That each of the works has its answers in a flood, in less than ten times what they take before it or after it. */
async function expectSoon(answer: unknown, works: readonly (() => Promise<string>)[], begin: () => Promise<IdleFlood>): Promise<void> {
  const before: number[] = [];
  for (const work of works) before.push((await tried(work)).medianMs);
  flood = await begin();
  // While all of them come at once: slow, perhaps, and answered.
  for (const work of works) expect((await tried(work)).answers).toEqual(Array.from({ length: tries }, () => answer));
  const outcomes = [];
  for (const work of works) outcomes.push(await tried(work));
  await flood.end();
  flood = undefined;
  for (const [index, work] of works.entries()) {
    const { answers = [], medianMs = Infinity } = outcomes[index] ?? {};
    expect(answers).toEqual(Array.from({ length: tries }, () => answer));
    const after = await tried(work);
    expect(medianMs).toBeLessThan(10 * Math.max(leastMs, before[index] ?? 0, after.medianMs));
  }
}

const signed: unknown = expect.stringContaining('"resultMajor":0');
const portOf = (url: string): number => Number(new URL(url).port);
let addresses = 0;
const unseen = (): string => {
  addresses += 1;
  return `127.1.${Math.floor(addresses / 250)}.${1 + (addresses % 250)}`;
};
const sources = Array.from({ length: 250 }, (_, index) => `127.0.1.${index + 1}`);

describe('connections that say nothing, and others in their place as soon as they are closed', () => {
  it.each([
    ['5,000 of one address', ['127.0.0.2'], ''],
    ['5,000 of 250 addresses', sources, ''],
    ['5,000 with the first byte of a handshake', ['127.0.0.2'], '\u0016'],
  ])(
    '%s leave registered clients their places',
    async (_what, from, first) => {
      // An address from which the client came before, and addresses that nobody has seen.
      await expectSoon(signed, [async () => sign('127.0.0.1'), async () => sign(unseen())], async () =>
        IdleFlood.begin({ port: portOf(service.baseUrl), from, connections: 5000, first }),
      );
    },
    240_000,
  );

  it.each([
    ['1,000 of one address', ['127.0.0.2'], ''],
    ['1,000 of 250 addresses', sources, ''],
    ['1,000 with half a request', ['127.0.0.2'], 'GET / HTTP/1.1\r\nHost:'],
  ])(
    '%s leave the public listener open to others',
    async (_what, from, first) => {
      await expectSoon('200', [read], async () => IdleFlood.begin({ port: publicPort, from, connections: 1000, first }));
    },
    240_000,
  );
});
