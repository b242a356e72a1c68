import { readFileSync } from 'node:fs';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  alternativeNames,
  constraints,
  extension,
  keyOn,
  madeUpRsaKey,
  name,
  pemOf,
  strangersCertificate,
  strangersChain,
  usualKey,
} from '../../support/strangers-certificates.ts';
import { authority, newAuthority, scratchListener, serverAuthority, type ScratchListener } from './scratch-listener.ts';

let listener: ScratchListener;
beforeAll(async () => {
  listener = await scratchListener();
});
afterAll(() => {
  listener.close();
});

const key = usualKey.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

/** What reaches the audit log when a client presents certificates. */
async function presented(cert: string, { clientKey = key, to = listener } = {}): Promise<readonly string[]> {
  const before = to.audited.length;
  const socket = connect({ host: '127.0.0.1', port: to.port, cert, key: clientKey, ca: readFileSync(serverAuthority.certificate) });
  socket.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  socket.resume();
  await new Promise((resolve) => socket.once('close', resolve));
  return to.audited.slice(before);
}

const inHandshake = [expect.stringMatching(/^TLS handshake: /)];

const beyond: readonly (readonly [string, readonly Uint8Array[]])[] = [
  ['a key on a curve that is not usual', strangersChain(3, keyOn('sect571r1'))],
  ['an RSA key of more than 8192 bits', strangersChain(3, madeUpRsaKey(8208, 65_537n))],
  ['an RSA key with an exponent of more than 32 bits', strangersChain(3, madeUpRsaKey(4096, 2n ** 32n + 15n))],
  ['more than ten certificates', strangersChain(11)],
  ['more than 32 KiB', [strangersCertificate({ extensions: [extension('1.2.3', new Uint8Array(32 * 1024))] })]],
  [
    'more than 500 names and constraints',
    [
      strangersCertificate({ subject: name('0'), issuer: name('1'), extensions: [alternativeNames(250)] }),
      strangersCertificate({ subject: name('1'), issuer: name('2'), extensions: [constraints(250)] }),
    ],
  ],
];

describe('certificates of strangers', () => {
  test.each(beyond)('%s end the handshake before a signature is verified', async (_what, chain) => {
    expect(await presented(pemOf(chain))).toEqual(inHandshake);
  });

  test('still do after a reload of the TLS files', async () => {
    listener.tls.prepare(listener.config)();
    expect(await presented(pemOf(strangersChain(11)))).toEqual(inHandshake);
  });

  test.each([
    ['ten certificates', strangersChain(10)],
    ['RSA-8192', strangersChain(3, madeUpRsaKey(8192, 65_537n))],
    ['brainpool', strangersChain(3, keyOn('brainpoolP512r1'))],
    ['P-521', strangersChain(3, keyOn('secp521r1'))],
    ['490 names', [strangersCertificate({ extensions: [alternativeNames(490)] })]],
  ])('within the bounds are refused for what they are: %s', async (_what, chain) => {
    expect(await presented(pemOf(chain))).not.toEqual(inHandshake);
    expect(listener.audited.at(-1)).not.toContain('TLS handshake');
  });
});

test('a client may present all certificates of its chain', async () => {
  const outer = newAuthority('outer', { parent: authority });
  const inner = newAuthority('inner', { parent: outer });
  const own = inner.issue('client');
  const pem = (...files: readonly string[]): string => files.map((file) => readFileSync(file, 'latin1')).join('');
  const authorities = [inner.certificate, outer.certificate, authority.certificate];
  const to = await scratchListener({ authorities: pem(...authorities) });
  const reasons = await presented(pem(own.certificate, ...authorities), { clientKey: pem(own.key), to });
  to.close();
  expect([reasons, to.served]).toEqual([[], ['/']]);
});
