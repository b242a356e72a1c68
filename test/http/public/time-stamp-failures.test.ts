import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { SigningLimit } from '../../../src/certificates/ocsp/signing-limit.ts';
import { subjectName } from '../../../src/certificates/subject.ts';
import { readCertificate } from '../../../src/x509/certificate.ts';
import { createPublicServer } from '../../../src/http/public/public-listener.ts';
import { timeStamps } from '../../../src/http/public/time-stamps.ts';
import { createTimeStampCertificate } from '../../../src/timestamp/authority-certificate.ts';
import { timeStampRequest } from '../../../src/timestamp/request.ts';
import { readTimeStampResponse } from '../../../src/timestamp/response.ts';
import { TimeStampAuthority } from '../../../src/timestamp/time-stamp-authority.ts';
import type { TokenSigner } from '../../../src/timestamp/token-writer.ts';
import { TokenUnavailable } from '../../../src/token/token.ts';
import { signing, softwareAuthority, softwareKey } from '../../certificates/software-authority.ts';
import { recordingLog } from '../../support/silent-log.ts';

const request = timeStampRequest({ hash: 'sha256', value: createHash('sha256').digest() }, {});
const limits = { signaturesPerSecond: 1000, atOnceMax: 4, waitingMax: 100 };
const key = softwareKey('P-256');
let sign: TokenSigner['sign'];
let authority: TimeStampAuthority;
let server: Server | undefined;

beforeAll(async () => {
  const { issuer } = await softwareAuthority('P-256');
  const { notBefore, notAfter } = issuer.certificate;
  const name = subjectName({ country: 'FR', commonName: 'TSA' });
  const { subjectPublicKeyInfo } = key;
  const certificate = await createTimeStampCertificate(issuer, { name, subjectPublicKeyInfo, notBefore, notAfter, urls: {} });
  authority = new TimeStampAuthority(
    {
      certificate: readCertificate(certificate),
      chain: [certificate, ...issuer.chain],
      algorithm: { scheme: 'ECDSA', hash: 'sha256' },
      sign: async (bytes) => sign(bytes),
    },
    { policy: '1.2.3', otherPolicies: [], hashes: new Set(['sha256']), accuracy: { seconds: 1, milliseconds: 0 }, ordering: false },
    { now: () => new Date(), fault: () => undefined },
  );
});
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

const log = recordingLog();
const outcomes: string[] = [];

async function serve(limit: SigningLimit): Promise<() => Promise<Response>> {
  const pace = { requestsPerSecond: 10_000, ocspSignaturesPerSecond: 1, timeStampsPerSecond: 1 };
  const connections = { connectionsMax: 100, connectionsMaxPerAddress: 100, sharedAddresses: [], idleTimeoutSeconds: 10 };
  const handler = timeStamps({ authority: () => authority, limit, failed: (outcome) => outcomes.push(outcome), log });
  server = createPublicServer({ host: '127.0.0.1', port: 0, ...connections, ...pace }, [handler], { closed: () => undefined });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const headers = { 'Content-Type': 'application/timestamp-query' };
  return async () => fetch(`http://127.0.0.1:${port}/tsa`, { method: 'POST', headers, body: Buffer.from(request) });
}

const saidBy = async (answer: Response): Promise<string> => {
  const response = readTimeStampResponse(Buffer.from(await answer.arrayBuffer()));
  return 'token' in response ? 'granted' : response.refusal;
};

describe('an authority that cannot sign', () => {
  it('says systemFailure while the token is away, and gives tokens when it is back', async () => {
    const ask = await serve(new SigningLimit(limits));
    sign = async () => Promise.reject(new TokenUnavailable('the token is away'));
    const answer = await ask();
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/timestamp-reply']);
    expect(await saidBy(answer)).toBe('rejection: systemFailure: the authority cannot sign now');
    expect([outcomes.splice(0), log.lines]).toEqual([['systemFailure'], []]);
    sign = signing(key).sign;
    expect(await saidBy(await ask())).toBe('granted');
  });

  it('says the same for a defect, and the log has the reason', async () => {
    const ask = await serve(new SigningLimit(limits));
    sign = async () => Promise.reject(new Error('something broke'));
    expect(await saidBy(await ask())).toMatch(/^rejection: systemFailure/);
    expect(log.lines.splice(0)).toEqual(['a time-stamp could not be made {"reason":"something broke"}']);
  });

  it('answers 503 with Retry-After to more requests than may wait, and goes on with those that do', async () => {
    const ask = await serve(new SigningLimit({ ...limits, atOnceMax: 1, waitingMax: 2 }));
    const gate = Promise.withResolvers<undefined>();
    sign = async (bytes) => {
      await gate.promise;
      return signing(key).sign(bytes);
    };
    outcomes.length = 0;
    const asked = Array.from({ length: 8 }, ask);
    // The refused ones are answered while the others wait.
    await expect.poll(() => outcomes.length, { timeout: 20_000 }).toBe(5);
    gate.resolve(undefined);
    const answers = await Promise.all(asked);
    expect(answers.map(({ status }) => status).toSorted((left, right) => left - right)).toEqual([200, 200, 200, 503, 503, 503, 503, 503]);
    expect(answers.filter(({ status }) => status === 503).every(({ headers }) => headers.get('retry-after') === '1')).toBe(true);
    expect(outcomes).toEqual(Array.from({ length: 5 }, () => 'tooMany'));
  });
});
