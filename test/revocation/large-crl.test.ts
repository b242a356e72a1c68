import { createServer } from 'node:http';
import { generateKeyPairSync, sign } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { afterAll, describe, expect, it, vi } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import { oids } from '../../src/asn1/object-identifiers.ts';
import { DerError } from '../../src/asn1/reader.ts';
import { signedCertificate, signedStructure } from '../../src/certificates/signed-certificate.ts';
import { extension } from '../../src/certificates/standard-extensions.ts';
import { subjectName } from '../../src/certificates/subject.ts';
import { OutgoingHttp } from '../../src/outgoing/outgoing-http.ts';
import { readCrl } from '../../src/revocation/crl.ts';
import { examineCrl, lookUpAhead, onLoopMaxBytes, readSentCrl } from '../../src/revocation/large-crl.ts';
import { RevocationSources } from '../../src/revocation/revocation-data.ts';
import { crlStatus, type CertificateStatus } from '../../src/revocation/status.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { pathCertificate, type PathCertificate } from '../../src/x509/path/path-certificate.ts';

const workThreads = new WorkThreads();
afterAll(async () => workThreads.stop());

const at = new Date('2026-06-01T00:00:00Z');
const [notBefore, notAfter] = [new Date('2026-01-01T00:00:00Z'), new Date('2027-01-01T00:00:00Z')];
const algorithm = der.sequence(der.oid(oids.ecdsaWithSHA256));
/** More than a thread is spared for. */
const many = Math.ceil(onLoopMaxBytes / 30);

/** An authority with a key of its own, and what it signs. */
function authority(commonName: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = subjectName({ country: 'FR', commonName });
  const signer = {
    ...{ name, subjectPublicKeyInfo: publicKey.export({ format: 'der', type: 'spki' }), signatureAlgorithm: 'ecdsaWithSHA256' as const },
    sign: async (tbs: Uint8Array) => Promise.resolve(sign('sha256', tbs, privateKey)),
  };
  const certificate = async (serialNumber: Uint8Array, isCa = false): Promise<PathCertificate> => {
    const { subjectPublicKeyInfo } = signer;
    const extensions = isCa ? [extension(oids.basicConstraints, der.sequence(der.boolean(true)), true).der] : [];
    return pathCertificate(
      await signedCertificate(signer, { subject: name, subjectPublicKeyInfo, extensions, notBefore, notAfter, serialNumber }),
    );
  };
  const crl = async (entries: readonly Uint8Array[], issuer = name): Promise<Uint8Array> =>
    signedStructure(
      signer,
      der.sequence(der.integer(1), algorithm, issuer, der.time(notBefore), der.time(notAfter), der.sequence(...entries)),
    );
  return { certificate, crl };
}

const serialOf = (index: number): Uint8Array => Buffer.from(`4${index.toString(16).padStart(31, '0')}`, 'hex');
const entryOf = (serial: Uint8Array): Uint8Array =>
  der.sequence(Buffer.concat([Buffer.of(0x02, serial.length), serial]), der.time(notBefore));
const pem = (bytes: Uint8Array): Buffer =>
  Buffer.from(`-----BEGIN X509 CRL-----\n${Buffer.from(bytes).toString('base64')}\n-----END X509 CRL-----\n`);

const ours = authority('Issuer');
const issuer = await ours.certificate(serialOf(1_000_000), true);
const otherIssuer = await authority('Issuer').certificate(serialOf(1_000_001), true);
const [revoked, alsoRevoked, good] = [
  await ours.certificate(serialOf(7)),
  await ours.certificate(serialOf(8)),
  await ours.certificate(serialOf(many + 1)),
];
const entries = Array.from({ length: many }, (_, index) => entryOf(serialOf(index)));
/** A list of its own: what is known of the same octets stays known. */
const listEndingWith = async (serial: number): Promise<Uint8Array> => ours.crl([...entries, entryOf(serialOf(serial))]);
const list = await listEndingWith(2_000_000);

/** Work threads that tell how often they were asked. */
function threads() {
  const run = vi.fn<WorkThreads['run']>(async (called, task) => workThreads.run(called, task));
  return { run } as { readonly run: typeof run & WorkThreads['run'] };
}

describe('a large CRL', () => {
  it.each([
    ['DER', 2_000_001],
    ['PEM', 2_000_002],
  ])('in %s is hashed, searched and verified in a thread, for each certificate once', async (form, last) => {
    const bytes = await listEndingWith(last);
    const body = form === 'PEM' ? pem(bytes) : bytes;
    const used = threads();
    const crl = await readSentCrl(body, { certificate: revoked, issuers: [otherIssuer, issuer] }, used);
    expect(used.run).toHaveBeenCalledOnce();
    expect(Buffer.compare(crl.der, bytes)).toBe(0);
    expect(crl.der.buffer).toBeInstanceOf(SharedArrayBuffer);
    const status = async (certificate: PathCertificate, issuers = [issuer]): Promise<CertificateStatus['kind']> => {
      await lookUpAhead(crl, { certificate, issuers }, used);
      expect(crl.knows({ certificate, issuers })).toBe(true);
      return crlStatus(crl, { certificate, issuers, at }).kind;
    };
    expect(await status(revoked)).toBe('revoked');
    expect(await status(revoked, [otherIssuer])).toBe('undetermined');
    expect(used.run).toHaveBeenCalledOnce();
    expect([await status(alsoRevoked), await status(good), await status(good)]).toEqual(['revoked', 'good', 'good']);
    expect(used.run).toHaveBeenCalledTimes(3);
  });

  it('that is malformed is as good as none', async () => {
    const use = { certificate: good, issuers: [issuer] };
    const broken = await ours.crl([...entries, der.integer(5)]);
    const crl = await readSentCrl(broken, use, threads());
    expect(crlStatus(crl, { ...use, at })).toEqual({
      kind: 'undetermined',
      why: expect.stringContaining('entry is not a SEQUENCE') as string,
    });
    for (const bytes of [
      list.subarray(0, -1),
      Buffer.alloc(onLoopMaxBytes + 1, 0x30),
      Buffer.alloc(onLoopMaxBytes + 1, 'x'),
      pem(list).subarray(0, -20),
    ])
      await expect(readSentCrl(bytes, use, threads())).rejects.toThrow(DerError);
    expect(examineCrl({ bytes: Buffer.from('none'), issuers: [], serialNumber: good.serialNumber })).toEqual({
      unreadable: expect.stringContaining('neither a DER CRL nor a PEM one') as string,
    });
  });

  it('has no name that takes long to read', async () => {
    const name = (length: number): Uint8Array =>
      der.sequence(der.set(der.sequence(der.oid(oids.commonName), der.utf8String('n'.repeat(length)))));
    const use = { certificate: good, issuers: [issuer] };
    expect((await readSentCrl(await ours.crl(entries, name(8000)), use, threads())).issuer).not.toBe(issuer.subjectName);
    await expect(readSentCrl(await ours.crl([], name(16_500)), use, threads())).rejects.toThrow('name of more than 16384 octets');
  });

  it('of a server is kept, and asked about other certificates in a thread', async () => {
    const server = createServer((_request, response) => response.end(list));
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    try {
      const http = new OutgoingHttp({ clientHosts: [], privateNetworks: ['127.0.0.0/8'], timeoutSeconds: 10, connectionsMax: 8 });
      const used = threads();
      const sources = new RevocationSources(http, used);
      const source = { kind: 'SERVER' as const, urls: [new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/crl`)] };
      const wanted = { choice: 'CRL' as const, ocsp: source, crl: source };
      const of = async (certificate: PathCertificate): Promise<CertificateStatus['kind']> =>
        (await sources.of({ certificate, issuer, wanted, isVouchedFor: true, at })).status.kind;
      expect([await of(revoked), await of(good), await of(revoked)]).toEqual(['revoked', 'good', 'revoked']);
      expect(used.run).toHaveBeenCalledTimes(2);
    } finally {
      server.close();
    }
  });
});

describe('a small CRL', () => {
  it('needs no thread', async () => {
    const used = threads();
    const small = await ours.crl(entries.slice(0, 10));
    const crl = await readSentCrl(pem(small), { certificate: revoked, issuers: [issuer] }, used);
    expect(crl).toBe(readCrl(small));
    await lookUpAhead(crl, { certificate: good, issuers: [issuer] }, used);
    expect(crlStatus(crl, { certificate: revoked, issuers: [issuer], at }).kind).toBe('revoked');
    expect(used.run).not.toHaveBeenCalled();
  });
});
