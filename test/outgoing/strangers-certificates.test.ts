import { createServer } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { exchange } from '../../src/outgoing/exchange.ts';
import {
  alternativeNames,
  extension,
  keyOn,
  madeUpRsaKey,
  pemOf,
  strangersCertificate,
  strangersChain,
  usualKey,
} from '../support/strangers-certificates.ts';

const key = usualKey.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const server = createServer({ key, cert: pemOf(strangersChain(1)) }, (_request, response) => response.end('an answer'));
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => server.close());

/** Why a request to a server with this chain fails. */
async function faultWith(chain: readonly Uint8Array[]): Promise<unknown> {
  server.setSecureContext({ key, cert: pemOf(chain) });
  const { port } = server.address() as AddressInfo;
  const asked = { url: new URL(`https://127.0.0.1:${port}/`), method: 'GET', answerMaxBytes: 100 } as const;
  const options = { addresses: ['127.0.0.1'], signal: AbortSignal.timeout(60_000), beforeMore: async () => Promise.resolve() };
  return exchange(asked, options).then(
    () => 'no fault',
    (error: unknown) => (error instanceof Error && 'code' in error ? error.code : error),
  );
}

test('a server within the bounds is refused for what it is', async () => {
  expect(await faultWith(strangersChain(3))).toBe('CERT_SIGNATURE_FAILURE');
});

test.each([
  ['a curve that is not usual', strangersChain(3, keyOn('sect571r1'))],
  ['an RSA key of more than 8192 bits', strangersChain(3, madeUpRsaKey(8208, 65_537n))],
  ['more than ten certificates', strangersChain(11)],
  ['more than 500 names', [strangersCertificate({ extensions: [alternativeNames(500)] })]],
])('a server that presents %s is left before a signature is verified', async (_what, chain) => {
  expect(await faultWith(chain)).toBe('UNSPECIFIED');
});

test('a server that presents more than 32 KiB is left in the handshake', async () => {
  const long = strangersCertificate({ extensions: [extension('1.2.3', new Uint8Array(32 * 1024))] });
  expect(await faultWith([long])).toBe('EPROTO');
});
