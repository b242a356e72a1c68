import { createServer, request, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { PublishedCrl } from '../../../src/certificates/crl/crl-publisher.ts';
import type { PublishedAuthority } from '../../../src/certificates/crl/crl-publishers.ts';
import { publishedPki } from '../../../src/http/public/published-pki.ts';

const thisUpdate = new Date(Math.floor(Date.now() / 1000) * 1000 - 5000);
const list: PublishedCrl = {
  der: Buffer.from('list'),
  number: 3,
  thisUpdate,
  nextUpdate: new Date(thisUpdate.getTime() + 3_600_000),
  digest: 'digest',
};
const good = authorityWith(list);
let authority: PublishedAuthority;
let server: Server;

function authorityWith(crl: PublishedCrl | undefined): PublishedAuthority {
  const notBefore = new Date('2026-01-01T00:00:00Z');
  return { certificate: Buffer.from('certificate'), notBefore, crl, latestCrl: async () => Promise.resolve(crl), cacheSeconds: 60 };
}

beforeAll(async () => {
  const handle = publishedPki((name) => (name === 'issuing' ? authority : undefined));
  server = createServer((incoming, response) => {
    if (!handle(incoming, response)) response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
});
afterAll(() => {
  server.close();
});
beforeEach(() => {
  authority = good;
});

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

async function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', path, method, headers }, (response) => {
      buffer(response).then((bytes) => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: bytes.toString() });
      }, reject);
    });
    sent.on('error', reject);
    sent.end();
  });
}

describe('the published CRL and certificate', () => {
  it('come with what caches need', async () => {
    const crl = await get('/pki/issuing.crl');
    expect(crl).toMatchObject({
      status: 200,
      body: 'list',
      headers: {
        'content-type': 'application/pkix-crl',
        'content-length': '4',
        etag: '"digest"',
        'last-modified': thisUpdate.toUTCString(),
        'cache-control': 'public, max-age=60, must-revalidate',
        'x-api-version': '1.0.0',
      },
    });
    expect(Date.parse(crl.headers.expires ?? '')).toBeGreaterThan(Date.now());
    const certificate = await get('/pki/issuing.cer?x=y');
    expect(certificate).toMatchObject({
      status: 200,
      body: 'certificate',
      headers: { 'content-type': 'application/pkix-cert', 'last-modified': good.notBefore.toUTCString() },
    });
    expect(certificate.headers.etag).toMatch(/^"[\w-]{43}"$/);
  });

  it('are not sent again to a client that has them', async () => {
    for (const headers of [
      { 'If-None-Match': '"other", W/"digest"' },
      { 'If-None-Match': '*' },
      { 'If-Modified-Since': thisUpdate.toUTCString() },
    ]) {
      expect(await get('/pki/issuing.crl', headers)).toMatchObject({ status: 304, body: '', headers: { etag: '"digest"' } });
    }
    for (const headers of [
      { 'If-None-Match': '"other"', 'If-Modified-Since': thisUpdate.toUTCString() },
      { 'If-Modified-Since': new Date(0).toUTCString() },
      { 'If-Modified-Since': 'yesterday' },
    ]) {
      expect(await get('/pki/issuing.crl', headers)).toMatchObject({ status: 200, body: 'list' });
    }
  });

  it('are not cached beyond the end of the list', async () => {
    authority = authorityWith({ ...list, nextUpdate: new Date(Date.now() + 5500) });
    expect((await get('/pki/issuing.crl')).headers['cache-control']).toMatch(/max-age=[45],/);
    authority = authorityWith({ ...list, nextUpdate: new Date(Date.now() - 5500) });
    expect((await get('/pki/issuing.crl')).headers['cache-control']).toContain('max-age=0,');
  });

  it('have a HEAD, and no other method', async () => {
    expect(await get('/pki/issuing.crl', {}, 'HEAD')).toMatchObject({ status: 200, body: '', headers: { 'content-length': '4' } });
    expect(await get('/pki/issuing.crl', {}, 'POST')).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  });

  it('are 503 before the first list is issued', async () => {
    authority = authorityWith(undefined);
    expect(await get('/pki/issuing.crl')).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    expect(await get('/pki/issuing.crl', {}, 'POST')).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  });

  it.each(['/pki/other.crl', '/pki/issuing.pem', '/pki/issuing', '/pki/../pki/issuing.crl', '/pki/ISSUING.crl', '/', '*'])(
    'are not at %s',
    async (path) => {
      expect((await get(path)).status).toBe(404);
    },
  );
});
