import { execFile } from 'node:child_process';
import { createHash, randomBytes, randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { Agent, request, type IncomingHttpHeaders } from 'node:http';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import * as der from '../../../src/asn1/der.ts';
import { imprintDer, timeStampRequest, type MessageImprint } from '../../../src/timestamp/request.ts';
import { readTimeStampResponse } from '../../../src/timestamp/response.ts';
import { description, root } from '../../support/api.ts';
import { openssl } from '../../support/openssl.ts';
import { skipNote } from '../../support/skip-note.ts';

const { timestampUrl = '' } = description;
const agent = new Agent({ keepAlive: true, maxSockets: 8 });
afterAll(() => {
  agent.destroy();
});
const malformedCount = 2000;
const document = Buffer.from('a document');
const imprint: MessageImprint = { hash: 'sha256', value: createHash('sha256').update(document).digest() };
const good = timeStampRequest(imprint, { nonce: randomBytes(16) });
const python = join(process.env['SIGNETD_TOOLS_CACHE'] ?? join(homedir(), '.cache/signetd-tools'), 'venv/bin/python');

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

async function send(method: string, url: string, headers: Record<string, string>, body?: Uint8Array): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, method, headers }, (response) => {
      buffer(response).then((bytes) => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: bytes });
      }, reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const type = { 'Content-Type': 'application/timestamp-query' };
const post = async (body: Uint8Array, headers: Record<string, string> = {}): Promise<Answer> =>
  send('POST', timestampUrl, { ...type, ...headers }, body);

/** Why there is no token; `granted` where there is one. */
function outcomeOf({ body }: Answer): string {
  const response = readTimeStampResponse(body);
  return 'token' in response ? 'granted' : response.refusal;
}

/** A TimeStampReq of parts that stand after one another. */
const requestOf = (...parts: readonly Uint8Array[]): Uint8Array => der.sequence(...parts);
const imprintOf = (oid: string, bytes: number): Uint8Array =>
  der.sequence(der.sequence(der.oid(oid), der.nullValue()), der.octetString(randomBytes(bytes)));

describe('/tsa, asked by OpenSSL', () => {
  const cases = (['sha256', 'sha384', 'sha512'] as const).flatMap((hash) => [
    [hash, ['-cert']],
    [hash, ['-cert', '-no_nonce']],
    [hash, []],
    [hash, ['-cert', '-tspolicy', '1.2.3.4.2']],
  ]) as [string, string[]][];
  it.each(cases)('gives tokens that it verifies, with %s %s', async (hash, options) => {
    const query = openssl(['ts', '-query', '-data', '{document}', `-${hash}`, ...options, '-out', 'query'], { document }, 'query');
    const answer = await post(query);
    expect([answer.status, answer.headers['content-type'], answer.headers['cache-control']]).toEqual([
      200,
      'application/timestamp-reply',
      'no-store',
    ]);
    const files = { query, reply: answer.body, document };
    const text = openssl(['ts', '-reply', '-in', '{reply}', '-text'], files);
    // OpenSSL's own configuration has a name for the usual one.
    expect(text).toMatch(options.includes('-tspolicy') ? /Policy OID: 1\.2\.3\.4\.2$/m : /Policy OID: (1\.2\.3\.4\.1|tsa_policy1)$/m);
    expect(text.includes('Nonce: unspecified')).toBe(options.includes('-no_nonce'));
    // Where the certificate was not asked for, whoever verifies has it.
    const untrusted = options.includes('-cert') ? [] : ['-untrusted', join(root, '..', 'time-stamps.pem')];
    for (const what of [
      ['-queryfile', '{query}'],
      ['-data', '{document}'],
    ])
      expect(openssl(['ts', '-verify', ...what, '-in', '{reply}', '-CAfile', root, ...untrusted], files)).toContain('Verification: OK');
  });
});

describe('/tsa, asked by pyHanko', () => {
  const reason = existsSync(python) ? undefined : `there is no ${python}`;
  it.skipIf(reason !== undefined).each(['sha256', 'sha384', 'sha512'])(
    `gives tokens that it takes, %s${skipNote(reason)}`,
    async (hash) => {
      const { stdout } = await promisify(execFile)(python, ['test/timestamp/pyhanko-client.py', timestampUrl, root, hash]);
      expect(stdout.trim()).toBe('intact valid None');
    },
    60_000,
  );
});

describe('/tsa over HTTP', () => {
  it('answers a body that is not a time-stamp request with an HTTP status', async () => {
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE'])
      expect(await send(method, timestampUrl, {})).toMatchObject({ status: 405, headers: { allow: 'POST' } });
    expect(await post(good, { 'Content-Type': 'application/ocsp-request' })).toMatchObject({ status: 415 });
    expect(await post(good, { 'Content-Encoding': 'gzip' })).toMatchObject({ status: 415 });
    expect(await post(new Uint8Array(8193))).toMatchObject({ status: 413 });
    expect(await post(new Uint8Array(20_000), { 'Transfer-Encoding': 'chunked' })).toMatchObject({ status: 413 });
    for (const path of ['/', '/x', 'x', '/../tsa/'])
      expect(await send('POST', `${timestampUrl}${path}`, type, good)).toMatchObject({ status: 404 });
    expect(outcomeOf(await post(good, { 'Content-Type': 'Application/Timestamp-Query; charset=x' }))).toBe('granted');
  });

  it.each([
    ['a policy that is not offered', timeStampRequest(imprint, { policy: '1.2.9' }), 'unacceptedPolicy'],
    ['SHA-1', requestOf(der.integer(1), imprintOf('1.3.14.3.2.26', 20)), 'badAlg'],
    ['MD5', requestOf(der.integer(1), imprintOf('1.2.840.113549.2.5', 16)), 'badAlg'],
    ['SHA-224', requestOf(der.integer(1), imprintOf('2.16.840.1.101.3.4.2.4', 28)), 'badAlg'],
    ['another version', requestOf(der.integer(2), imprintDer(imprint)), 'badRequest'],
    ['a nonce of 65 octets', requestOf(der.integer(1), imprintDer(imprint), der.tagged(2, Buffer.alloc(65, 1))), 'badRequest'],
    ['a digest of another length', requestOf(der.integer(1), imprintOf('2.16.840.1.101.3.4.2.1', 31)), 'badDataFormat'],
    ['nothing', new Uint8Array(), 'badDataFormat'],
    [
      'an extension',
      requestOf(der.integer(1), imprintDer(imprint), der.implicitConstructed(0, der.sequence(der.oid('1.2.3'), der.octetString(good)))),
      'unacceptedExtension',
    ],
  ])('rejects %s', async (_name, bytes, failure) => {
    expect(outcomeOf(await post(bytes))).toMatch(new RegExp(`^rejection: ${failure}: `));
  });

  it(`answers ${malformedCount} malformed requests with a rejection, and none with a 5xx`, async () => {
    const makers: readonly (() => Uint8Array)[] = [
      () => randomBytes(randomInt(0, 400)),
      () => good.subarray(0, randomInt(1, good.length)),
      () => Buffer.concat([good, randomBytes(randomInt(1, 20))]),
      () => {
        // A length that is another one than its content's.
        const bytes = Uint8Array.from(good);
        const at = [1, 6, 8][randomInt(0, 3)] ?? 1;
        bytes[at] = ((bytes[at] ?? 0) + randomInt(1, 255)) % 256;
        return bytes;
      },
      () => requestOf(der.integer(randomInt(2, 1000)), imprintDer(imprint)),
      () => requestOf(imprintDer(imprint)),
      () => requestOf(der.integer(1)),
      () => requestOf(der.integer(1), imprintDer(imprint), der.integer(1), der.oid('1.2.3')),
      () => requestOf(der.integer(1), imprintDer(imprint), der.tagged(2, randomBytes([0, 65, 200, 4000][randomInt(0, 4)] ?? 0))),
      () => requestOf(der.integer(1), imprintDer(imprint), der.tagged(1, Uint8Array.of(randomInt(1, 255)))),
      () => requestOf(der.integer(1), imprintDer(imprint), der.oid(`1.2.${randomInt(0, 1_000_000)}`)),
      () => requestOf(der.integer(1), imprintDer(imprint), der.tagged(6, Buffer.alloc(randomInt(0, 100), 0x80))),
      () => requestOf(der.integer(1), imprintDer(imprint), der.implicitConstructed(0, randomBytes(randomInt(0, 30)))),
      () => requestOf(der.integer(1), imprintOf('2.16.840.1.101.3.4.2.3', randomInt(0, 64))),
      () => requestOf(der.integer(1), imprintOf(`1.2.${randomInt(0, 1000)}`, 32)),
      () => requestOf(der.integer(1), der.sequence(der.sequence(), der.octetString(randomBytes(32)))),
      () =>
        requestOf(
          der.integer(1),
          der.sequence(der.sequence(der.oid('2.16.840.1.101.3.4.2.1'), der.octetString(good)), der.octetString(randomBytes(32))),
        ),
      () => der.sequence(good),
      () => Buffer.concat(Array.from({ length: randomInt(1, 4000) }, () => Buffer.of(0x30, 0x80))),
    ];
    const wrong: string[] = [];
    let sent = 0;
    const worker = async (): Promise<void> => {
      while (sent < malformedCount) {
        const bytes = makers[sent % makers.length]?.() ?? good;
        sent += 1;
        const answer = await post(bytes);
        const said = answer.status === 200 ? outcomeOf(answer) : '';
        if (!/^rejection: (badAlg|badRequest|badDataFormat|unacceptedPolicy|unacceptedExtension): ./.test(said))
          wrong.push(`${answer.status} ${said} to ${Buffer.from(bytes).toString('hex').slice(0, 200)}`);
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
      const answer = await post(bytes);
      expect(answer.status).toBe(200);
      said.add(outcomeOf(answer).split(': ').slice(0, 2).join(': '));
    }
    // What was changed in digest or nonce is another request.
    for (const outcome of ['granted', 'rejection: badAlg', 'rejection: badDataFormat', 'rejection: badRequest'])
      expect(said).toContain(outcome);
  });
});
