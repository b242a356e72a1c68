import { createPrivateKey, createPublicKey, sign, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { bytesBetween, bytesInMemory } from '../../src/asn1/byte-source.ts';
import * as der from '../../src/asn1/der.ts';
import { readSignedData } from '../../src/cms/read-signed-data.ts';
import { signedData } from '../../src/cms/signed-data.ts';
import { pathCertificate, type PathCertificate } from '../../src/x509/path/path-certificate.ts';
import { readCertificate } from '../../src/x509/certificate.ts';
import { OutgoingHttp } from '../../src/outgoing/outgoing-http.ts';
import { Refusal } from '../../src/result-codes.ts';
import { RevocationSources, type OwnAuthority } from '../../src/revocation/revocation-data.ts';
import type { AskedLevel } from '../../src/signatures/levels/asked-level.ts';
import type { LevelOrder } from '../../src/signatures/levels/level-order.ts';
import { alwaysVouched } from '../../src/signatures/levels/vouching.ts';
import { prepareSignatures } from '../../src/signatures/prepare-signatures.ts';
import { completeSignatures, evidenceNotices, type SignatureEvidence } from '../../src/signatures/signatures.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { TimeStampAuthority } from '../../src/timestamp/time-stamp-authority.ts';
import { TimeStampClient } from '../../src/timestamp/time-stamp-client.ts';
import { ScratchAuthority, type CertificateFiles } from '../support/scratch-authority.ts';
import { documentOf, joined, opensslVerifies, planOf, valueOf, type SoftwareSigner } from './software-signer.ts';

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
  const certificate = readCertificate(derOf(files));
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

function authorityOf(files: CertificateFiles, above: readonly Pick<CertificateFiles, 'certificate'>[]): TimeStampAuthority {
  const key = createPrivateKey(readFileSync(files.key));
  return new TimeStampAuthority(
    {
      certificate: readCertificate(derOf(files)),
      chain: [files, ...above].map(derOf),
      algorithm: { scheme: 'ECDSA', hash: 'sha256' },
      sign: async (bytes) => Promise.resolve(sign('sha256', bytes, key)),
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
}
const authority = authorityOf(stamper, [root]);
const http = new OutgoingHttp({ clientHosts: [], privateNetworks: [], timeoutSeconds: 1, connectionsMax: 1 });
const client = new TimeStampClient(http, threads);
const pemToDer = (pem: string): Buffer => Buffer.from(pem.replaceAll(/-----[A-Z0-9 ]+-----|\s/g, ''), 'base64');
const ownOf = (one: ScratchAuthority): OwnAuthority => ({
  crl: async () => Promise.resolve(pemToDer(one.revocationList())),
  ocspAnswer: async (request) => Promise.resolve(one.ocspAnswer(request)),
});
const authorities = new Map([root, issuing].map((one) => [read(one).subjectName.key, ownOf(one)]));

function orderOf(level: LevelOrder['level'], choice: 'OCSP' | 'CRL' | 'BOTH' = 'OCSP'): LevelOrder {
  const wanted = { choice, ocsp: { kind: 'CERTIFICATE' }, crl: { kind: 'CERTIFICATE' } } as const;
  return {
    level,
    totalSeconds: 60,
    allowSha1: false,
    stamp: async (imprint) => client.stamp(imprint, { authorities: [authority], nonce: true, trust: { anchors: [read(root)] } }),
    imprintHash: 'sha256',
    threads,
    sources: new RevocationSources(http, threads, (issuer) => authorities.get(issuer.subjectName.key)),
    ofSigner: wanted,
    ofAuthorities: wanted,
    vouches: { forSigner: alwaysVouched, forOthers: alwaysVouched },
    now: () => new Date(),
  };
}

/** What a request says is in the order already. */
const status = { ocsp: { source: 'CERTIFICATE' }, crl: { source: 'CERTIFICATE' } } as const;
const asked: AskedLevel = {
  level: 'LTA',
  timeStamp: { addresses: { source: 'SERVER' }, hash: 'sha256', nonce: true },
  ofSigner: status,
  ofAuthorities: status,
};

async function made(
  order: LevelOrder,
  detached: boolean,
  files = person,
  { content = Buffer.from('content'), coSigning = 'NEVER' }: { content?: Buffer; coSigning?: 'NEVER' | 'CHECKED' } = {},
): Promise<Buffer> {
  return joined((await madeEvidence(order, detached, files, { content, coSigning })).evidence.content);
}

async function madeEvidence(
  order: LevelOrder,
  detached: boolean,
  files = person,
  { content = Buffer.from('content'), coSigning = 'NEVER' }: { content?: Buffer; coSigning?: 'NEVER' | 'CHECKED' } = {},
): Promise<SignatureEvidence> {
  const signer = signerOf(files);
  const plan = { ...planOf(signer, { detached, coSigning }), level: asked };
  const signatures = await prepareSignatures(plan, [documentOf(content)], threads);
  const values = new Map(signatures.prepared.map((one) => [one.id, valueOf(signer, one)]));
  const [one] = await completeSignatures(signatures, values, { threads, levels: { order: () => order } });
  if (one === undefined) throw new Error('a document has its signature');
  return one;
}

const code = async (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'made',
    (error: unknown) => (error instanceof Refusal ? error.code : error),
  );

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

  test.each((['T', 'LT', 'LTA'] as const).flatMap((first) => (['T', 'LT', 'LTA'] as const).map((second) => [first, second] as const)))(
    'of level %s is co-signed at level %s by the same key, whatever stands there already',
    async (first, second) => {
      const content = await made(orderOf(first), false);
      const bytes = await made(orderOf(second), false, person, { content, coSigning: 'CHECKED' });
      expect(opensslVerifies(bytes, [signerOf(person)])).toContain('successful');
      expect(readSignedData(bytesInMemory(bytes)).signerInfos).toHaveLength(2);
    },
  );

  test.each(['T', 'LT', 'LTA'] as const)(
    'beside one with revocation information that nobody reads here reaches level %s',
    async (level) => {
      const bytes = await made({ ...orderOf('T') }, false);
      const source = bytesInMemory(bytes);
      const parts = readSignedData(source);
      // SCVP (RFC 5940 §2.3), and a CRL that is none.
      const foreign = [
        der.implicitConstructed(1, der.concat(der.oid('1.3.6.1.5.5.7.16.4'), der.nullValue())),
        der.sequence(der.nullValue()),
        // Other revocation information that is cut, and one in BER of indefinite length.
        Buffer.from('a1023005', 'hex'),
        Buffer.from('a18030800603551d1400000000', 'hex'),
      ];
      const pieces = signedData({
        ...parts,
        revocationData: foreign,
        content: parts.content?.map(({ start, end }) => bytesBetween(source, start, end)),
      });
      const content = joined(pieces);
      const coSigned = await made(orderOf(level), false, person, { content, coSigning: 'CHECKED' });
      expect(readSignedData(bytesInMemory(coSigned)).signerInfos).toHaveLength(2);
    },
  );

  test('whose time-stamp is of a time outside the validity of the certificate is refused', async () => {
    const late = issuing.issue('Late', { extendedKeyUsage: '', from: new Date(Date.now() + 60_000) });
    const ended = issuing.issue('Ended', { extendedKeyUsage: '', until: new Date(Date.now() - 60_000) });
    for (const files of [late, ended])
      for (const level of ['T', 'LTA'] as const)
        await expect(made(orderOf(level), true, files)).rejects.toMatchObject({
          code: 'TIMESTAMP_INVALID',
          message: expect.stringContaining('outside the validity of the signer certificate') as unknown,
        });
  });

  test('at LT needs what is known of the chain of the time-stamp authority alone, where any root will do', async () => {
    const stampedBy = (chain: readonly Pick<CertificateFiles, 'certificate'>[], files: CertificateFiles): LevelOrder => {
      const order = { authorities: [authorityOf(files, chain)], nonce: true, trust: { anchors: [], anyRoot: true } };
      return { ...orderOf('LT'), stamp: async (imprint) => client.stamp(imprint, order) };
    };
    const below = issuing.issue('Below', { extendedKeyUsage: 'critical,timeStamping' });
    // The token holds the certificate of its signer and that of the CA above it.
    const bytes = await made(stampedBy([issuing, root], below), true);
    expect(opensslVerifies(bytes, [signerOf(person)], Buffer.from('content'))).toContain('successful');
    expect(await code(made(stampedBy([root], stamper), true))).toBe('REVOCATION_UNAVAILABLE');
    expect(await code(made({ ...stampedBy([root], stamper), level: 'T' }, true))).toBe('made');
  });

  test('of a revoked certificate is refused at LT, and one whose status nobody tells as well', async () => {
    const revoked = issuing.issue('Revoked', { extendedKeyUsage: '' });
    issuing.revoke(revoked);
    expect(await code(made(orderOf('LT'), true, revoked))).toBe('CERTIFICATE_STATUS_REFUSED');
    expect(await code(made(orderOf('T'), true, revoked))).toBe('made');
    const nobody = { ...orderOf('LT'), sources: new RevocationSources(http, threads) };
    expect(await code(made(nobody, true))).toBe('REVOCATION_UNAVAILABLE');
  });

  describe('with tolerance', () => {
    const revoked = issuing.issue('Tolerated', { extendedKeyUsage: '' });
    issuing.revoke(revoked);
    const tolerating = (level: LevelOrder['level'], tolerance: LevelOrder['tolerance'], over: Partial<LevelOrder> = {}): LevelOrder => ({
      ...orderOf(level),
      tolerance,
      ...over,
    });
    /** Nobody tells the status of any certificate. */
    const nobody = new RevocationSources(http, threads);

    test.each([
      ['LT', 'signed at level T: '],
      ['LTA', 'signed at level T: '],
    ] as const)('of missing data is made at level T where %s was asked for, and says so', async (level, words) => {
      const one = await madeEvidence(tolerating(level, { ofSigner: 'VALID', cancelOnError: false }, { sources: nobody }), true);
      expect(one.notice).toContain(words);
      for (const name of ['signer certificate', 'authority above the signer certificate', 'certificate of the time-stamp authority'])
        expect(one.notice).toContain(`revocation data of the ${name} is unavailable (no OCSP responder is known for the certificate)`);
      const bytes = joined(one.evidence.content);
      expect(opensslVerifies(bytes, [signerOf(person)], Buffer.from('content'))).toContain('successful');
      expect(bytes.includes(Buffer.from(der.oid('0.4.0.1733.2.4')))).toBe(false);
    });

    test.each(['LT', 'LTA'] as const)('of a revoked signer is made at level %s, and says so', async (level) => {
      for (const cancelOnError of [true, false]) {
        const one = await madeEvidence(tolerating(level, { ofSigner: 'REVOKED', cancelOnError }), true, revoked);
        expect(one.notice).toMatch(new RegExp(`^signed at level ${level}: the signer certificate was revoked at 2`));
        const strict = tolerating(level, { ofSigner: 'UNDETERMINED', cancelOnError });
        expect(await code(made(strict, true, revoked))).toBe('CERTIFICATE_STATUS_REFUSED');
      }
    });

    test('of a revoked signer is no tolerance of a revoked authority', async () => {
      const stampedBy = root.issue('Revoked stamper', { extendedKeyUsage: 'critical,timeStamping' });
      root.revoke(stampedBy);
      const trust = { anchors: [read(root)] };
      const order = { authorities: [authorityOf(stampedBy, [root])], nonce: true, trust };
      const stamp: LevelOrder['stamp'] = async (imprint) => client.stamp(imprint, order);
      const tolerance = { ofSigner: 'REVOKED', cancelOnError: false } as const;
      await expect(made(tolerating('LT', tolerance, { stamp }), true)).rejects.toMatchObject({
        code: 'CERTIFICATE_STATUS_REFUSED',
        message: expect.stringMatching(/^certificate of the time-stamp authority: revoked at/) as unknown,
      });
    });

    test.each(['LT', 'LTA'] as const)('of missing data reaches level %s where the file has the data already', async (level) => {
      const content = await made(orderOf('LT'), false);
      const order = tolerating(level, { ofSigner: 'VALID', cancelOnError: false }, { sources: nobody });
      const one = await madeEvidence(order, false, person, { content, coSigning: 'CHECKED' });
      expect(one.notice).toContain(`signed at level ${level}: revocation data of the signer certificate is unavailable`);
      const strict = tolerating(level, { ofSigner: 'VALID', cancelOnError: true }, { sources: nobody });
      expect(await code(made(strict, false, person, { content, coSigning: 'CHECKED' }))).toBe('REVOCATION_UNAVAILABLE');
    });

    test('of nothing has no words', async () => {
      expect((await madeEvidence(tolerating('LTA', { ofSigner: 'REVOKED', cancelOnError: false }), true)).notice).toBeUndefined();
      expect((await madeEvidence(orderOf('LT'), true)).notice).toBeUndefined();
    });
  });
});

test('the notices of several signatures name their documents, and those of one do not', () => {
  const evidence = { content: [], mimeType: 'application/pdf', ending: '.pdf' };
  const of = (id: string, notice?: string): SignatureEvidence => ({ id, document: 0, evidence, notice });
  expect(evidenceNotices([of('a')])).toEqual([]);
  expect(evidenceNotices([of('a', 'words')])).toEqual(['words']);
  expect(evidenceNotices([of('a', 'words'), of('b'), of('c"', 'others'), of('d', 'words')])).toEqual([
    'documents "a", "d": words',
    'document "c\\"": others',
  ]);
});
