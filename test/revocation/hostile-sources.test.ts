import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PathCertificate } from '../../src/x509/path/path-certificate.ts';
import { OutgoingHttp } from '../../src/outgoing/outgoing-http.ts';
import { RevocationSources, type DataSource, type RevocationQuestion } from '../../src/revocation/revocation-data.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { ScratchAuthority } from '../support/scratch-authority.ts';
import { authorityWithTwo, read } from './authority-with-two.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-sources-'));
const { authority, good, revoked } = authorityWithTwo(directory);
/** Of the same name, with another key. */
const impostor = new ScratchAuthority(directory, 'Authority');
const other = new ScratchAuthority(directory, 'Other');
const issuer = read(authority);

let server: Server;
let base: string;
let requests = 0;
let listener: RequestListener;
const crlOf =
  (from: ScratchAuthority): RequestListener =>
  (_request, response) =>
    void response.end(from.revocationList());
beforeAll(async () => {
  server = createServer((request, response) => {
    requests += 1;
    listener(request, response);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  requests = 0;
});
afterAll(async () => {
  await threads.stop();
  server.close();
  server.closeAllConnections();
  rmSync(directory, { recursive: true, force: true });
});

const http = new OutgoingHttp({ clientHosts: [], privateNetworks: ['127.0.0.0/8'], timeoutSeconds: 5, connectionsMax: 8 });
const threads = new WorkThreads();
const sources = (): RevocationSources => new RevocationSources(http, threads);
const from = (kind: 'CLIENT' | 'SERVER' = 'SERVER', path = '/crl'): DataSource => ({ kind, urls: [new URL(base + path)] });
const question = (over: Partial<RevocationQuestion> = {}, crl: DataSource = from()): RevocationQuestion => ({
  certificate: read(good),
  issuer,
  wanted: { choice: 'CRL', ocsp: { kind: 'CERTIFICATE' }, crl },
  isVouchedFor: true,
  at: new Date(),
  ...over,
});

describe('a CRL', () => {
  test.each([
    ['another issuer', other, /from another issuer/],
    ['an impostor', impostor, /not signed by the issuer/],
  ])('of %s is in the way of no later one', async (_name, wrong, why) => {
    const all = sources();
    listener = crlOf(wrong);
    expect(await all.of(question())).toMatchObject({ status: { kind: 'undetermined', why: expect.stringMatching(why) as unknown } });
    listener = crlOf(authority);
    expect((await all.of(question())).status).toEqual({ kind: 'good' });
    // That one holds, and is kept.
    listener = crlOf(wrong);
    expect((await all.of(question({ certificate: read(revoked) }))).status).toMatchObject({ kind: 'revoked' });
    expect(requests).toBe(2);
  });

  test('serves those of its issuer alone: two issuers at one address do not hinder each other', async () => {
    const all = sources();
    listener = crlOf(authority);
    expect((await all.of(question())).status.kind).toBe('good');
    const ofOther = { certificate: read(other.issue('Of other')), issuer: read(other) };
    listener = crlOf(other);
    expect((await all.of(question(ofOther))).status.kind).toBe('good');
    expect((await all.of(question())).status.kind).toBe('good');
    expect(requests).toBe(2);
  });

  test("of a caller's address decides for that tenant alone", async () => {
    const all = sources();
    listener = crlOf(authority);
    await all.ofTenant('one').of(question({}, from('CLIENT')));
    await all.ofTenant('one').of(question({}, from('CLIENT')));
    expect(requests).toBe(1);
    await all.ofTenant('two').of(question({}, from('CLIENT')));
    expect(requests).toBe(2);
    await all.ofTenant('one').of(question());
    await all.ofTenant('two').of(question());
    expect(requests).toBe(3);
  });

  test('is asked for again after an answer that was none', async () => {
    const all = sources();
    listener = (_request, response) => {
      response.socket?.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n');
    };
    expect(await all.of(question())).toMatchObject({ status: { kind: 'undetermined' } });
    listener = crlOf(authority);
    expect((await all.of(question())).status.kind).toBe('good');
  });

  test('is kept for a day at most', async () => {
    const all = sources();
    const day = 24 * 3_600_000;
    listener = (_request, response) => void response.end(authority.revocationList({ until: new Date(Date.now() + 10 * day) }));
    await all.of(question());
    await all.of(question({ at: new Date(Date.now() + day - 60_000) }));
    expect(requests).toBe(1);
    await all.of(question({ at: new Date(Date.now() + day + 60_000) }));
    expect(requests).toBe(2);
  });
});

test('a failure names the host and whose the address is, and nothing else of it', async () => {
  listener = (_request, response) => void response.writeHead(403).end();
  const url = new URL(base.replace('//', '//user:P4SSWORD@'));
  url.pathname = '/T0KEN/crl';
  url.search = '?apikey=S3CRET';
  const all = sources();
  for (const choice of ['CRL', 'OCSP'] as const) {
    const source: DataSource = { kind: 'SERVER', urls: [url] };
    const { status } = await all.of(question({ wanted: { choice, ocsp: source, crl: source } }));
    const what = choice === 'CRL' ? 'CRL' : 'OCSP responder';
    expect(status).toEqual({ kind: 'undetermined', why: `${what} at ${url.host} (SERVER): the server answered with status 403` });
  }
});

test('a certificate that names many addresses has few of them asked', async () => {
  listener = (_request, response) => void response.writeHead(500).end();
  const urls = Array.from({ length: 100 }, (_, index) => `${base}/${index}`);
  const certificate: PathCertificate = {
    ...read(good),
    ocspUrls: urls,
    distributionPoints: urls.map((text) => ({ kind: 'uri', text })),
  };
  const wanted = { choice: 'BOTH', ocsp: { kind: 'CERTIFICATE' }, crl: { kind: 'CERTIFICATE' } } as const;
  expect(await sources().of(question({ certificate, wanted }))).toMatchObject({ status: { kind: 'undetermined' } });
  expect(requests).toBe(16);
});

describe('who leaves', () => {
  test('does so at once, and ends nothing that others wait for', async () => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    listener = (_request, response) => {
      asked.resolve();
      void answer.promise.then(() => response.end(authority.revocationList()));
    };
    const all = sources();
    const [one, two] = [new AbortController(), new AbortController()];
    const leaving = all.of(question({ signal: one.signal }));
    const staying = all.of(question({ signal: two.signal }));
    await asked.promise;
    one.abort();
    expect(await leaving).toMatchObject({ status: { kind: 'undetermined', why: 'the request timed out' } });
    answer.resolve();
    expect((await staying).status.kind).toBe('good');
    expect(requests).toBe(1);
  });

  test('last ends the exchange', async () => {
    const asked = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    listener = (_request, response) => {
      asked.resolve();
      response.on('close', closed.resolve);
    };
    const all = sources();
    const end = new AbortController();
    const leaving = all.of(question({ signal: end.signal }));
    await asked.promise;
    end.abort();
    expect(await leaving).toMatchObject({ status: { kind: 'undetermined' } });
    await closed.promise;
    listener = crlOf(authority);
    expect((await all.of(question())).status.kind).toBe('good');
  });
});
