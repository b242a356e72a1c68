import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { SignetdClient } from '../../clients/typescript/src/index.ts';
import { description, directory } from '../support/api.ts';

const secret = 'Kx7-pass';
let garbling: Server;
let garbledUrl: string;
const { certificate, key } = description.clients['app'] ?? { certificate: '', key: '' };

function clientOf(baseUrl: string, certificateAuthority: string): SignetdClient {
  return new SignetdClient({
    ...{ baseUrl, certificateAuthority: readFileSync(certificateAuthority), certificate: readFileSync(certificate) },
    ...{ key: readFileSync(key), repetitionsMax: 0 },
  });
}

/** The error of a request, with all that a log would have of it. */
async function failureOf(client: SignetdClient): Promise<string> {
  try {
    await client.checkKey({ keyReference: { reference: '00'.repeat(20) } });
    return 'no error';
  } catch (error) {
    return inspect(error, { depth: Infinity });
  } finally {
    client.close();
  }
}

beforeAll(async () => {
  const tls = join(directory, 'tls');
  const credentials = { cert: readFileSync(join(tls, 'server.pem')), key: readFileSync(join(tls, 'server.key')) };
  garbling = createServer(credentials, (_incoming, outgoing) => {
    outgoing.end(`{"password":"${secret}","r":x}`);
  });
  await new Promise<void>((listening) => {
    garbling.listen(0, '127.0.0.1', listening);
  });
  garbledUrl = `https://127.0.0.1:${(garbling.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await new Promise((closed) => {
    garbling.close(closed);
    garbling.closeAllConnections();
  });
});
afterEach(() => {
  delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
});

it('a server of another CA is refused, whatever the environment says', async () => {
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  expect(await failureOf(clientOf(description.baseUrl, certificate))).toContain('NO_ANSWER');
});

it('an answer that is damaged is not quoted in the error', async () => {
  const failure = await failureOf(clientOf(garbledUrl, description.caCertificate));
  expect(failure).toContain('the answer is not JSON');
  expect(failure).not.toContain(secret);
});
