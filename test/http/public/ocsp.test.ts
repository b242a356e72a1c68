import { randomBytes, randomInt } from 'node:crypto';
import { Agent, request, type IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { oids } from '../../../src/asn1/object-identifiers.ts';
import * as der from '../../../src/asn1/der.ts';
import { readCertificate } from '../../../src/x509/certificate.ts';
import { certId, extension, nonceExtension, ocspRequest } from '../../certificates/ocsp/requests.ts';
import { description, newKey, root } from '../../support/api.ts';
import { openssl } from '../../support/openssl.ts';

const { publicUrl = '' } = description;
const agent = new Agent({ keepAlive: true, maxSockets: 8 });
const malformedRequest = '30030a0101';
const unauthorized = '30030a0106';
const malformedCount = 2000;

let issuer: ReturnType<typeof readCertificate>;
let id: Uint8Array;
let good: Uint8Array;

beforeAll(async () => {
  issuer = readCertificate(Buffer.from(await (await fetch(`${publicUrl}/pki/issuing.cer`)).arrayBuffer()));
  const { serialNumber } = readCertificate((await newKey('other')).certificate);
  id = certId(issuer, Buffer.from(serialNumber).toString('hex'));
  good = ocspRequest([id]);
});
afterAll(() => {
  agent.destroy();
});

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

async function send(
  method: string,
  path: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: Uint8Array } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(publicUrl, { agent, method, path, headers }, (response) => {
      buffer(response).then((bytes) => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: bytes });
      }, reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const pathOf = (bytes: Uint8Array): string => `/ocsp/issuing/${encodeURIComponent(Buffer.from(bytes).toString('base64'))}`;
const get = async (bytes: Uint8Array, headers: Record<string, string> = {}): Promise<Answer> => send('GET', pathOf(bytes), { headers });
const post = async (body: Uint8Array, headers: Record<string, string> = {}): Promise<Answer> =>
  send('POST', '/ocsp/issuing', { headers: { 'Content-Type': 'application/ocsp-request', ...headers }, body });

function verdict(asked: Uint8Array, { body }: Answer): string {
  return openssl(['ocsp', '-reqin', '{asked}', '-respin', '{body}', '-resp_text', '-CAfile', root, '-verify_other', '{ca}'], {
    asked,
    body,
    ca: `-----BEGIN CERTIFICATE-----\n${Buffer.from(issuer.der).toString('base64')}\n-----END CERTIFICATE-----\n`,
  });
}

describe('OCSP over HTTP', () => {
  it('gives the same answers to GET and POST, which OpenSSL verifies', async () => {
    for (const answer of [await get(good), await post(good), await send('GET', `/ocsp/issuing//${Buffer.from(good).toString('base64')}`)]) {
      expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/ocsp-response']);
      expect(verdict(good, answer)).toMatch(/Cert Status: good/);
    }
    const withNonce = ocspRequest([id], nonceExtension(randomBytes(128)));
    expect(verdict(withNonce, await get(withNonce))).toMatch(/OCSP Nonce/);
  });

  it('tells caches how long an answer to GET may be kept, and answers 304 to a client that has it (RFC 5019 §6)', async () => {
    const { headers, body } = await get(good);
    expect(headers).toMatchObject({
      'cache-control': 'public, max-age=60, no-transform, must-revalidate',
      'content-length': `${body.length}`,
    });
    const { etag = '', 'last-modified': lastModified = '', expires = '' } = headers;
    expect(etag).toMatch(/^"[\w-]{43}"$/);
    expect(Date.parse(expires)).toBeGreaterThan(Date.now());
    const text = verdict(good, { status: 200, headers, body });
    const [, thisUpdate = ''] = /This Update: (.*)/.exec(text) ?? [];
    expect(new Date(lastModified)).toEqual(new Date(thisUpdate));
    const second = await get(good);
    expect([second.headers.etag, second.body]).toEqual([etag, body]);
    expect(await get(good, { 'If-None-Match': etag })).toMatchObject({ status: 304, headers: { etag } });
    expect(await get(good, { 'If-Modified-Since': lastModified })).toMatchObject({ status: 304 });
    const head = await send('HEAD', pathOf(good));
    expect([head.status, head.headers['content-length'], head.body.length]).toEqual([200, `${body.length}`, 0]);
  });

  it('forbids caching of an answer for a single request', async () => {
    const withNonce = ocspRequest([id], nonceExtension(randomBytes(8)));
    for (const answer of [await post(good), await get(withNonce), await get(der.sequence())])
      expect(answer.headers['cache-control']).toBe('no-store');
  });

  it('answers a request that is not OCSP over HTTP with an HTTP status', async () => {
    expect(await send('GET', '/ocsp/nobody/MAA=')).toMatchObject({ status: 404 });
    expect(await send('DELETE', pathOf(good))).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD, POST' } });
    expect(await post(good, { 'Content-Type': 'application/json' })).toMatchObject({ status: 415 });
    expect(await post(good, { 'Content-Encoding': 'gzip' })).toMatchObject({ status: 415 });
    expect(await post(new Uint8Array(8193))).toMatchObject({ status: 413 });
    expect(await post(new Uint8Array(20_000), { 'Transfer-Encoding': 'chunked' })).toMatchObject({ status: 413 });
    expect(await get(new Uint8Array(8000))).toMatchObject({ status: 431 });
  });

  it(`answers ${malformedCount} malformed requests with malformedRequest, and none with a 5xx`, async () => {
    const makers: readonly (() => Uint8Array)[] = [
      () => randomBytes(randomInt(0, 400)),
      () => good.subarray(0, randomInt(1, good.length)),
      () => Buffer.concat([good, randomBytes(randomInt(1, 20))]),
      () => {
        // A length that is another one than its content's.
        const bytes = Uint8Array.from(good);
        const at = randomInt(0, 5) * 2 + 1;
        bytes[at] = ((bytes[at] ?? 0) + randomInt(1, 255)) % 256;
        return bytes;
      },
      () => ocspRequest([id], nonceExtension(randomBytes([0, 129, 200, 1000][randomInt(0, 4)] ?? 0))),
      () => ocspRequest([id], extension(`1.2.3.${randomInt(0, 1000)}`, randomBytes(4), true)),
      () => ocspRequest([id], extension(oids.ocspNonce, randomBytes(16).fill(0x31))),
      () => ocspRequest(Array.from({ length: randomInt(17, 60) }, () => id)),
      () => ocspRequest([]),
      () => ocspRequest([randomBytes(40), id]),
      () => der.sequence(der.explicit(0, good)),
      () => der.sequence(der.sequence(der.explicit(0, der.integer(randomInt(1, 100))), der.sequence(der.sequence(id)))),
      () => Buffer.concat(Array.from({ length: 2000 }, () => Buffer.of(0x30, 0x80))),
    ];
    const wrong: string[] = [];
    let sent = 0;
    const worker = async (): Promise<void> => {
      while (sent < malformedCount) {
        const bytes = makers[sent % makers.length]?.() ?? good;
        const isGet = bytes.length < 1000 && sent % 2 === 0;
        sent += 1;
        const { status, body } = isGet ? await get(bytes) : await post(bytes);
        const said = body.toString('hex');
        if (status !== 200 || said !== malformedRequest)
          wrong.push(`${status} ${said.slice(0, 40)} to ${Buffer.from(bytes).toString('hex').slice(0, 200)}`);
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    expect(wrong).toEqual([]);
  });

  it('answers a request with any octet changed, and never with a 5xx', async () => {
    const said = new Set<string>();
    for (let at = 0; at < good.length; at += 1) {
      const bytes = Uint8Array.from(good);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << randomInt(0, 8));
      const { status, body } = await post(bytes);
      expect(status).toBe(200);
      said.add(body.length > 100 ? 'signed' : body.toString('hex'));
    }
    // A changed serial number is of a certificate that was never issued; a changed hash, of another issuer.
    expect(said).toEqual(new Set([malformedRequest, unauthorized, 'signed']));
  });

  it('continues after paths that are not requests', async () => {
    for (const path of [
      '/ocsp/issuing',
      '/ocsp/issuing/',
      '/ocsp/issuing/%',
      '/ocsp/issuing/%FF',
      '/ocsp/issuing/a?b',
      '/ocsp/issuing/..%2f..',
    ])
      expect((await send('GET', path)).body.toString('hex')).toBe(malformedRequest);
    for (const path of ['/ocsp', '/ocsp/', '/ocsp/ISSUING/MAA=', '/ocsp/issuing.crl', '/ocsp/__proto__/MAA='])
      expect((await send('GET', path)).status).toBe(404);
  });
});
