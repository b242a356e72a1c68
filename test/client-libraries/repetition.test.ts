import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer, request, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { SignetdClient } from '../../clients/typescript/src/index.ts';
import { agentOf } from '../support/own-service.ts';
import { description, directory } from '../support/api.ts';

/** What the gateway does with a request instead of passing on the answer: cuts the connection, or answers with this status. */
type Mishap = 'cut' | { readonly status: number; readonly retryAfterSeconds: number };

interface Passed {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly answer: string;
}

/** A gateway between a client and the service; what happens to the next requests, and what it has passed on. */
let gateway: Server;
let address: string;
let mishaps: Mishap[];
let passed: Passed[];

const agent = agentOf(description, 'app');

async function passOn(path: string, headers: IncomingHttpHeaders, body: Buffer): Promise<{ status: number; answer: Buffer }> {
  return new Promise((done, failed) => {
    const { host: _, ...others } = headers;
    const sent = request(`${description.baseUrl}${path}`, { method: 'POST', agent, headers: others }, (response) => {
      buffer(response).then((answer) => done({ status: response.statusCode ?? 0, answer }), failed);
    });
    sent.on('error', failed);
    sent.end(body);
  });
}

beforeAll(async () => {
  const tls = join(directory, 'tls');
  const credentials = { cert: readFileSync(join(tls, 'server.pem')), key: readFileSync(join(tls, 'server.key')) };
  gateway = createServer(credentials, (incoming, outgoing) => {
    void (async () => {
      const body = await buffer(incoming);
      const mishap = mishaps.shift();
      if (typeof mishap === 'object') {
        outgoing.writeHead(mishap.status, { 'Retry-After': mishap.retryAfterSeconds }).end();
        return;
      }
      const { status, answer } = await passOn(incoming.url ?? '', incoming.headers, body);
      passed.push({ headers: incoming.headers, body: body.toString(), answer: answer.toString() });
      if (mishap === 'cut') incoming.socket.destroy();
      else outgoing.writeHead(status, { 'Content-Type': 'application/json' }).end(answer);
    })();
  });
  await new Promise<void>((listening) => {
    gateway.listen(0, '127.0.0.1', listening);
  });
  address = `https://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
});
afterAll(async () => {
  agent.destroy();
  await new Promise((closed) => {
    gateway.close(closed);
    gateway.closeAllConnections();
  });
});
beforeEach(() => {
  mishaps = [];
  passed = [];
});

const creating = {
  certificateFormat: 'CERTIFICATE',
  certificationRequestInfo: {
    signatureActivationProtocol: 'PASSWORD',
    PKCS10: { attributes: { subscriber: {} }, subject: { country: 'FR', commonName: 'Camille Martin' } },
  },
} as const;

/** Outcome of a call: the answer, or that of the error. */
type Call = (operation: 'createCertificate' | 'changePassword', body: object) => Promise<unknown>;

const inTypeScript: Call = async (operation, body) => {
  const { certificate, key } = description.clients['app'] ?? { certificate: '', key: '' };
  const client = new SignetdClient({
    baseUrl: address,
    certificateAuthority: readFileSync(description.caCertificate),
    certificate: readFileSync(certificate),
    key: readFileSync(key),
  });
  try {
    return await client[operation](body as never);
  } catch (error) {
    return (error as { outcome: string }).outcome;
  } finally {
    client.close();
  }
};

const program = `
import json, sys
from signetd_client import SignetdClient, SignetdError
address, authority, certificate, key, operation, body = sys.argv[1:]
with SignetdClient(address, certificate_authority=authority, certificate=certificate, key=key) as client:
    try:
        print(json.dumps(getattr(client, operation)(json.loads(body))))
    except SignetdError as error:
        print(json.dumps(error.outcome))
`;

const inPython: Call = async (operation, body) => {
  const { certificate, key } = description.clients['app'] ?? { certificate: '', key: '' };
  const method = operation === 'createCertificate' ? 'create_certificate' : 'change_password';
  const args = ['-c', program, address, description.caCertificate, certificate, key, method, JSON.stringify(body)];
  const environment = { ...process.env, PYTHONPATH: resolve('clients/python/src'), PYTHONDONTWRITEBYTECODE: '1' };
  const { stdout } = await promisify(execFile)('python3', args, { env: environment });
  return JSON.parse(stdout) as unknown;
};

const languages: readonly (readonly [string, Call])[] = [
  ['TypeScript', inTypeScript],
  ['Python', inPython],
];

it.each(languages)('a request whose answer is lost is sent again with its Idempotency-Key: one key is made (%s)', async (_, call) => {
  mishaps = ['cut', 'cut'];
  const answer = await call('createCertificate', creating);
  expect(passed.map(({ answer: bytes }) => bytes)).toEqual(Array.from({ length: 3 }, () => passed[0]?.answer));
  expect(new Set(passed.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
  expect(new Set(passed.map(({ body }) => body)).size).toBe(1);
  expect(answer).toEqual(JSON.parse(passed[0]?.answer ?? ''));
});

it.each(languages)('changePassword is not sent again without an answer (%s)', async (_, call) => {
  mishaps = ['cut'];
  expect(await call('changePassword', { keyReference: { reference: '00'.repeat(20), password: 'a' }, newPassword: 'b' })).toBe('NO_ANSWER');
  expect(passed.length).toBe(1);
});

it.each(languages)('after 429 every request is sent again, when the service says (%s)', async (_, call) => {
  mishaps = [{ status: 429, retryAfterSeconds: 0 }];
  const reference = '00'.repeat(20);
  expect(await call('changePassword', { keyReference: { reference, password: 'a' }, newPassword: 'b' })).not.toBe('HTTP_429');
  expect(passed.length).toBe(1);
});

it.each(languages)('a service that is away for an hour is not waited for (%s)', async (_, call) => {
  mishaps = [{ status: 503, retryAfterSeconds: 3600 }];
  expect(await call('createCertificate', creating)).toBe('HTTP_503');
  expect(passed.length).toBe(0);
});
