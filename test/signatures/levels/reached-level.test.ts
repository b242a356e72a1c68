import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ocspRequest } from '../../../src/revocation/ocsp-answer.ts';
import type { Level } from '../../../src/signatures/levels/level-writer.ts';
import { reachedLevel, type LevelParts, type StampedPart } from '../../../src/signatures/levels/reached-level.ts';
import { timeStampRequest } from '../../../src/timestamp/request.ts';
import { readTimeStampResponse } from '../../../src/timestamp/response.ts';
import type { CertificateFiles, ScratchAuthority } from '../../support/scratch-authority.ts';
import { derOf, read, ScratchChain } from './scratch-chain.ts';

const chain = new ScratchChain();
afterAll(() => {
  chain.remove();
});

const minuteMs = 60_000;
const root = read(chain.root);
const stamped = (text: string) => (hash: string) => createHash(hash).update(text).digest();

/** A time-stamp over a text, of a moment. */
async function stampOf(text: string, at = new Date(), files?: CertificateFiles): Promise<StampedPart> {
  const imprint = { hash: 'sha256', value: stamped(text)('sha256') } as const;
  const answer = await chain.stampAuthority(() => at, files).respond(timeStampRequest(imprint, { policy: undefined, nonce: undefined }));
  const response = readTimeStampResponse(answer);
  if ('refusal' in response) throw new Error('the authority refuses');
  return { token: response.token, imprint: stamped(text) };
}

const pemToDer = (pem: string): Buffer => Buffer.from(pem.replaceAll(/-----[A-Z0-9 ]+-----|\s/g, ''), 'base64');
const crlOf = (authority: ScratchAuthority): Uint8Array => new Uint8Array(pemToDer(authority.revocationList()));
const answerOf = (of: CertificateFiles, issuer: ScratchAuthority): Uint8Array =>
  new Uint8Array(issuer.ocspAnswer(ocspRequest(read(of), read(issuer), randomBytes(16))));

let rootCrl: Uint8Array;
let issuingCrl: Uint8Array;
let signatureStamp: StampedPart;
let archiveStamp: StampedPart;
beforeAll(async () => {
  [rootCrl, issuingCrl] = [crlOf(chain.root), crlOf(chain.issuing)];
  [signatureStamp, archiveStamp] = [await stampOf('value'), await stampOf('all of it')];
});

interface Case extends Partial<Omit<LevelParts, 'embedded'>> {
  readonly crls?: readonly Uint8Array[];
  readonly ocspAnswers?: readonly Uint8Array[];
  readonly certificates?: readonly Uint8Array[];
}

function level({ crls = [rootCrl, issuingCrl], ocspAnswers = [], certificates, ...parts }: Case = {}): Level {
  const known = certificates ?? [chain.person, chain.issuing, chain.stamper].map(derOf);
  return reachedLevel({
    ...{ signatureTimeStamps: [signatureStamp], archiveTimeStamps: [], signer: read(chain.person), anchors: [root], now: new Date() },
    ...{ embedded: { certificates: known, crls, ocspAnswers }, ...parts },
  });
}

describe('a signature', () => {
  it('without a time-stamp is at level B, and has no archive time-stamp', () => {
    expect(level({ signatureTimeStamps: [] })).toBe('B');
    expect(() => level({ signatureTimeStamps: [], archiveTimeStamps: [archiveStamp] })).toThrow('no signature time-stamp');
  });

  it('with a time-stamp is at level T, and with the status of every certificate at level LT', () => {
    expect(level({ crls: [] })).toBe('T');
    expect(level({ crls: [rootCrl] })).toBe('T');
    expect(level({ crls: [issuingCrl] })).toBe('T');
    expect(level()).toBe('LT');
  });

  it('takes the status from CRLs and from OCSP answers, whichever is there', () => {
    const person = answerOf(chain.person, chain.issuing);
    expect(level({ crls: [rootCrl], ocspAnswers: [person] })).toBe('LT');
    const all = [person, answerOf(chain.issuing, chain.root), answerOf(chain.stamper, chain.root)];
    expect(level({ crls: [], ocspAnswers: all })).toBe('LT');
    for (const missing of all) expect(level({ crls: [], ocspAnswers: all.filter((one) => one !== missing) })).toBe('T');
    // What nobody can read is of others.
    expect(level({ crls: [Uint8Array.of(0x30, 0), rootCrl, issuingCrl], ocspAnswers: [Uint8Array.of(1)] })).toBe('LT');
  });

  it('with an archive time-stamp over all of this is at level LTA, and broken over less', () => {
    expect(level({ archiveTimeStamps: [archiveStamp] })).toBe('LTA');
    expect(() => level({ archiveTimeStamps: [archiveStamp], crls: [rootCrl] })).toThrow('revocation data is missing');
  });

  it('is broken by any time-stamp over something else', async () => {
    const other = { ...signatureStamp, imprint: stamped('another') };
    expect(() => level({ signatureTimeStamps: [other] })).toThrow('is for other data');
    expect(() => level({ signatureTimeStamps: [signatureStamp, other] })).toThrow('is for other data');
    const archiveOfOther = { ...archiveStamp, imprint: stamped('less') };
    expect(() => level({ archiveTimeStamps: [archiveOfOther] })).toThrow('is for other data');
    expect(() => level({ archiveTimeStamps: [archiveStamp, archiveOfOther] })).toThrow('is for other data');
    expect(level({ archiveTimeStamps: [archiveStamp, await stampOf('all of it')] })).toBe('LTA');
  });

  it('needs the status of every time-stamp authority', async () => {
    const files = chain.issuing.issue('Stamper below', { extendedKeyUsage: 'critical,timeStamping' });
    const below = await stampOf('value', new Date(), files);
    const certificates = [chain.person, chain.issuing, chain.stamper, files].map(derOf);
    // An answer about the signer alone leaves the second authority open.
    const ofSigner = { crls: [rootCrl], ocspAnswers: [answerOf(chain.person, chain.issuing)], certificates };
    expect(level({ ...ofSigner, signatureTimeStamps: [signatureStamp] })).toBe('LT');
    expect(level({ ...ofSigner, signatureTimeStamps: [signatureStamp, below] })).toBe('T');
    expect(level({ ...ofSigner, signatureTimeStamps: [below, signatureStamp] })).toBe('T');
    expect(level({ ...ofSigner, crls: [rootCrl, issuingCrl], signatureTimeStamps: [below, signatureStamp] })).toBe('LT');
  });

  it('is broken without a path from the signer to an anchor', () => {
    expect(() => level({ certificates: [chain.person, chain.stamper].map(derOf) })).toThrow(/^the signer certificate: /);
    expect(() => level({ anchors: [], timeStampAnchors: [root] })).toThrow(/^the signer certificate: /);
    expect(() => level({ timeStampAnchors: [] })).toThrow(/^the certificate of the time-stamp authority: /);
    expect(level({ timeStampAnchors: [read(chain.stamper)], crls: [rootCrl, issuingCrl] })).toBe('LT');
  });

  it('has the path of the time of its earliest time-stamp', async () => {
    const files = chain.issuing.issue('Ended', { extendedKeyUsage: '', until: new Date(Date.now() - 5 * minuteMs) });
    const signer = read(files);
    const certificates = [files, chain.issuing, chain.stamper].map(derOf);
    const early = await stampOf('value', new Date(Date.now() - 10 * minuteMs));
    const of = (...signatureTimeStamps: readonly StampedPart[]): Level => level({ signer, certificates, signatureTimeStamps });
    expect(of(early)).toBe('LT');
    expect([of(early, signatureStamp), of(signatureStamp, early)]).toEqual(['LT', 'LT']);
    expect(() => of(signatureStamp)).toThrow(/^the signer certificate: /);
  });
});

describe('a revoked certificate', () => {
  it("breaks the signature, unless it is the signer's and that may be", () => {
    const files = chain.issuing.issue('Revoked', { extendedKeyUsage: '' });
    chain.issuing.revoke(files);
    const crls = [rootCrl, crlOf(chain.issuing)];
    const certificates = [files, chain.issuing, chain.stamper].map(derOf);
    const signer = read(files);
    expect(() => level({ signer, certificates, crls })).toThrow('a certificate is revoked');
    expect(() => level({ signer, certificates, crls, signerMayBeRevoked: false })).toThrow('a certificate is revoked');
    expect(level({ signer, certificates, crls, signerMayBeRevoked: true })).toBe('LT');
    // A source that says it is good does not outweigh the other.
    expect(() => level({ signer, certificates, crls: [issuingCrl, ...crls] })).toThrow('a certificate is revoked');
  });

  it("of a time-stamp authority breaks the signature whatever the signer's may be", async () => {
    const files = chain.root.issue('Revoked stamper', { extendedKeyUsage: 'critical,timeStamping' });
    const signatureTimeStamps = [await stampOf('value', new Date(), files)];
    chain.root.revoke(files);
    const crls = [crlOf(chain.root), issuingCrl];
    expect(() => level({ signatureTimeStamps, crls, signerMayBeRevoked: true })).toThrow('a certificate is revoked');
  });
});
