import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { octetString } from '../../src/asn1/der.ts';
import { findChain, strangersChain, type ChainFound } from '../../src/certificates/strangers-chain.ts';
import { signedCertificate } from '../../src/certificates/signed-certificate.ts';
import { basicConstraints, extension, keyUsage } from '../../src/certificates/standard-extensions.ts';
import { subjectName } from '../../src/certificates/subject.ts';
import type { ThreadFunction } from '../../src/threads/work-threads.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { pairMicroseconds, TooManySignatures, verifyAhead, verifyPairs, type SignedPair } from '../../src/x509/known-signatures.ts';
import { pathCertificate, type PathCertificate } from '../../src/x509/path/path-certificate.ts';
import { TooMuchEffort } from '../../src/x509/path/path-fault.ts';
import { verifyPaths } from '../../src/x509/path/verify-paths.ts';

const threads = new WorkThreads();
afterAll(async () => threads.stop());
/** Work threads that count the tasks they get. */
class CountedThreads {
  tasks = 0;

  async run<Result>(work: ThreadFunction, task: object): Promise<Result> {
    this.tasks += 1;
    return threads.run<Result>(work, task);
  }
}

interface Entity {
  readonly name: Uint8Array;
  readonly privateKey: KeyObject;
  readonly subjectPublicKeyInfo: Uint8Array;
}
const validity = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2027-01-01T00:00:00Z') };
const authority = [basicConstraints(), keyUsage(['keyCertSign'])];

function entity(commonName: string, namedCurve: string): Entity {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve });
  return {
    name: subjectName({ country: 'FR', commonName }),
    privateKey,
    subjectPublicKeyInfo: publicKey.export({ format: 'der', type: 'spki' }),
  };
}

async function certified({ name: subject, subjectPublicKeyInfo }: Entity, issuer: Entity, extensions = authority): Promise<Uint8Array> {
  const signer = {
    name: issuer.name,
    subjectPublicKeyInfo: issuer.subjectPublicKeyInfo,
    signatureAlgorithm: 'ecdsaWithSHA256' as const,
    sign: async (tbs: Uint8Array) => Promise.resolve(sign('sha256', tbs, issuer.privateKey)),
  };
  const content = { subject, subjectPublicKeyInfo, extensions: extensions.map((one) => one.der), serialNumber: randomBytes(16) };
  return signedCertificate(signer, { ...content, ...validity });
}

/** A signer below CAs of one name, each of which certifies the next: the last one signed the signer. */
async function sameNames(
  count: number,
  namedCurve: string,
): Promise<{ readonly signer: Uint8Array; readonly chain: readonly Uint8Array[] }> {
  const ring = Array.from({ length: count }, () => entity('Same Name', namedCurve));
  const chain = await Promise.all(ring.map(async (one, index) => certified(one, ring[index - 1] ?? one)));
  const last = ring.at(-1);
  if (last === undefined) throw new RangeError('no CA');
  return { signer: await certified(entity('Signer', 'P-256'), last, []), chain };
}
const readAll = (ders: readonly Uint8Array[]): PathCertificate[] => ders.map((der) => pathCertificate(der));
const costOf = (certificates: readonly PathCertificate[]): number =>
  certificates
    .flatMap(({ der }) => certificates.map(({ subjectPublicKeyInfo }) => pairMicroseconds({ signed: der, subjectPublicKeyInfo })))
    .reduce((total, one) => total + one, 0);

async function chainFound(
  own: Uint8Array,
  chain: readonly Uint8Array[],
  by: Pick<WorkThreads, 'run'> = threads,
  trustedCa?: string,
): Promise<ChainFound> {
  return strangersChain({ own, chain, known: [], trustedCa }, by);
}

describe('the chain of a signer that a caller gives', () => {
  it.each(['P-256', 'P-384'])('is found on the event loop if it is an ordinary one: %s', async (namedCurve) => {
    const counted = new CountedThreads();
    const [root, issuing] = [entity('Root', namedCurve), entity('Issuing', 'P-256')];
    const own = await certified(entity('Signer', 'P-256'), issuing, []);
    const above = [await certified(root, root), await certified(issuing, root)];
    expect(await chainFound(own, above, counted)).toEqual({ issuers: above.toReversed() });
    expect(counted.tasks).toBe(0);
  });

  it.each([
    ['more certificates than an ordinary chain has', 5, 'P-256'],
    ['signatures that take longer to verify', 3, 'P-521'],
  ])('is found in a thread if it has %s', async (_what, count, namedCurve) => {
    const counted = new CountedThreads();
    const { signer, chain } = await sameNames(count, namedCurve);
    expect(await chainFound(signer, chain, counted)).toEqual({ issuers: chain.toReversed() });
    expect(counted.tasks).toBe(1);
  });

  it('is found in a thread if its certificates are long', async () => {
    const counted = new CountedThreads();
    const root = entity('Root', 'P-256');
    const comment = extension('1.2.3.4', octetString(Buffer.alloc(10_240)));
    const [own, above] = [await certified(entity('Signer', 'P-256'), root, []), await certified(root, root, [...authority, comment])];
    expect(await chainFound(own, [above], counted)).toEqual({ issuers: [above] });
    expect(counted.tasks).toBe(1);
  });

  it.each([
    ['P-521', 8],
    ['brainpoolP512r1', 8],
    ['P-384', 11],
    ['secp256k1', 15],
  ])('is refused before anything is verified if it takes longer than 100 ms: %s, %d CAs of one name', async (namedCurve, count) => {
    const { signer, chain } = await sameNames(count, namedCurve);
    const tooMuch = { tooMuch: new TooManySignatures().message };
    expect(findChain({ own: signer, chain, known: [], trustedCa: undefined })).toEqual(tooMuch);
    expect(await chainFound(signer, chain)).toEqual(tooMuch);
    const certificates = readAll([signer, ...chain]);
    const counted = new CountedThreads();
    await expect(verifyPaths(certificates, [], counted)).rejects.toThrow(TooMuchEffort);
    expect(counted.tasks).toBe(0);
    expect(costOf(certificates)).toBeGreaterThan(100_000);
  });

  it.each([1, 6])('names the first of the certificates that is none, beside %d others', async (count) => {
    const { signer, chain } = await sameNames(count, 'P-256');
    const broken = Uint8Array.from(signer).fill(0, 4, 8);
    expect(await chainFound(broken, chain)).toEqual({ notCertificate: 0 });
    expect(await chainFound(signer, [...chain, broken, broken])).toEqual({ notCertificate: count + 1 });
    const longer = Buffer.concat([signer, Buffer.alloc(1)]);
    expect(await chainFound(signer, [...chain, longer])).toEqual({ notCertificate: count + 1 });
  });

  it('tells which key is beyond the limits', async () => {
    const { signer, chain } = await sameNames(1, 'P-256');
    const issuer = entity('Issuer', 'P-256');
    const withShortKey = await certified(entity('Short', 'prime192v1'), issuer);
    expect(await chainFound(withShortKey, chain)).toEqual({ unsupportedSigner: true });
    expect(await chainFound(signer, [...chain, withShortKey])).toEqual({
      keyFault: 'is on a curve that this service does not know',
      of: 2,
    });
  });

  it('contains the wanted certificate if one does, however it is written', async () => {
    const [root, other, issuing] = [entity('Root', 'P-256'), entity('Other', 'P-256'), entity('Issuing', 'P-256')];
    const own = await certified(entity('Signer', 'P-256'), issuing, []);
    const [rootItself, otherItself] = [await certified(root, root), await certified(other, other)];
    const [byRoot, byOther] = [await certified(issuing, root), await certified(issuing, other)];
    const given = [rootItself, byRoot, otherItself, byOther];
    const wanted = (der: Uint8Array): string => createHash('sha1').update(der).digest('hex');
    expect(await chainFound(own, given)).toEqual({ issuers: [byRoot, rootItself] });
    expect(await chainFound(own, given, threads, wanted(otherItself).toUpperCase())).toEqual({ issuers: [byOther, otherItself] });
    expect(await chainFound(own, given, threads, wanted(own))).toEqual({ issuers: [byRoot, rootItself] });
  });

  it('is the longest where none ends in a self-signed certificate, and has nothing twice', async () => {
    const [root, upper, issuing] = [entity('Root', 'P-256'), entity('Upper', 'P-256'), entity('Issuing', 'P-256')];
    const own = await certified(entity('Signer', 'P-256'), issuing, []);
    const above = [await certified(issuing, upper), await certified(upper, root)];
    expect(await chainFound(own, [...above, own, ...above])).toEqual({ issuers: above });
    expect(await chainFound(own, [])).toEqual({ issuers: [] });
  });
});

describe('signatures that are verified ahead', () => {
  it('are right and wrong as they are', async () => {
    const { chain } = await sameNames(4, 'P-521');
    const certificates = readAll(chain);
    await verifyPaths(certificates, [], threads);
    expect(costOf(certificates)).toBe(0);
    expect(certificates.map((one) => certificates.map((issuer) => one.isSignedBy(issuer)))).toEqual(
      certificates.map((_one, index) => certificates.map((_issuer, by) => by === Math.max(0, index - 1))),
    );
  });

  it('are verified in the order in which they are given', async () => {
    const [one, other] = [entity('One', 'P-256'), entity('Other', 'P-256')];
    const signed = await certified(one, one);
    const pairs = [other, one, other].map(({ subjectPublicKeyInfo }): SignedPair => ({ signed, subjectPublicKeyInfo }));
    expect(verifyPairs({ pairs })).toEqual([false, true, false]);
  });

  it('are those of certificates by the anchors, not of anchors', async () => {
    const [above, root] = [entity('Above', 'P-521'), entity('Root', 'P-521')];
    const person = entity('Own', 'P-521');
    // One alone is verified on the event loop.
    const [anchor, ...own] = await Promise.all([certified(root, above), certified(person, root, []), certified(person, root, [])]);
    const [trusted, targets] = [pathCertificate(anchor), readAll(own)];
    await verifyPaths(targets, [trusted], threads);
    expect(own.map((signed) => pairMicroseconds({ signed, subjectPublicKeyInfo: root.subjectPublicKeyInfo }))).toEqual([0, 0]);
    expect(targets.map((target) => target.isSignedBy(trusted))).toEqual([true, true]);
    expect(pairMicroseconds({ signed: anchor, subjectPublicKeyInfo: above.subjectPublicKeyInfo })).toBe(2000);
  });

  it('are each verified once, however often a search names them', async () => {
    const one = entity('One', 'P-521');
    const certificate = await certified(one, one);
    const pair: SignedPair = { signed: certificate, subjectPublicKeyInfo: one.subjectPublicKeyInfo };
    const counted = new CountedThreads();
    // Octets of their own, as another request has them.
    const again = (): SignedPair => ({
      signed: Uint8Array.from(certificate),
      subjectPublicKeyInfo: Uint8Array.from(one.subjectPublicKeyInfo),
    });
    await verifyAhead([pair, ...Array.from({ length: 100 }, again)], counted);
    expect(counted.tasks).toBe(0);
  });
});
