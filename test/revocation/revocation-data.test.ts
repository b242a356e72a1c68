import { createServer, type Server } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { OutgoingHttp } from '../../src/outgoing/outgoing-http.ts';
import { RevocationSources, type DataSource, type RevocationQuestion } from '../../src/revocation/revocation-data.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { ScratchAuthority, type CertificateFiles } from '../support/scratch-authority.ts';
import { authorityWithTwo, read } from './authority-with-two.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-revocation-'));
const { authority, good, revoked } = authorityWithTwo(directory);
const issuer = read(authority);

let server: Server;
let base: string;
/** Who answers at `/ocsp`. */
let responder = authority;
let asked: string[] = [];
let fault: string | undefined;
beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request.url ?? '');
    if (request.url === fault) response.writeHead(500).end();
    else if (request.url === '/crl') response.end(authority.revocationList());
    else if (request.url === '/der') response.end(Buffer.from(authority.revocationList().replaceAll(/-----[^\n]*/g, ''), 'base64'));
    else if (request.url === '/ocsp') void buffer(request).then((body) => response.end(responder.ocspAnswer(body)));
    else response.end('nonsense');
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  asked = [];
  fault = undefined;
});
afterAll(async () => {
  await threads.stop();
  server.close();
  rmSync(directory, { recursive: true, force: true });
});

const from = (...paths: string[]): DataSource => ({ kind: 'SERVER', urls: paths.map((path) => new URL(base + path)) });
const question = (certificate: CertificateFiles, over: Partial<RevocationQuestion['wanted']> = {}): RevocationQuestion => ({
  certificate: read(certificate),
  issuer,
  wanted: { ocsp: from('/ocsp'), crl: from('/crl'), ...over },
  isVouchedFor: true,
  at: new Date(),
});
const http = new OutgoingHttp({ clientHosts: [], privateNetworks: ['127.0.0.0/8'], timeoutSeconds: 5, connectionsMax: 8 });
const threads = new WorkThreads();
const sources = (): RevocationSources => new RevocationSources(http, threads);

describe('revocation data', () => {
  test.each(['OCSP', 'CRL', 'BOTH'] as const)('by %s says good and revoked, and is handed on as it came', async (choice) => {
    const all = sources();
    const ofGood = await all.of(question(good, { choice }));
    expect(ofGood.status).toEqual({ kind: 'good' });
    expect([ofGood.ocspAnswers.length, ofGood.crls.length]).toEqual([choice === 'CRL' ? 0 : 1, choice === 'OCSP' ? 0 : 1]);
    expect(await all.of(question(revoked, { choice }))).toMatchObject({ status: { kind: 'revoked' } });
  });

  test('that nobody has chosen is by OCSP where the certificate names a responder, else by CRL; never by both', async () => {
    const named = { ...read(good), ocspUrls: [`${base}/ocsp`] };
    const byOcsp = await sources().of({ ...question(good), certificate: named });
    expect([byOcsp.status, byOcsp.ocspAnswers.length, byOcsp.crls.length]).toEqual([{ kind: 'good' }, 1, 0]);
    expect(asked).toEqual(['/ocsp']);
    const byCrl = await sources().of({ ...question(good), certificate: { ...read(good), ocspUrls: [] } });
    expect([byCrl.status, byCrl.ocspAnswers.length, byCrl.crls.length]).toEqual([{ kind: 'good' }, 0, 1]);
    expect(asked).toEqual(['/ocsp', '/crl']);
  });

  test('by CRL comes in DER or in PEM, and nothing else is a CRL', async () => {
    for (const path of ['/der', '/crl']) {
      const given = await sources().of(question(good, { choice: 'CRL', crl: from(path) }));
      expect(given.status).toEqual({ kind: 'good' });
      expect(given.crls[0]?.[0]).toBe(0x30);
      expect(await sources().of(question(revoked, { choice: 'CRL', crl: from(path) }))).toMatchObject({ status: { kind: 'revoked' } });
    }
    const nonsense = await sources().of(question(good, { choice: 'CRL', crl: from('/nonsense') }));
    expect(nonsense).toMatchObject({
      status: { kind: 'undetermined', why: expect.stringContaining('neither a DER CRL') as unknown },
      crls: [],
    });
  });

  test('is asked for once while it is good, by many at once too', async () => {
    const all = sources();
    await Promise.all(Array.from({ length: 5 }, async () => all.of(question(good, { choice: 'BOTH' }))));
    await all.of(question(good, { choice: 'BOTH' }));
    expect(asked.toSorted()).toEqual(['/crl', '/ocsp']);
    const later = { ...question(good, { choice: 'BOTH' }), at: new Date(Date.now() + 25 * 3_600_000) };
    expect(await all.of(later)).toMatchObject({ status: { kind: 'undetermined' } });
    expect(asked.length).toBe(4);
  });

  test('is asked for anew where the certificate is newer than the CRL that is kept, and is the one that is kept where none is to be had', async () => {
    const all = sources();
    const newest = { ...read(good), notBefore: new Date(Date.now() + 60_000) };
    const asNewest = { ...question(good, { choice: 'CRL' }), certificate: newest };
    await all.of(question(good, { choice: 'CRL' }));
    fault = '/crl';
    const later = new Date(Date.now() + 120_000);
    expect(await all.of({ ...asNewest, at: later })).toMatchObject({ status: { kind: 'good' } });
    expect(asked).toEqual(['/crl', '/crl']);
    // Not again and again.
    expect(await all.of({ ...asNewest, at: later })).toMatchObject({ status: { kind: 'good' } });
    expect(asked).toEqual(['/crl', '/crl']);
  });

  test('comes from the next source where the first has none', async () => {
    fault = '/ocsp';
    const both = await sources().of(question(good, { choice: 'OCSP', ocsp: from('/nonsense', '/ocsp') }));
    expect(both).toMatchObject({ status: { kind: 'undetermined', why: expect.stringContaining('status 500') as unknown } });
    fault = undefined;
    expect(await sources().of(question(good, { choice: 'OCSP', ocsp: from('/nonsense', '/ocsp') }))).toMatchObject({
      status: { kind: 'good' },
    });
  });

  test('tells an answer that leaves the status open from no answer, whichever source comes last', async () => {
    const stranger = new ScratchAuthority(directory, 'Authority', { existing: authority });
    const wanted = { choice: 'OCSP', ocsp: from('/ocsp', '/nonsense') } as const;
    // Another record of the same authority knows none of its certificates.
    responder = stranger;
    const open = { kind: 'undetermined', why: expect.stringContaining('does not know the certificate') as unknown, isAnswered: true };
    expect((await sources().of(question(good, wanted))).status).toEqual(open);
    expect((await sources().of(question(good, { ...wanted, choice: 'BOTH', crl: from('/nonsense') }))).status).toEqual(open);
    const none = (await sources().of(question(good, { choice: 'OCSP', ocsp: from('/nonsense') }))).status;
    expect(none).toEqual({ kind: 'undetermined', why: expect.any(String) as unknown });
    responder = authority;
    expect(await sources().of(question(good, { choice: 'OCSP', ocsp: from('/nonsense', '/ocsp') }))).toMatchObject({
      status: { kind: 'good' },
    });
  });

  test('of both kinds needs both', async () => {
    fault = '/crl';
    expect(await sources().of(question(good, { choice: 'BOTH' }))).toMatchObject({ status: { kind: 'undetermined' } });
  });

  test('is undetermined where the certificate names no source', async () => {
    const wanted = { ocsp: { kind: 'CERTIFICATE' }, crl: { kind: 'CERTIFICATE' } } as const;
    expect(await sources().of({ ...question(good), wanted })).toMatchObject({ status: { why: 'no CRL is known for the certificate' } });
    expect(asked).toEqual([]);
  });

  test("of the service's own authority comes without HTTP", async () => {
    const own = {
      crl: async () => Promise.resolve(derOfPem(authority.revocationList())),
      ocspAnswer: async (body: Uint8Array) => Promise.resolve(authority.ocspAnswer(body)),
    };
    const all = new RevocationSources(http, threads, (one) => (one === issuer ? own : undefined));
    const wanted = { choice: 'BOTH', ocsp: { kind: 'CERTIFICATE' }, crl: { kind: 'CERTIFICATE' } } as const;
    expect(await all.of({ ...question(revoked), wanted })).toMatchObject({ status: { kind: 'revoked' } });
    expect(asked).toEqual([]);
  });
});

function derOfPem(pem: string): Buffer {
  return Buffer.from(pem.replaceAll(/-----[A-Z0-9 ]+-----|\s/g, ''), 'base64');
}
