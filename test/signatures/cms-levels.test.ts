import { createPrivateKey, createPublicKey, sign, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { pathCertificate, type PathCertificate } from '../../src/certificates/path/path-certificate.ts';
import { parseCertificate } from '../../src/certificates/x509.ts';
import { OutgoingHttp } from '../../src/outgoing/outgoing-http.ts';
import { Refusal } from '../../src/result-codes.ts';
import { RevocationSources, type OwnAuthority } from '../../src/revocation/revocation-data.ts';
import { completeAtLevel } from '../../src/signatures/cms/raise-level.ts';
import type { LevelOrder } from '../../src/signatures/level-order.ts';
import { cms } from '../../src/signatures/threaded-formats.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { TimeStampAuthority } from '../../src/timestamp/time-stamp-authority.ts';
import { TimeStampClient } from '../../src/timestamp/time-stamp-client.ts';
import { ScratchAuthority, type CertificateFiles } from '../support/scratch-authority.ts';
import { cmsParametersOf, documentOf, joined, opensslVerifies, valueOf, type SoftwareSigner } from './software-signer.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-levels-'));
const threads = new WorkThreads();
afterAll(async () => {
  await threads.stop();
  rmSync(directory, { recursive: true, force: true });
});

const root = new ScratchAuthority(directory, 'Root');
const issuing = new ScratchAuthority(directory, 'Issuing', { parent: root });
const person = issuing.issue('Person', { extendedKeyUsage: '' });
const stamper = root.issue('Stamper', { extendedKeyUsage: 'critical,timeStamping' });
const derOf = ({ certificate }: Pick<CertificateFiles, 'certificate'>): Uint8Array =>
  new Uint8Array(new X509Certificate(readFileSync(certificate)).raw);
const read = (files: Pick<CertificateFiles, 'certificate'>): PathCertificate => pathCertificate(derOf(files));

function signerOf(files: CertificateFiles): SoftwareSigner {
  const privateKey = createPrivateKey(readFileSync(files.key));
  const certificate = parseCertificate(derOf(files));
  const publicKey = createPublicKey({ key: Buffer.from(certificate.subjectPublicKeyInfo), format: 'der', type: 'spki' });
  const issuers = [derOf(issuing), derOf(root)];
  return {
    privateKey,
    pem: readFileSync(root.certificate, 'latin1'),
    certificate,
    publicKey,
    issuers,
    algorithm: { scheme: 'ECDSA', hash: 'sha256' },
  };
}

const stampKey = createPrivateKey(readFileSync(stamper.key));
const authority = new TimeStampAuthority(
  {
    certificate: parseCertificate(derOf(stamper)),
    chain: [derOf(stamper), derOf(root)],
    algorithm: { scheme: 'ECDSA', hash: 'sha256' },
    sign: async (bytes) => Promise.resolve(sign('sha256', bytes, stampKey)),
  },
  {
    policy: '1.2.3.4',
    otherPolicies: [],
    hashes: new Set(['sha256', 'sha384', 'sha512']),
    accuracy: { seconds: 1, milliseconds: 0 },
    ordering: false,
  },
  { now: () => new Date(), fault: () => undefined },
);
const http = new OutgoingHttp({ clientHosts: [], privateNetworks: [], timeoutSeconds: 1, connectionsMax: 1 });
const client = new TimeStampClient(http);
const pemToDer = (pem: string): Buffer => Buffer.from(pem.replaceAll(/-----[A-Z0-9 ]+-----|\s/g, ''), 'base64');
const ownOf = (one: ScratchAuthority): OwnAuthority => ({
  crl: async () => Promise.resolve(pemToDer(one.revocationList())),
  ocspAnswer: async (request) => Promise.resolve(one.ocspAnswer(request)),
});
const authorities = new Map([root, issuing].map((one) => [read(one).subject.key, ownOf(one)]));

function orderOf(level: LevelOrder['level'], choice: 'OCSP' | 'CRL' | 'BOTH' = 'OCSP'): LevelOrder {
  const wanted = { choice, ocsp: { kind: 'CERTIFICATE' }, crl: { kind: 'CERTIFICATE' } } as const;
  return {
    level,
    totalSeconds: 60,
    allowSha1: false,
    stamp: async (imprint) => client.stamp(imprint, { authorities: [authority], nonce: true, trust: { anchors: [read(root)] } }),
    imprintHash: 'sha256',
    sources: new RevocationSources(http, (issuer) => authorities.get(issuer.subject.key)),
    ofSigner: wanted,
    ofAuthorities: wanted,
    now: () => new Date(),
  };
}

async function made(order: LevelOrder, detached: boolean, files = person, content = Buffer.from('content')): Promise<Buffer> {
  const signer = signerOf(files);
  const document = documentOf(content);
  const prepared = await cms.prepare(
    { documents: [document], parameters: [cmsParametersOf(signer, { detached })], signer, moment: { now: new Date() } },
    threads,
  );
  const values = prepared.map((one) => valueOf(signer, one));
  const [evidence] = await completeAtLevel(cms, { prepared, values, signer, documents: [document] }, order, threads);
  return joined(evidence?.content ?? []);
}

describe('a CAdES signature', () => {
  test.each(
    (['T', 'LT', 'LTA'] as const).flatMap((level) =>
      [true, false].flatMap((detached) => (['OCSP', 'CRL', 'BOTH'] as const).map((choice) => [level, detached, choice] as const)),
    ),
  )('of level %s, detached %s, by %s, holds for OpenSSL', async (level, detached, choice) => {
    const content = Buffer.from('content');
    const bytes = await made(orderOf(level, choice), detached);
    expect(opensslVerifies(bytes, [signerOf(person)], detached ? content : undefined)).toContain('successful');
  });

  test('of a revoked certificate is refused at LT, and one whose status nobody tells as well', async () => {
    const revoked = issuing.issue('Revoked', { extendedKeyUsage: '' });
    issuing.revoke(revoked);
    const code = async (work: Promise<unknown>): Promise<unknown> =>
      work.then(
        () => 'made',
        (error: unknown) => (error instanceof Refusal ? error.code : error),
      );
    expect(await code(made(orderOf('LT'), true, revoked))).toBe('CERTIFICATE_STATUS_REFUSED');
    expect(await code(made(orderOf('T'), true, revoked))).toBe('made');
    const nobody = { ...orderOf('LT'), sources: new RevocationSources(http) };
    expect(await code(made(nobody, true))).toBe('REVOCATION_UNAVAILABLE');
  });
});
