import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RequestListener } from 'node:http';
import { longTerm, crlAt, ocspAt, stampedByNamed, stampsAt, Strangers } from './strangers.ts';

const strangers = new Strangers();
beforeAll(async () => {
  await strangers.start();
});
beforeEach(() => {
  strangers.asked = [];
  strangers.reasons = [];
});
afterAll(async () => {
  await strangers.stop();
});

/** What a server that a caller chose does, and what the log says of it. */
const failures: readonly (readonly [string, RegExp, RequestListener])[] = [
  ['refuses', /status 403/, (_request, response) => void response.writeHead(403).end()],
  ['leads elsewhere', /status 302/, (_request, response) => void response.writeHead(302, { Location: 'http://127.0.0.2:1/' }).end()],
  ['is none of this kind', /octets|element/, (_request, response) => void response.end('0\u0082\u0001\u0000 a page of the intranet')],
  ['closes the connection', /no connection|ended/, (_request, response) => void response.destroy()],
  ['has data of another authority', /./, (_request, response) => void response.end(strangers.stampRoot.revocationList())],
];
const settings = { clientHosts: ['127.0.0.2', 'nowhere.invalid', '10.9.9.9'] };
const unreachable = ['http://127.0.0.2:1', 'http://nowhere.invalid', 'http://10.9.9.9'];

/** Answers as `listening` does, but for what the authority above the person's is asked for. */
const answersOf =
  (listening: RequestListener): RequestListener =>
  (request, response) => {
    if (request.url === '/root.crl') strangers.serves(request, response);
    else listening(request, response);
  };

describe.each([
  ['OCSP', (url: string) => ocspAt(`${url}/ocsp`), 'OCSP responder'],
  ['CRL', (url: string) => crlAt(`${url}/leaf.crl`), 'CRL'],
] as const)('of a server for %s that the caller chose, the caller learns that it gave no valid answer', (choice, extension, what) => {
  const expected = (url: string, source: string): string =>
    `REVOCATION_UNAVAILABLE: signer certificate: ${what} at ${new URL(url).host} (${source}): no valid answer`;
  const check = async (url: string): Promise<void> => {
    expect(await strangers.outcome(settings, strangers.signer(extension(url)))).toBe(expected(url, 'CERTIFICATE'));
    const data = { source: 'CLIENT' as const, urls: [`${url}/x`] };
    const level = { ...longTerm, ofSigner: { choice, ocsp: data, crl: data } };
    expect(await strangers.outcome(settings, strangers.signer(), { level })).toBe(expected(url, 'CLIENT'));
  };

  test.each(failures)('if it %s; the operator learns why', async (_name, reason, listening) => {
    strangers.listener = answersOf(listening);
    await check(strangers.base);
    expect(strangers.reasons).toEqual([expect.stringMatching(reason), expect.stringMatching(reason)]);
  });

  test('if there is none', async () => {
    strangers.listener = strangers.serves;
    for (const url of unreachable) await check(url);
    expect(strangers.reasons.slice(-1)).toEqual([expect.stringMatching(/not public/)]);
  });
});

describe('of a time-stamp authority that the caller chose, the caller learns that it gave no valid answer', () => {
  const check = async (url: string): Promise<void> => {
    const expected = new RegExp(`^TIMESTAMP_(?:UNAVAILABLE|INVALID): ${new URL(url).host}: no valid answer$`);
    expect(await strangers.outcome(settings, strangers.signer(...stampsAt(`${url}/stamp`)), { level: stampedByNamed })).toMatch(expected);
    const addresses = { source: 'CLIENT' as const, urls: [`${url}/stamp`] };
    const level = { ...stampedByNamed, timeStamp: { ...stampedByNamed.timeStamp, addresses } };
    expect(await strangers.outcome(settings, strangers.signer(), { level })).toMatch(expected);
  };

  test.each(failures)('if it %s; the operator learns why', async (_name, reason, listening) => {
    strangers.listener = listening;
    await check(strangers.base);
    expect(strangers.reasons).toEqual([expect.stringMatching(reason), expect.stringMatching(reason)]);
  });

  test('if there is none', async () => {
    for (const url of unreachable) await check(url);
  });
});

test('of a server that a configured authority names, the caller learns how it failed', async () => {
  strangers.listener = answersOf((_request, response) => void response.writeHead(403).end());
  const known = { anchors: [strangers.root.certificate] };
  const answer = await strangers.outcome(known, strangers.signer(ocspAt(`${strangers.base}/ocsp`)));
  expect(answer).toMatch(/\(CERTIFICATE\): the server answered with status 403$/);
});
