import { execFileSync } from 'node:child_process';
import { createHash, X509Certificate, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { assert, constantFrom, integer, property } from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { bytesBetween, bytesInMemory } from '../../src/asn1/byte-source.ts';
import * as der from '../../src/asn1/der.ts';
import { pathCertificate } from '../../src/x509/path/path-certificate.ts';
import { subjectName } from '../../src/certificates/subject.ts';
import { readCertificate } from '../../src/x509/certificate.ts';
import { readSignedData } from '../../src/cms/read-signed-data.ts';
import { signedData } from '../../src/cms/signed-data.ts';
import { OutgoingHttp } from '../../src/outgoing/outgoing-http.ts';
import { Refusal } from '../../src/result-codes.ts';
import { createTimeStampCertificate } from '../../src/timestamp/authority-certificate.ts';
import { checkToken, TokenInvalid, type ExpectedToken } from '../../src/timestamp/check-token.ts';
import { readTimeStampRequest, timeStampRequest } from '../../src/timestamp/request.ts';
import { readTimeStampResponse } from '../../src/timestamp/response.ts';
import { TimeStampAuthority, type AuthorityRules } from '../../src/timestamp/time-stamp-authority.ts';
import { TimeStampClient, type TimeStampOrder } from '../../src/timestamp/time-stamp-client.ts';
import type { TokenSigner } from '../../src/timestamp/token-writer.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import {
  signing,
  softwareAuthority,
  softwareKey,
  type SoftwareAuthority,
  type SoftwareKeyType,
} from '../certificates/software-authority.ts';
import { openssl } from '../support/openssl.ts';
import { alternativeNames, strangersCertificate } from '../support/strangers-certificates.ts';

const rules: AuthorityRules = {
  policy: '1.2.3.4',
  otherPolicies: ['1.2.3.5'],
  hashes: new Set(['sha256', 'sha384', 'sha512']),
  accuracy: { seconds: 1, milliseconds: 500 },
  ordering: false,
};
let now = (): Date => new Date();
let clockFault: string | undefined;
const clock = { now: (): Date => now(), fault: (): string | undefined => clockFault };
const document = Buffer.from('a document');
const imprint = { hash: 'sha256', value: createHash('sha256').update(document).digest() } as const;
let authority: SoftwareAuthority;
const stampers = new Map<SoftwareKeyType, TimeStampAuthority>();

async function stamper(
  keyType: SoftwareKeyType,
  over: Partial<AuthorityRules> = {},
  options: ConstructorParameters<typeof TimeStampAuthority>[3] = {},
): Promise<TimeStampAuthority> {
  const key = softwareKey(keyType);
  const { notBefore, notAfter } = authority.issuer.certificate;
  const certificate = await createTimeStampCertificate(authority.issuer, {
    name: subjectName({ country: 'FR', commonName: 'Time-stamp authority' }),
    subjectPublicKeyInfo: key.subjectPublicKeyInfo,
    notBefore,
    notAfter,
    urls: {},
  });
  const hash = keyType === 'P-384' ? 'sha384' : 'sha256';
  const signer: TokenSigner = {
    certificate: readCertificate(certificate),
    chain: [certificate, ...authority.issuer.chain],
    algorithm: keyType === 'RSA-2048' ? { scheme: 'RSA_PKCS1', hash } : { scheme: 'ECDSA', hash },
    sign: signing(key).sign,
  };
  return new TimeStampAuthority(signer, { ...rules, ...over }, clock, options);
}

/** An address at which answers come as they are made. */
const servers: Server[] = [];
async function served(answer: (request: Buffer, path: string) => Promise<Uint8Array | number>): Promise<URL> {
  const server = createServer((request, response) => {
    void buffer(request)
      .then(async (body) => answer(body, request.url ?? ''))
      .then((made) => (typeof made === 'number' ? response.writeHead(made).end() : response.end(made)));
  });
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

beforeAll(async () => {
  authority = await softwareAuthority('P-256');
  for (const keyType of ['RSA-2048', 'P-256', 'P-384'] as const) stampers.set(keyType, await stamper(keyType));
});
afterEach(() => {
  now = () => new Date();
  clockFault = undefined;
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

const pem = (certificate: Uint8Array): string => new X509Certificate(certificate).toString();
const usual = (): TimeStampAuthority => {
  const found = stampers.get('P-256');
  if (found === undefined) throw new Error('not made');
  return found;
};
const trust = (): Pick<ExpectedToken, 'anchors'> => ({ anchors: [pathCertificate(authority.root)] });

describe('the authority', () => {
  test.each(['RSA-2048', 'P-256', 'P-384'] as const)("makes tokens that OpenSSL's query and verify accept, %s", async (keyType) => {
    const one = stampers.get(keyType) ?? usual();
    const query = execFileSync('openssl', ['ts', '-query', '-digest', imprint.value.toString('hex'), '-sha256', '-cert'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const reply = await one.respond(query);
    const files = { query, reply, root: pem(authority.root), untrusted: pem(authority.issuer.certificate.der), document };
    expect(openssl(['ts', '-verify', '-queryfile', '{query}', '-in', '{reply}', '-CAfile', '{root}'], files)).toContain('Verification: OK');
    expect(openssl(['ts', '-verify', '-data', '{document}', '-in', '{reply}', '-CAfile', '{root}'], files)).toContain('Verification: OK');
    const text = openssl(['ts', '-reply', '-in', '{reply}', '-text'], files);
    for (const part of ['Policy OID: 1.2.3.4', 'Accuracy: 0x01 seconds, 0x01F4 millis', 'Ordering: no', 'TSA: DirName:'])
      expect(text).toContain(part);
  });

  test('leaves its certificates out where they are not wanted', async () => {
    const query = execFileSync('openssl', ['ts', '-query', '-digest', imprint.value.toString('hex'), '-sha256', '-no_nonce'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const reply = await usual().respond(query);
    const files = { query, reply, root: pem(authority.root), untrusted: usual().signer.chain.map(pem).join('') };
    expect(
      openssl(['ts', '-verify', '-queryfile', '{query}', '-in', '{reply}', '-CAfile', '{root}', '-untrusted', '{untrusted}'], files),
    ).toContain('Verification: OK');
  });

  test.each([
    ['a policy that is not offered', timeStampRequest(imprint, { policy: '1.2.9' }), /unacceptedPolicy/],
    ['a hash that is not allowed', timeStampRequest({ hash: 'sha1', value: new Uint8Array(20) }, {}), /badAlg/],
    ['no request', Buffer.from('hello'), /badDataFormat/],
  ])('rejects %s', async (_name, request, why) => {
    expect(readTimeStampResponse(await usual().respond(request))).toMatchObject({ refusal: expect.stringMatching(why) as unknown });
  });

  test('takes another policy that it offers', async () => {
    const response = readTimeStampResponse(await usual().respond(timeStampRequest(imprint, { policy: '1.2.3.5' })));
    expect(
      checkToken('token' in response ? response.token : new Uint8Array(), { imprint, policy: '1.2.3.5', ...trust() }, new Date()).info
        .policy,
    ).toBe('1.2.3.5');
  });

  test('stops without a clock that it can rely on, and goes on with one', async () => {
    const one = await stamper('P-256');
    const request = timeStampRequest(imprint, {});
    clockFault = 'the clock is not synchronised';
    expect(readTimeStampResponse(await one.respond(request))).toMatchObject({
      refusal: expect.stringContaining('timeNotAvailable: the clock is not synchronised') as unknown,
    });
    clockFault = undefined;
    expect(readTimeStampResponse(await one.respond(request))).toHaveProperty('token');
    const late = new Date(Date.now() + 3_600_000);
    now = () => late;
    expect(readTimeStampResponse(await one.respond(request))).toHaveProperty('token');
    now = () => new Date();
    expect(readTimeStampResponse(await one.respond(request))).toMatchObject({
      refusal: expect.stringContaining('the clock was set back') as unknown,
    });
    now = () => new Date('2090-01-01T00:00:00Z');
    expect(readTimeStampResponse(await one.respond(request))).toMatchObject({
      refusal: expect.stringContaining('not valid now') as unknown,
    });
  });

  test('with ordering gives each token a later time, and no number twice', async () => {
    const ordered = await stamper('P-256', { ordering: true });
    const fixed = new Date();
    now = () => fixed;
    const tokens = await Promise.all(
      Array.from({ length: 50 }, async () => ordered.stamp(readTimeStampRequest(timeStampRequest(imprint, {})))),
    );
    const infos = tokens.map((token) => checkToken(token, { imprint, ...trust() }, fixed).info);
    expect(new Set(infos.map(({ time }) => time.getTime())).size).toBe(50);
    expect(new Set(infos.map(({ serialNumber }) => Buffer.from(serialNumber).toString('hex'))).size).toBe(50);
  });
});

describe('with ordering, the times', () => {
  const request = timeStampRequest(imprint, {});
  const timesOf = (answers: readonly Uint8Array[]): (number | string)[] =>
    answers.map(readTimeStampResponse).map((response) => {
      if (!('token' in response)) return response.refusal;
      return checkToken(response.token, { imprint, ...trust() }, now()).info.time.getTime();
    });

  test('go ahead of the clock by a second at most, however loose the accuracy is, and by no more than that', async () => {
    const fixed = new Date();
    now = () => fixed;
    for (const [accuracy, aheadMs] of [
      [{ seconds: 60, milliseconds: 0 }, 1000],
      [{ seconds: 0, milliseconds: 20 }, 20],
    ] as const) {
      const latest = { ms: fixed.getTime() + aheadMs - 2 };
      const one = await stamper('P-256', { ordering: true, accuracy }, { latest });
      const [first, second, third] = timesOf([await one.respond(request), await one.respond(request), await one.respond(request)]);
      expect([first, second]).toEqual([fixed.getTime() + aheadMs - 1, fixed.getTime() + aheadMs]);
      expect(third).toContain('timeNotAvailable: too many tokens to be ordered within the accuracy');
    }
  });

  test('go on where another authority with the same past has left off, as after a reload', async () => {
    const fixed = new Date();
    now = () => fixed;
    const latest = { ms: 0 };
    const [one, other] = [await stamper('P-256', { ordering: true }, { latest }), await stamper('P-256', { ordering: true }, { latest })];
    const times = timesOf([await one.respond(request), await other.respond(request), await one.respond(request)]);
    expect(times).toEqual([0, 1, 2].map((ms) => fixed.getTime() + ms));
  });
});

describe('what bounds signatures', () => {
  test('is asked for tokens alone, and may say no; whoever counts is told how each request ended', async () => {
    const outcomes: string[] = [];
    const one = await stamper('P-256', {}, { answered: (outcome) => outcomes.push(outcome) });
    let begun = 0;
    const within = async <T>(work: () => Promise<T>): Promise<T> => {
      begun += 1;
      if (begun > 1) throw new Error('no more');
      return work();
    };
    await one.respond(Buffer.from('hello'), within);
    await one.respond(timeStampRequest(imprint, { policy: '1.2.9' }), within);
    expect(begun).toBe(0);
    await one.respond(timeStampRequest(imprint, {}), within);
    await expect(one.respond(timeStampRequest(imprint, {}), within)).rejects.toThrow('no more');
    // The service's own requests are not bounded.
    await one.respond(timeStampRequest(imprint, {}));
    expect(outcomes).toEqual(['badDataFormat', 'unacceptedPolicy', 'granted', 'granted']);
  });
});

describe('a token', () => {
  const token = async (): Promise<Uint8Array> =>
    usual().stamp(readTimeStampRequest(timeStampRequest(imprint, { nonce: Buffer.of(1, 2, 3) })));
  const faultOf = (bytes: Uint8Array, over: Partial<ExpectedToken> = {}): string => {
    try {
      checkToken(bytes, { imprint, nonce: Buffer.of(1, 2, 3), ...trust(), ...over }, new Date());
      return 'holds';
    } catch (error) {
      if (error instanceof TokenInvalid) return error.message;
      throw error;
    }
  };

  test('holds for what it was asked for, and for nothing else', async () => {
    const bytes = await token();
    expect(faultOf(bytes)).toBe('holds');
    expect(faultOf(bytes, { imprint: { hash: 'sha256', value: randomBytes(32) } })).toContain('for other data');
    expect(faultOf(bytes, { nonce: Buffer.of(1, 2, 4) })).toContain('the nonce that was sent');
    expect(faultOf(bytes, { policy: '1.2.3.5' })).toContain('policy');
    expect(faultOf(bytes, { anchors: [] })).toContain('no path from a trust anchor');
    expect(faultOf(bytes, { anchors: [pathCertificate((await softwareAuthority('P-256')).root)] })).toContain(
      'no path from a trust anchor',
    );
  });

  test('with more certificates than any chain has is not taken apart', async () => {
    const bytes = await usual().stamp(readTimeStampRequest(timeStampRequest(imprint, { nonce: Buffer.of(1, 2, 3) })));
    const source = bytesInMemory(bytes);
    const read = readSignedData(source);
    const content = (read.content ?? []).map(({ start, end }) => bytesBetween(source, start, end));
    const withCertificates = (count: number, other = (index: number) => der.sequence(der.integer(index))): Buffer => {
      const certificates = Array.from({ length: count }, (_, index) => read.certificates[index] ?? other(index));
      return Buffer.concat(signedData({ ...read, content, certificates }).filter((piece) => piece instanceof Uint8Array));
    };
    expect(faultOf(withCertificates(50))).toBe('holds');
    expect(faultOf(withCertificates(51))).toBe('the time-stamp has more than 50 certificates');
    const heavy = strangersCertificate({ extensions: [alternativeNames(3000)] });
    expect(faultOf(withCertificates(6, () => heavy))).toBe('the time-stamp has certificates with more than 10000 elements together');
  });

  test('that was changed anywhere does not hold, or says the same', async () => {
    const bytes = await token();
    const { info } = checkToken(bytes, { imprint, ...trust() }, new Date());
    assert(
      property(integer({ min: 0, max: bytes.length - 1 }), constantFrom(0, 1, 0x30, 0x7f, 0x80, 0xff), (index, value) => {
        const changed = Uint8Array.from(bytes);
        changed[index] = value;
        // What no signature covers, such as the list of hashes beside it, may change; what the token says may not.
        try {
          expect(checkToken(changed, { imprint, ...trust() }, new Date()).info).toEqual(info);
        } catch (error) {
          if (!(error instanceof TokenInvalid)) throw error;
        }
      }),
      { numRuns: 1500 },
    );
  });
});

describe("OpenSSL's authority", () => {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-ts-'));
  afterAll(async () => {
    await threads.stop();
    rmSync(directory, { recursive: true, force: true });
  });
  const path = (name: string): string => join(directory, name);
  const run = (...args: string[]): Buffer => execFileSync('openssl', args, { stdio: ['ignore', 'pipe', 'ignore'] });

  function makeAuthority(extendedKeyUsage: string): void {
    run(
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-keyout',
      path('ca.key'),
      '-out',
      path('ca.pem'),
      '-subj',
      '/CN=TS root',
      '-days',
      '2',
    );
    run('req', '-newkey', 'rsa:2048', '-nodes', '-keyout', path('tsa.key'), '-out', path('tsa.csr'), '-subj', '/CN=TSA');
    writeFileSync(path('ext'), `extendedKeyUsage=${extendedKeyUsage}\nkeyUsage=critical,digitalSignature\n`);
    run(
      'x509',
      '-req',
      '-in',
      path('tsa.csr'),
      '-CA',
      path('ca.pem'),
      '-CAkey',
      path('ca.key'),
      '-CAcreateserial',
      '-days',
      '1',
      '-extfile',
      path('ext'),
      '-out',
      path('tsa.pem'),
    );
    writeFileSync(path('serial'), '01\n');
    writeFileSync(
      path('tsa.cnf'),
      `[tsa]\ndefault_tsa=here\n[here]\nserial=${path('serial')}\nsigner_cert=${path('tsa.pem')}\nsigner_key=${path('tsa.key')}\ncerts=${path('ca.pem')}\ndefault_policy=1.2.3.4\nother_policies=1.2.3.5\nsigner_digest=sha256\ndigests=sha256,sha512\naccuracy=secs:1\ness_cert_id_chain=no\ness_cert_id_alg=sha256\n`,
    );
  }
  const reply = (request: Uint8Array): Buffer => {
    writeFileSync(path('request'), request);
    run('ts', '-reply', '-config', path('tsa.cnf'), '-queryfile', path('request'), '-out', path('reply'));
    return readFileSync(path('reply'));
  };
  const threads = new WorkThreads();
  const client = new TimeStampClient(
    new OutgoingHttp({ clientHosts: [], privateNetworks: ['127.0.0.0/8'], timeoutSeconds: 1, connectionsMax: 4 }),
    threads,
  );
  const order = (authorities: TimeStampOrder['authorities'], over: Partial<TimeStampOrder> = {}): TimeStampOrder => ({
    authorities,
    nonce: true,
    trust: { anchors: [pathCertificate(new X509Certificate(readFileSync(path('ca.pem'))).raw)] },
    ...over,
  });
  const outcome = async (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => 'token',
      (error: unknown) => (error instanceof Refusal ? [error.code, error.message] : error),
    );

  test('is requested, and its tokens verify; one without the critical purpose is refused', async () => {
    makeAuthority('critical,timeStamping');
    expect(existsSync(path('tsa.pem'))).toBe(true);
    const url = await served(async (request) => Promise.resolve(reply(request)));
    const checked = await client.stamp(imprint, order([url], { policy: '1.2.3.5' }));
    expect(checked.info.policy).toBe('1.2.3.5');
    expect((await client.stamp(imprint, order([url], { nonce: false }))).info.nonce).toBeUndefined();
    expect((await client.stamp(imprint, order([url], { trust: { anchors: [], anyRoot: true } }))).path.path.length).toBe(1);
    expect(JSON.stringify(await outcome(client.stamp(imprint, order([url], { trust: { anchors: [] } }))))).toContain(
      'no path from a trust anchor',
    );
    expect(JSON.stringify(await outcome(client.stamp(imprint, order([url], { policy: '1.2.9' }))))).toContain('unacceptedPolicy');
  });

  test('fails in every way, and each failure has its exact code', async () => {
    makeAuthority('critical,timeStamping');
    const good = await served(async (request) => Promise.resolve(reply(request)));
    const at = async (answer: (request: Buffer) => Promise<Uint8Array | number>): Promise<unknown> => {
      const url = await served(answer);
      return outcome(client.stamp(imprint, order([url])));
    };
    const codes = [
      await at(async () => Promise.resolve(500)),
      await at(async () => new Promise(() => undefined)),
      await at(async () => Promise.resolve(Buffer.from('garbage'))),
      await at(async () => Promise.resolve(Buffer.alloc(300 * 1024))),
      await at(async () => Promise.resolve(reply(timeStampRequest(imprint, { nonce: Buffer.of(9) })))),
      await at(async () => Promise.resolve(reply(timeStampRequest({ hash: 'sha256', value: randomBytes(32) }, { nonce: Buffer.of(9) })))),
      await at(async () => Promise.resolve(Buffer.from(der.sequence(der.sequence(der.integer(2)))))),
    ];
    expect(codes.map((code) => (code as string[])[0])).toEqual([
      'TIMESTAMP_UNAVAILABLE',
      'TIMESTAMP_UNAVAILABLE',
      'TIMESTAMP_INVALID',
      'TIMESTAMP_UNAVAILABLE',
      'TIMESTAMP_INVALID',
      'TIMESTAMP_INVALID',
      'TIMESTAMP_UNAVAILABLE',
    ]);
    const asked: string[] = [];
    const bad = await served(async () => {
      asked.push('bad');
      return Promise.resolve(503);
    });
    expect(await outcome(client.stamp(imprint, order([bad, good])))).toBe('token');
    await outcome(client.stamp(imprint, order([bad], { recovery: { intervalSeconds: 0.01, maxAttempts: 3 } })));
    expect(asked.length).toBe(4);
  });
});
