import { createPrivateKey, randomBytes, sign, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { pathCertificate, type PathCertificate } from '../../src/x509/path/path-certificate.ts';
import { readCertificate } from '../../src/x509/certificate.ts';
import { OutgoingHttp } from '../../src/outgoing/outgoing-http.ts';
import { Refusal } from '../../src/result-codes.ts';
import { readTimeStampRequest, timeStampRequest, type MessageImprint } from '../../src/timestamp/request.ts';
import { rejection } from '../../src/timestamp/response.ts';
import { TimeStampAuthority } from '../../src/timestamp/time-stamp-authority.ts';
import { TimeStampClient, type TimeStampOrder } from '../../src/timestamp/time-stamp-client.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { openssl } from '../support/openssl.ts';
import { AnsweringServer, type Answering } from '../support/answering-server.ts';
import { hourMs, ScratchAuthority, type CertificateFiles, type IssueOptions } from '../support/scratch-authority.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-tsa-faults-'));
const servers: AnsweringServer[] = [];
afterAll(async () => {
  await threads.stop();
  for (const server of servers) server.stop();
  rmSync(directory, { recursive: true, force: true });
});

const root = new ScratchAuthority(directory, 'Root');
const stranger = new ScratchAuthority(directory, 'Stranger');
const derOf = ({ certificate }: Pick<CertificateFiles, 'certificate'>): Uint8Array =>
  new Uint8Array(new X509Certificate(readFileSync(certificate)).raw);
const read = (files: Pick<CertificateFiles, 'certificate'>): PathCertificate => pathCertificate(derOf(files));

interface Oddities {
  readonly issuer?: ScratchAuthority;
  /** Gets its tokens' signature values. */
  readonly spoil?: (value: Buffer) => Buffer;
  readonly hash?: 'sha1' | 'sha256';
  /** Milliseconds that its clock is off. */
  readonly offMs?: number;
  /** Of the certificate; absent: one that the issuer makes as the options say. */
  readonly files?: CertificateFiles;
}

/** An authority in this process, with a certificate as the options say. */
function authorityOf(options: IssueOptions = {}, oddities: Oddities = {}): TimeStampAuthority {
  const { issuer = root, spoil = (value) => value, hash = 'sha256', offMs = 0 } = oddities;
  const { files = issuer.issue('Stamper', { extendedKeyUsage: 'critical,timeStamping', ...options }) } = oddities;
  const key = createPrivateKey(readFileSync(files.key));
  const certificate = readCertificate(derOf(files));
  const hashes = new Set(['sha256', 'sha384', 'sha512'] as const);
  return new TimeStampAuthority(
    {
      certificate,
      chain: oddities.files === undefined ? [derOf(files), derOf(issuer)] : [derOf(files)],
      algorithm: { scheme: key.asymmetricKeyType === 'rsa' ? 'RSA_PKCS1' : 'ECDSA', hash },
      sign: async (bytes) => Promise.resolve(spoil(sign(hash, bytes, key))),
    },
    { policy: '1.2.3.4', otherPolicies: ['1.2.3.5'], hashes, accuracy: { seconds: 1, milliseconds: 0 }, ordering: false },
    // It tells a time within the certificate's validity, whatever the clock says.
    { now: () => new Date(Math.min(Date.now() + offMs, certificate.notAfter.getTime())), fault: () => undefined },
  );
}

const good = authorityOf();
const imprint: MessageImprint = { hash: 'sha256', value: randomBytes(32) };
const http = new OutgoingHttp({ clientHosts: [], privateNetworks: ['127.0.0.0/8'], timeoutSeconds: 1, connectionsMax: 8 });
const threads = new WorkThreads();
const client = new TimeStampClient(http, threads);

const serving = async (answering: Answering): Promise<AnsweringServer> => {
  const server = await AnsweringServer.start(answering);
  servers.push(server);
  return server;
};
const outcomeOf = async (authorities: readonly URL[], over: Partial<TimeStampOrder> = {}): Promise<string> => {
  try {
    await client.stamp(imprint, { authorities, nonce: true, trust: { anchors: [read(root)] }, ...over });
    return 'a token';
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return `${error.code}: ${error.message}`;
  }
};

/** What was sent, with something of it changed. */
const altered =
  (change: { imprint?: MessageImprint; policy?: string; nonce?: Uint8Array | undefined }): Answering =>
  async (request) => {
    const asked = readTimeStampRequest(request);
    return good.respond(timeStampRequest(change.imprint ?? asked.imprint, { policy: asked.policy, nonce: asked.nonce, ...change }));
  };
async function* endless(): AsyncGenerator<Uint8Array> {
  for (;;) yield await Promise.resolve(Buffer.alloc(16 * 1024, 0x30));
}
async function* drip(): AsyncGenerator<Uint8Array> {
  for (;;) {
    yield Buffer.of(0x30);
    await delay(50);
  }
}

const faults: readonly (readonly [string, RegExp, Answering])[] = [
  ['answers never', /^TIMESTAMP_UNAVAILABLE: .*no answer within 1 s/, async () => new Promise(() => undefined)],
  ['answers 500', /^TIMESTAMP_UNAVAILABLE/, () => 500],
  ['answers 404', /^TIMESTAMP_UNAVAILABLE/, () => 404],
  ['leads elsewhere', /^TIMESTAMP_UNAVAILABLE/, () => 302],
  ['refuses', /^TIMESTAMP_UNAVAILABLE: .*not today/, () => rejection({ failure: 'systemFailure', message: 'not today' })],
  ['answers without end', /^TIMESTAMP_UNAVAILABLE/, () => endless()],
  ['answers an octet at a time', /^TIMESTAMP_UNAVAILABLE: .*no answer within 1 s/, () => drip()],
  ['answers garbage', /^TIMESTAMP_INVALID/, () => Buffer.from('garbage')],
  ['answers nothing', /^TIMESTAMP_INVALID/, () => Buffer.alloc(0)],
  ['stamps something else', /^TIMESTAMP_INVALID: .*for other data/, altered({ imprint: { hash: 'sha256', value: randomBytes(32) } })],
  ['stamps by another hash', /^TIMESTAMP_INVALID: .*for other data/, altered({ imprint: { hash: 'sha512', value: randomBytes(64) } })],
  ['has another nonce', /^TIMESTAMP_INVALID: .*nonce/, altered({ nonce: Buffer.of(7) })],
  ['has no nonce', /^TIMESTAMP_INVALID: .*nonce/, altered({ nonce: undefined })],
];

describe('an authority that', () => {
  test.each(faults)('%s', async (_, expected, answering) => {
    const server = await serving(answering);
    expect(await outcomeOf([new URL(server.url)])).toMatch(expected);
    expect(server.requests).toBe(1);
  });

  test('has another policy than was asked for', async () => {
    const server = await serving(altered({ policy: '1.2.3.4' }));
    expect(await outcomeOf([new URL(server.url)], { policy: '1.2.3.5' })).toMatch(/^TIMESTAMP_INVALID: .*policy/);
  });

  test('is not there', async () => {
    const server = await serving(() => 200);
    const address = new URL(server.url);
    server.stop();
    expect(await outcomeOf([address])).toMatch(/^TIMESTAMP_UNAVAILABLE: .*no connection/);
  });

  const past = { from: new Date(Date.now() - 3 * hourMs), until: new Date(Date.now() - 2 * hourMs) };
  test.each([
    [
      'signs wrongly',
      /verif|value|hold/,
      () => authorityOf({}, { spoil: (value) => Buffer.concat([value.subarray(0, -1), Buffer.of((value.at(-1) ?? 0) ^ 1)]) }),
    ],
    ['has another root', /no path from a trust anchor/, () => authorityOf({}, { issuer: stranger })],
    ['may do something else too', /purpose/, () => authorityOf({ extendedKeyUsage: 'critical,timeStamping,clientAuth' })],
    ['has a purpose that is not critical', /purpose/, () => authorityOf({ extendedKeyUsage: 'timeStamping' })],
    ['has another purpose', /purpose/, () => authorityOf({ extendedKeyUsage: 'critical,emailProtection' })],
    ['signs with SHA-1', /depends on SHA-1: its signature/, () => authorityOf({}, { hash: 'sha1' })],
    ['has a certificate with SHA-1', /depends on SHA-1: a certificate of its authority/, () => authorityOf({ hash: 'sha1' })],
    ['has a short key', /RSA key of 1024 bits/, () => authorityOf({ newKey: ['-newkey', 'rsa:1024'] })],
    ['has a clock of the past', /time before the request/, () => authorityOf({}, { offMs: -310_000 })],
    ['has a clock of the future', /time in the future/, () => authorityOf({}, { offMs: 310_000 })],
  ] as const)('%s', async (_, reason, make) => {
    const authority = make();
    const server = await serving(async (request) => authority.respond(request));
    const outcome = await outcomeOf([new URL(server.url)]);
    expect(outcome).toMatch(/^TIMESTAMP_INVALID/);
    expect(outcome).toMatch(reason);
  });

  test.each([
    ['signs with SHA-1', { allowSha1: true }, () => authorityOf({}, { hash: 'sha1' })],
    ['has a certificate with SHA-1', { allowSha1: true }, () => authorityOf({ hash: 'sha1' })],
    ['is four minutes behind', {}, () => authorityOf({}, { offMs: -240_000 })],
    ['is behind by less than its accuracy says', {}, () => authorityOf({}, { offMs: -300_500 })],
  ] as const)('%s is taken where that is allowed: %o', async (_, allowed, make) => {
    const authority = make();
    const server = await serving(async (request) => authority.respond(request));
    expect(await outcomeOf([new URL(server.url)], { trust: { anchors: [read(root)], ...allowed } })).toBe('a token');
  });

  describe('where any root will do', () => {
    const selfSigned = (days: string): CertificateFiles => {
      const [certificate, key] = [join(directory, `alone-${days}.pem`), join(directory, `alone-${days}.key`)];
      openssl([
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=Alone'],
        ...['-days', days, '-addext', 'basicConstraints=critical,CA:FALSE', '-addext', 'extendedKeyUsage=critical,timeStamping'],
        ...['-keyout', key, '-out', certificate],
      ]);
      return { certificate, key };
    };
    const below = new ScratchAuthority(directory, 'Below', { parent: stranger });
    test.each([
      ['leaves its root out', () => authorityOf({}, { issuer: stranger })],
      ['leaves its issuer out', () => authorityOf({}, { issuer: below })],
      ['is its own root', () => authorityOf({}, { files: selfSigned('2') })],
    ])('one that %s is taken, and only there', async (_, make) => {
      const authority = make();
      const server = await serving(async (request) => authority.respond(request));
      const outcome = async (anyRoot: boolean): Promise<string> =>
        outcomeOf([new URL(server.url)], { trust: { anchors: [read(root)], anyRoot } });
      expect(await outcome(true)).toBe('a token');
      expect(await outcome(false)).toMatch(/^TIMESTAMP_INVALID: .*no path from a trust anchor; add its root, .* to timeStamps\.anchors/);
    });
  });

  test('has a chain that has ended', async () => {
    const ended = new ScratchAuthority(directory, 'Ended', {
      existing: root.issue('Ended', { isAuthority: true, extendedKeyUsage: '', ...past }),
    });
    const authority = authorityOf({}, { issuer: ended });
    const server = await serving(async (request) => authority.respond(request));
    expect(await outcomeOf([new URL(server.url)])).toMatch(/^TIMESTAMP_INVALID: .*certificate of the time-stamp authority/);
  });
});

describe('attempts', () => {
  test('walk over the list each time, and the last failure decides the code', async () => {
    const [refusing, garbling] = [await serving(() => 500), await serving(() => Buffer.from('garbage'))];
    const list = [new URL(refusing.url), new URL(garbling.url)];
    expect(await outcomeOf(list)).toMatch(/^TIMESTAMP_INVALID/);
    expect(await outcomeOf(list.toReversed())).toMatch(/^TIMESTAMP_UNAVAILABLE/);
    expect([refusing.requests, garbling.requests]).toEqual([2, 2]);
    expect(await outcomeOf(list, { recovery: { intervalSeconds: 0, maxAttempts: 3 } })).toMatch(/^TIMESTAMP_INVALID/);
    expect([refusing.requests, garbling.requests]).toEqual([5, 5]);
  });

  test('have a pause between them, also where none is asked for', async () => {
    const server = await serving(() => 500);
    const begun = performance.now();
    expect(await outcomeOf([new URL(server.url)], { recovery: { intervalSeconds: 0, maxAttempts: 3 } })).toMatch(/^TIMESTAMP_UNAVAILABLE/);
    expect(server.requests).toBe(3);
    // Two pauses of a quarter of a second; timers may be a little early.
    expect(performance.now() - begun).toBeGreaterThan(480);
  });

  test('end with the first token', async () => {
    const broken = await serving(() => 500);
    const working = await serving(async (request) => (working.requests < 2 ? 503 : good.respond(request)));
    const list = [new URL(broken.url), new URL(working.url)];
    expect(await outcomeOf(list, { recovery: { intervalSeconds: 0.01, maxAttempts: 9 } })).toBe('a token');
    expect([broken.requests, working.requests]).toEqual([2, 2]);
  });

  test('end with the time of the request, in the middle of a pause or of an exchange', async () => {
    const server = await serving(() => 500);
    const begun = performance.now();
    const order = { recovery: { intervalSeconds: 3600, maxAttempts: 1000 }, signal: AbortSignal.timeout(300) };
    expect(await outcomeOf([new URL(server.url)], order)).toMatch(/^TIMESTAMP_UNAVAILABLE/);
    expect(server.requests).toBe(1);
    server.answering = async () => new Promise(() => undefined);
    expect(await outcomeOf([new URL(server.url)], { signal: AbortSignal.timeout(200) })).toMatch(/^TIMESTAMP_UNAVAILABLE/);
    // Ten times what it should be.
    expect(performance.now() - begun).toBeLessThan(5000);
  });
});
