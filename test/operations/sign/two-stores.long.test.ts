import { createHash, X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { request, type Agent } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { registerClient } from '../../../src/clients/registry.ts';
import { openStateStore } from '../../../src/state/threaded-store.ts';
import { agentOf, OwnService } from '../../support/own-service.ts';
import { ScratchPostgresql } from '../../support/postgresql.ts';
import type { QuickstartEnvironment } from '../../support/quickstart-environment.ts';
import { repetitions } from '../../support/repetitions.ts';
import { recordingLog } from '../../support/silent-log.ts';
import { drawnKeyNames, makeDrawnKeys, type DrawnKey, type DrawnKeys } from './drawn-keys.ts';
import { drawnRequest } from './drawn-requests.ts';
import { directoryMark, drawnFormats, type DrawnFormat } from './drawn-signing.ts';

const clients = { demo: 'app', other: 'other', p384: 'p384' } as const;
/** Those of the tenants, another one of `demo`, and one that is not registered. */
const clientNames = [...Object.values(clients), 'signer', 'unregistered'] as const;

/** Stands for the keys in drawn requests: each service has keys of its own. */
const symbols = Object.fromEntries(
  drawnKeyNames.map((name): [string, DrawnKey] => {
    const secret = `the secret of ${name}`;
    const tenant = name.startsWith('rsa') || name === 'identity' ? 'demo' : name === 'p384' ? 'p384' : 'other';
    return [
      name,
      {
        tenant,
        reference: createHash('sha1').update(name).digest('hex'),
        secret: name.startsWith('once') ? { authToken: secret } : { password: secret },
        certificate: Buffer.from(`the certificate of ${name}`).toString('base64'),
      },
    ];
  }),
) as DrawnKeys;

interface HttpRequest {
  readonly client: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** A service with its own keys, asked in symbols. */
class Side {
  readonly service: OwnService;
  readonly #agents: ReadonlyMap<string, Agent>;
  #names: readonly (readonly [symbol: string, own: string])[] = [];

  constructor(service: OwnService) {
    this.service = service;
    this.#agents = new Map(clientNames.map((name) => [name, agentOf(service.description, name)]));
  }

  async makeKeys(): Promise<void> {
    writeFileSync(join(this.service.environment.directory, 'read', 'document.txt'), 'A file.');
    const keys = await makeDrawnKeys(async (tenant, { path }, body) => {
      const client = clients[tenant as keyof typeof clients];
      const sent = { client, method: 'POST', path, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
      const answer = await this.#exchange(sent);
      const members = JSON.parse(answer.body) as { result?: { majorCode?: number } };
      if (members.result?.majorCode !== 0) throw new Error(`${path}: ${answer.status} ${answer.body}`);
      return members;
    });
    this.#names = Object.entries(keys).flatMap(([name, key]) => {
      const symbol = symbols[name as keyof DrawnKeys];
      const [own = ''] = Object.values(key.secret);
      const pairs: [string, string][] = [
        [symbol.reference, key.reference],
        [symbol.reference.toUpperCase(), key.reference.toUpperCase()],
        [`the secret of ${name}`, own],
        [symbol.certificate, key.certificate],
      ];
      return pairs;
    });
    this.#names = [...this.#names, [directoryMark, this.service.environment.directory]];
  }

  /** Asks, and returns the answer in symbols, without times and what differs from key to key: evidence, identifiers. */
  async ask({ body, ...sent }: HttpRequest): Promise<HttpAnswer> {
    let own = Buffer.from(body).toString('latin1');
    for (const [symbol, name] of this.#names) own = own.replaceAll(Buffer.from(symbol).toString('latin1'), name);
    const answer = await this.#exchange({ ...sent, body: Buffer.from(own, 'latin1') });
    let masked = answer.body;
    for (const [symbol, name] of this.#names) masked = masked.replaceAll(name, symbol);
    masked = masked
      .replaceAll(/"(base64Value|plainValue|fileID)":"(?:[^"\\]|\\.)*"/g, '"$1":"…"')
      .replaceAll(/"(fileSize|date)":\d+/g, '"$1":0')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'a time');
    const { date: _date, 'content-length': _length, 'x-request-id': id, ...headers } = answer.headers;
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    return { ...answer, headers, body: masked };
  }

  async #exchange({ client, method, path, headers, body }: HttpRequest): Promise<HttpAnswer> {
    const agent = this.#agents.get(client);
    return new Promise((resolve, reject) => {
      const options = { agent, method, headers: { ...headers, 'Content-Length': Buffer.byteLength(body) } };
      const sent = request(`${this.service.baseUrl}/sign/${path}`, options, (response) => {
        text(response).then((answered) => {
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: answered });
        }, reject);
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  async end(): Promise<void> {
    for (const agent of this.#agents.values()) agent.destroy();
    await this.service.remove();
  }
}

let postgresql: ScratchPostgresql;
let sqlite: Side;
let shared: Side;

/** Lets a quickstart keep its state in PostgreSQL, where its clients are registered. */
async function withPostgresql(environment: QuickstartEnvironment): Promise<void> {
  const state = await postgresql.newDatabase();
  const { clients: files } = environment.description();
  const store = await openStateStore(state, recordingLog());
  for (const [tenant, name] of Object.entries({ ...clients, signer: 'signer' })) {
    const certificate = new X509Certificate(readFileSync(files[name]?.certificate ?? ''));
    const roles =
      name === 'signer' ? (['signature'] as const) : (['signature', 'keys', 'revocation', 'messages', 'doc2d', 'files'] as const);
    await registerClient(store, { certificate, name, tenant: name === 'signer' ? 'demo' : tenant, roles });
  }
  await store.close();
  // The audit log that the quickstart had is ahead of an empty state.
  changeConfig(environment, { state, audit: { directory: join(environment.directory, 'audit-shared'), name: 'shared' } });
}

/** Changes the configuration. The key of the digital identity is in the state that the quickstart had, so there is none. */
function changeConfig(environment: QuickstartEnvironment, changes: object): void {
  const { configFile } = environment.description();
  const config = parse(readFileSync(configFile, 'utf8')) as { tenants: { demo: object } };
  const { tenants } = config;
  const demo = Object.fromEntries(Object.entries(tenants.demo).filter(([name]) => name !== 'twoDDoc'));
  writeFileSync(configFile, stringify({ ...config, tenants: { ...tenants, demo }, ...changes }), { mode: 0o600 });
}

beforeAll(async () => {
  postgresql = await ScratchPostgresql.start();
  sqlite = new Side(
    await OwnService.start((environment) => {
      changeConfig(environment, {});
    }),
  );
  shared = new Side(await OwnService.start(withPostgresql));
  await Promise.all([sqlite.makeKeys(), shared.makeKeys()]);
});

afterAll(async () => {
  await sqlite.end();
  await shared.end();
  await postgresql.remove();
});

const json = { 'Content-Type': 'application/json' };
const headers = fc.oneof(
  { weight: 10, arbitrary: fc.constant<Record<string, string>>(json) },
  { weight: 4, arbitrary: fc.nat(9).map((number) => ({ ...json, 'Idempotency-Key': `attempt-${number}` })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Record<string, string>>(
      {},
      { 'Content-Type': 'text/plain' },
      { 'Content-Type': 'application/json; charset=utf-16' },
      { ...json, 'Content-Encoding': 'gzip' },
      { ...json, 'Idempotency-Key': 'short' },
      { ...json, 'Idempotency-Key': 'x'.repeat(200) },
      { ...json, Accept: 'text/html' },
    ),
  },
);

/** What becomes of the JSON of a body. */
const spoilt: Readonly<Record<string, (body: string) => string | Buffer>> = {
  cut: (body) => body.slice(0, -5),
  empty: () => '',
  list: (body) => `[${body}]`,
  twice: (body) => body.replace('{', '{"requestID":"1","requestID":"2",'),
  'byte-order mark': (body) => `\ufeff${body}`,
  'not UTF-8': (body) => Buffer.from(body.replace('{', '{"\u00e9":1,'), 'latin1'),
  deep: () => `{"parameters":${'['.repeat(200)}${']'.repeat(200)}}`,
};
const writing = fc.oneof(
  { weight: 10, arbitrary: fc.constant('as it is') },
  { weight: 1, arbitrary: fc.constantFrom(...Object.keys(spoilt)) },
);
const address = fc.oneof(
  { weight: 20, arbitrary: fc.constant({ method: 'POST', path: 'signature/sign' }) },
  { weight: 1, arbitrary: fc.constantFrom({ method: 'GET', path: 'signature/sign' }, { method: 'POST', path: 'signature/signs' }) },
);
const sender = fc.oneof(
  { weight: 15, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constantFrom('signer', 'unregistered', 'other') },
);
const signRequest = fc
  .record({
    drawn: fc.oneof(...(Object.keys(drawnFormats) as DrawnFormat[]).map((format) => drawnRequest(format, () => symbols))),
    ...{ headers, writing, address, sender },
  })
  .map(({ drawn: { tenant, body }, headers: given, writing: how, address: to, sender: by }): HttpRequest => {
    const written = JSON.stringify(body);
    return { client: by ?? clients[tenant as keyof typeof clients], headers: given, body: spoilt[how]?.(written) ?? written, ...to };
  });
/** A hold of a key, or its end. */
const change = fc
  .record({ name: fc.constantFrom('p256' as const, 'rsa' as const), reason: fc.constantFrom('CERTIFICATE_HOLD', 'REMOVE_FROM_CRL') })
  .map(({ name, reason }): HttpRequest => {
    const { tenant, certificate } = symbols[name];
    const client = clients[tenant as keyof typeof clients];
    return { client, method: 'POST', path: 'pki/revokeCertificate', headers: json, body: JSON.stringify({ certificate, reason }) };
  });

describe('sign over HTTP', () => {
  it('answers on SQLite as on PostgreSQL, where nothing is answered from memory alone', async () => {
    const statuses = new Map<string, number>();
    const requests = fc.oneof({ weight: 30, arbitrary: signRequest }, { weight: 1, arbitrary: change });
    await fc.assert(
      fc.asyncProperty(requests, fc.integer({ min: 1, max: 2 }), async (drawn, times) => {
        for (let time = 0; time < times; time += 1) {
          const answer = await sqlite.ask(drawn);
          expect(await shared.ask(drawn)).toEqual(answer);
          const name = answer.body.includes('"resultMajor":0') ? 'success' : String(answer.status);
          statuses.set(name, (statuses.get(name) ?? 0) + 1);
        }
      }),
      // What a request changed stays: a smaller one is not the same.
      { numRuns: repetitions(1000, 300), endOnFailure: true },
    );
    expect(statuses.get('success')).toBeGreaterThan(25);
    expect(statuses.size).toBeGreaterThan(4);
  });
});
