import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { DerError } from '../../src/asn1/reader.ts';
import type { PathCertificate } from '../../src/x509/path/path-certificate.ts';
import {
  crlFault,
  crlStatus,
  ocspStatus,
  toleranceMs,
  type CertificateStatus,
  type CrlQuestion,
  type OcspQuestion,
} from '../../src/revocation/status.ts';
import { readCrl, type Crl } from '../../src/revocation/crl.ts';
import { ocspRequest, readOcspAnswer, type OcspAnswer, type SingleAnswer } from '../../src/revocation/ocsp-answer.ts';
import { authorityWithTwo, read } from './authority-with-two.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-status-'));
afterAll(() => {
  rmSync(directory, { recursive: true });
});
const made = authorityWithTwo(directory);
const [issuer, good, revoked] = [read(made.authority), read(made.good), read(made.revoked)];
const crlOf = (pem: string): Crl => readCrl(Buffer.from(pem.replaceAll(/-----[^\n]*/g, ''), 'base64'));
/** Another key with another name. */
const stranger = good;
const throwing = (): never => {
  throw new DerError('cut off', 0);
};
const shifted = (date: Date, ms: number): Date => new Date(date.getTime() + ms);

describe('what a CRL says', () => {
  const crl = crlOf(made.authority.revocationList());
  const at = crl.thisUpdate;
  const end = crl.nextUpdate ?? at;
  const status = (changes: Partial<Crl> = {}, over: Partial<CrlQuestion> = {}): string => {
    const found = crlStatus({ ...crl, ...changes }, { certificate: good, issuers: [issuer], at, ...over });
    return found.kind === 'undetermined' ? found.why : found.kind;
  };

  it('is good or revoked', () => {
    expect(status()).toBe('good');
    expect(crlStatus(crl, { certificate: revoked, issuers: [issuer], at })).toMatchObject({
      kind: 'revoked',
      revokedAt: expect.any(Date) as Date,
    });
  });

  it('counts from its thisUpdate, with the tolerance of clocks, to its nextUpdate', () => {
    expect(status({}, { at: shifted(at, -toleranceMs) })).toBe('good');
    expect(status({}, { at: shifted(at, -toleranceMs - 1) })).toBe('the CRL is dated in the future');
    expect(status({}, { at: end })).toBe('good');
    expect(status({}, { at: shifted(end, 1) })).toBe('the CRL is too old');
    expect(status({ nextUpdate: undefined })).toBe('the CRL is too old');
  });

  it('that is not fresh leaves the status open, unless the certificate was revoked for good', () => {
    const late = { at: shifted(end, 1) };
    const found = (changes: Partial<Crl>, over: Partial<CrlQuestion> = {}): CertificateStatus =>
      crlStatus({ ...crl, ...changes }, { certificate: revoked, issuers: [issuer], ...late, ...over });
    const entry = { revokedAt: at, reason: 1 };
    expect(found({})).toMatchObject({ kind: 'revoked' });
    expect(found({ lookUp: () => ({ entry }) })).toEqual({ kind: 'revoked', ...entry });
    // A hold can be lifted.
    expect(found({ lookUp: () => ({ entry: { ...entry, reason: 6 } }) })).toEqual({
      kind: 'undetermined',
      why: 'the CRL is too old',
      isAnswered: true,
    });
    expect(found({}, { certificate: good })).toEqual({ kind: 'undetermined', why: 'the CRL is too old', isAnswered: true });
    // Only what the issuer has signed is an answer, and only about what it covers.
    expect(found({ isSignedBy: () => false })).toEqual({ kind: 'undetermined', why: 'the CRL is not signed by the issuer' });
    const scope = { userCertificates: false, authorityCertificates: true, distributionPoint: undefined };
    expect(found({ scope })).toEqual({ kind: 'undetermined', why: 'the CRL does not cover this certificate' });
  });

  it("counts by the issuer's name, signed by a key of the issuer that may sign CRLs", () => {
    expect(status({ issuer: stranger.subjectName })).toBe('the CRL is from another issuer');
    expect(status({}, { issuers: [] })).toBe('the CRL is from another issuer');
    expect(status({}, { issuers: [stranger] })).toBe('the CRL is from another issuer');
    const otherKey = { ...stranger, subjectName: issuer.subjectName };
    expect(status({}, { issuers: [otherKey] })).toBe('the CRL is not signed by the issuer');
    expect(status({}, { issuers: [otherKey, issuer] })).toBe('good');
    const using = (...bits: readonly number[]): PathCertificate => ({ ...issuer, keyUsage: new Set(bits) });
    expect(status({}, { issuers: [using(5)] })).toBe('the CRL is not signed by the issuer');
    expect(status({}, { issuers: [using(6)] })).toBe('good');
    expect(status({}, { issuers: [{ ...issuer, keyUsage: undefined }] })).toBe('good');
    // The right to sign is that of the key that did.
    expect(status({}, { issuers: [using(5), otherKey] })).toBe('the CRL is not signed by the issuer');
  });

  it('counts for the certificates that it is about', () => {
    const scope = { userCertificates: true, authorityCertificates: true, distributionPoint: undefined };
    const ofCa = { certificate: { ...good, isCa: true } };
    expect(status({ scope: { ...scope, userCertificates: false } })).toBe('the CRL does not cover this certificate');
    expect(status({ scope: { ...scope, authorityCertificates: false } })).toBe('good');
    expect(status({ scope: { ...scope, authorityCertificates: false } }, ofCa)).toBe('the CRL does not cover this certificate');
    expect(status({ scope: { ...scope, userCertificates: false } }, ofCa)).toBe('good');
  });

  it('counts for the distribution point that the certificate names', () => {
    const uri = (text: string) => ({ kind: 'uri', text }) as const;
    const scope = { userCertificates: true, authorityCertificates: true };
    const point = [uri('http://a/'), uri('http://b/')];
    const named = (...texts: readonly string[]) => ({ certificate: { ...good, distributionPoints: texts.map(uri) } });
    expect(status({ scope: { ...scope, distributionPoint: point } }, named('http://c/', 'http://b/'))).toBe('good');
    for (const names of [[], ['http://c/'], ['http://A/x']])
      expect(status({ scope: { ...scope, distributionPoint: point } }, named(...names))).toBe('the CRL is for another distribution point');
    expect(status({ scope: { ...scope, distributionPoint: [] } }, named('http://a/'))).toBe('the CRL is for another distribution point');
    expect(status({ scope: { ...scope, distributionPoint: undefined } }, named())).toBe('good');
  });

  it('does not count where a part of it is not understood or cannot be read; a fault of ours is none of the CRL', () => {
    expect(status({ limit: 'it is a delta CRL' })).toBe('the CRL cannot be used: it is a delta CRL');
    expect(status({ lookUp: () => ({ unreadable: 'cut off' }) })).toBe('the CRL cannot be read: cut off');
    expect(status({ isSignedBy: throwing })).toContain('the CRL cannot be read: cut off');
    const broken = (): never => {
      throw new TypeError('ours');
    };
    expect(() => status({ lookUp: broken })).toThrow('ours');
    expect(() => status({ isSignedBy: broken })).toThrow('ours');
    expect(crlFault(crl, { issuers: [issuer], at })).toBeUndefined();
  });
});

describe('what an OCSP answer says', () => {
  const nonce = Buffer.alloc(16, 7);
  const whole = readOcspAnswer(made.authority.ocspAnswer(ocspRequest(good, issuer, nonce)));
  const single: SingleAnswer = whole.answers[0] ?? throwing();
  const at = whole.producedAt;
  const status = (changes: Partial<OcspAnswer> = {}, one: Partial<SingleAnswer> = {}, over: Partial<OcspQuestion> = {}): string => {
    const answer = { ...whole, answers: [{ ...single, ...one }], ...changes };
    const found = ocspStatus(answer, { certificate: good, issuer, at, nonce, ...over });
    return found.kind === 'undetermined' ? found.why : found.kind;
  };

  it('is good, revoked or open', () => {
    expect(status()).toBe('good');
    expect(status({}, { status: { kind: 'revoked', revokedAt: at, reason: 1 } })).toBe('revoked');
    expect(status({}, { status: { kind: 'unknown' } })).toBe('the OCSP responder does not know the certificate');
  });

  it('leaves the status open where it is not fresh, unless the certificate was revoked for good', () => {
    const found = (one: Partial<SingleAnswer>, changes: Partial<OcspAnswer> = {}): CertificateStatus =>
      ocspStatus({ ...whole, answers: [{ ...single, ...one }], ...changes }, { certificate: good, issuer, at: late, nonce });
    const late = shifted(at, 24 * 3_600_000 + 2 * toleranceMs);
    const open = { kind: 'undetermined', why: 'the OCSP response is too old', isAnswered: true };
    expect(found({})).toEqual(open);
    expect(found({ status: { kind: 'unknown' } })).toEqual(open);
    expect(found({ status: { kind: 'revoked', revokedAt: at, reason: 1 } })).toEqual({ kind: 'revoked', revokedAt: at, reason: 1 });
    expect(found({ status: { kind: 'revoked', revokedAt: at, reason: undefined } })).toMatchObject({ kind: 'revoked' });
    expect(found({ status: { kind: 'revoked', revokedAt: at, reason: 6 } })).toEqual(open);
    expect(found({ status: { kind: 'unknown' } }, { isSignedBy: () => false })).toEqual({
      kind: 'undetermined',
      why: 'the OCSP response is not signed by its responder',
    });
    expect(
      ocspStatus({ ...whole, answers: [{ ...single, status: { kind: 'unknown' } }] }, { certificate: good, issuer, at, nonce }),
    ).toEqual({
      kind: 'undetermined',
      why: 'the OCSP responder does not know the certificate',
      isAnswered: true,
    });
  });

  it('counts with the nonce that was sent, or without any', () => {
    expect(status({ nonce: undefined })).toBe('good');
    expect(status({}, {}, { nonce: undefined })).toBe('good');
    expect(status({ nonce: Buffer.alloc(16, 8) })).toBe('the nonce of the OCSP response does not match');
    expect(status({ nonce: Buffer.alloc(0) })).toBe('the nonce of the OCSP response does not match');
  });

  it('counts for the certificate and the issuer that it names, wherever it stands in it', () => {
    const octets = (bytes: Uint8Array): Buffer => Buffer.from(bytes.map((octet, index) => (index === 0 ? octet ^ 1 : octet)));
    const others = [
      { ...single, serialNumber: octets(single.serialNumber) },
      { ...single, issuerNameHash: octets(single.issuerNameHash) },
      { ...single, issuerKeyHash: octets(single.issuerKeyHash) },
    ];
    for (const other of others) expect(status({ answers: [other] })).toBe('the OCSP response is about other certificates');
    expect(status({ answers: [] })).toBe('the OCSP response is about other certificates');
    expect(status({ answers: [...others, single] })).toBe('good');
  });

  it('counts while it is fresh, with the tolerance of clocks', () => {
    const times = { thisUpdate: at, nextUpdate: shifted(at, 1000) };
    expect(status({}, times, { at: shifted(at, -toleranceMs) })).toBe('good');
    expect(status({}, times, { at: shifted(at, -toleranceMs - 1) })).toBe('the OCSP response is dated in the future');
    expect(status({}, times, { at: shifted(at, 1000 + toleranceMs) })).toBe('good');
    expect(status({}, times, { at: shifted(at, 1001 + toleranceMs) })).toBe('the OCSP response is too old');
    const hour = 3_600_000;
    const open = { thisUpdate: at, nextUpdate: undefined };
    expect(status({}, open, { at: shifted(at, hour + toleranceMs) })).toBe('good');
    expect(status({}, open, { at: shifted(at, hour + toleranceMs + 1) })).toBe('the OCSP response is too old');
    const ahead = (ms: number) => ({ thisUpdate: shifted(at, ms), nextUpdate: shifted(at, 3 * hour) });
    expect(status({}, ahead(toleranceMs), { at: shifted(at, hour) })).toBe('good');
    expect(status({}, ahead(toleranceMs + 1), { at: shifted(at, hour) })).toBe('the OCSP response has a thisUpdate later than producedAt');
  });

  it('counts signed by the issuer, or by whom it delegates', () => {
    expect(status({ isSignedBy: () => false })).toBe('the OCSP response is not signed by its responder');
    expect(status({ isSignedBy: throwing })).toContain('cut off');
    expect(() =>
      status({
        isSignedBy: () => {
          throw new TypeError('ours');
        },
      }),
    ).toThrow('ours');
    expect(status({ responder: { keyHash: Buffer.alloc(20) }, certificates: [] })).toBe(
      "the OCSP response lacks its responder's certificate",
    );
    // A certificate of the issuer that is for something else delegates nothing.
    expect(status({ responder: { name: good.subjectName }, certificates: [good] })).toContain('the OCSP responder is not authorised');
  });

  it('does not count with a critical extension that is not understood', () => {
    expect(status({ unknownCritical: '1.2.3' })).toBe('the OCSP response has the unknown critical extension 1.2.3');
  });
});
