import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assert, constantFrom, integer, property } from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { DerError } from '../../src/asn1/reader.ts';
import * as der from '../../src/asn1/der.ts';
import { children, readAll, type DerElement } from '../../src/asn1/reader.ts';
import { pathCertificate, type PathCertificate } from '../../src/x509/path/path-certificate.ts';
import { ocspRequest, readOcspAnswer, type OcspAnswer } from '../../src/revocation/ocsp-answer.ts';
import { ocspStatus, type OcspQuestion } from '../../src/revocation/status.ts';
import { openssl } from '../support/openssl.ts';
import { ScratchAuthority, type CertificateFiles } from '../support/scratch-authority.ts';
import { alternativeNames, strangersCertificate } from '../support/strangers-certificates.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-ocsp-'));
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});
const read = ({ certificate }: Pick<CertificateFiles, 'certificate'>): PathCertificate =>
  pathCertificate(new X509Certificate(readFileSync(certificate)).raw);

const authority = new ScratchAuthority(directory, 'Authority');
const other = new ScratchAuthority(directory, 'Other');
const good = authority.issue('Good');
const revoked = authority.issue('Revoked');
authority.revoke(revoked);
const delegate = authority.issue('Responder', { extendedKeyUsage: 'OCSPSigning' });
const notDelegated = authority.issue('Client', { extendedKeyUsage: 'clientAuth' });
const ofOther = other.issue('Responder', { extendedKeyUsage: 'OCSPSigning' });
const issuer = read(authority);
const nonce = Buffer.alloc(16, 7);
const question = (certificate: CertificateFiles, over: Partial<OcspQuestion> = {}): OcspQuestion => ({
  certificate: read(certificate),
  issuer,
  at: new Date(),
  nonce,
  ...over,
});
const request = (certificate: CertificateFiles, withNonce: Uint8Array | undefined = nonce): Uint8Array =>
  ocspRequest(read(certificate), issuer, withNonce);
const hourMs = 3_600_000;

describe("an answer of OpenSSL's responder", () => {
  test('says that a certificate is good or revoked, in the name of the issuer or of its delegate', () => {
    for (const responder of [authority, delegate]) {
      expect(ocspStatus(readOcspAnswer(authority.ocspAnswer(request(good), { responder })), question(good))).toEqual({ kind: 'good' });
      const answer = readOcspAnswer(authority.ocspAnswer(request(revoked), { responder }));
      expect(ocspStatus(answer, question(revoked))).toMatchObject({ kind: 'revoked', revokedAt: expect.any(Date) as unknown });
    }
  });

  test('does not count where who signed it has no right to', () => {
    const by = (responder: CertificateFiles): unknown =>
      ocspStatus(readOcspAnswer(authority.ocspAnswer(request(good), { responder })), question(good));
    expect(by(notDelegated)).toMatchObject({ kind: 'undetermined', why: expect.stringContaining('extended key usage') as unknown });
    expect(by(ofOther)).toMatchObject({ kind: 'undetermined', why: expect.stringContaining('not authorised') as unknown });
    expect(by(other)).toMatchObject({ kind: 'undetermined' });
  });

  test('with more certificates than any chain has is not taken apart', () => {
    const whole = authority.ocspAnswer(request(good), { responder: delegate });
    const parts = (element: DerElement | undefined): DerElement[] => (element === undefined ? [] : children(element));
    const [status, wrapped] = children(readAll(whole));
    const [type, octets] = parts(parts(wrapped)[0]);
    const [data, algorithm, signature, certificates] = children(readAll(octets?.content ?? new Uint8Array()));
    const [certificate] = parts(parts(certificates)[0]);
    const raw = (element: DerElement | undefined): Uint8Array => element?.raw ?? new Uint8Array();
    const withCertificates = (count: number, one = raw(certificate)): Uint8Array => {
      const list = der.sequence(...Array.from({ length: count }, () => one));
      const basic = der.sequence(raw(data), raw(algorithm), raw(signature), der.explicit(0, list));
      return der.sequence(raw(status), der.explicit(0, der.sequence(raw(type), der.octetString(basic))));
    };
    expect(ocspStatus(readOcspAnswer(withCertificates(20)), question(good))).toEqual({ kind: 'good' });
    expect(() => readOcspAnswer(withCertificates(21))).toThrow('more than 20 certificates');
    const heavy = strangersCertificate({ extensions: [alternativeNames(3000)] });
    expect(() => readOcspAnswer(withCertificates(4, heavy))).toThrow('certificates with more than 10000 elements together');
  });

  test('counts for the certificate, the issuer and the time that it is about', () => {
    const answer = readOcspAnswer(authority.ocspAnswer(request(good)));
    const why = (over: Partial<OcspQuestion>): unknown => ocspStatus(answer, question(good, over));
    expect(why({ certificate: read(revoked) })).toMatchObject({
      kind: 'undetermined',
      why: 'the OCSP response is about other certificates',
    });
    expect(why({ issuer: read(other) })).toMatchObject({ kind: 'undetermined', why: 'the OCSP response is about other certificates' });
    expect(why({ at: new Date(Date.now() + 25 * hourMs) })).toMatchObject({ kind: 'undetermined', why: 'the OCSP response is too old' });
    expect(why({ at: new Date(Date.now() - hourMs) })).toMatchObject({
      kind: 'undetermined',
      why: 'the OCSP response is dated in the future',
    });
    expect(why({ nonce: Buffer.alloc(16, 8) })).toMatchObject({
      kind: 'undetermined',
      why: 'the nonce of the OCSP response does not match',
    });
    const withoutEnd = readOcspAnswer(authority.ocspAnswer(request(good), { days: 0 }));
    expect(ocspStatus(withoutEnd, question(good))).toEqual({ kind: 'good' });
    expect(ocspStatus(withoutEnd, question(good, { at: new Date(Date.now() + 2 * hourMs) }))).toMatchObject({
      why: 'the OCSP response is too old',
    });
  });

  test('counts no more when the certificate of its responder has ended, whatever time it says it was made at', () => {
    const shortly = authority.issue('Shortly', { extendedKeyUsage: 'OCSPSigning', until: new Date(Date.now() + hourMs / 2) });
    const answer = readOcspAnswer(authority.ocspAnswer(request(good), { responder: shortly }));
    expect(ocspStatus(answer, question(good))).toEqual({ kind: 'good' });
    expect(ocspStatus(answer, question(good, { at: new Date(Date.now() + hourMs) }))).toMatchObject({
      kind: 'undetermined',
      why: expect.stringContaining('not authorised') as unknown,
    });
  });

  test.each<[string, { producedDays: number; thisDays: number; nextDays?: number }, string]>([
    ['is made in the future', { producedDays: 3000, thisDays: -1 }, 'dated in the future'],
    ['is made in the future, and has an end', { producedDays: 1, thisDays: 0, nextDays: 2 }, 'dated in the future'],
    ['speaks about a time after it was made', { producedDays: -100, thisDays: 0, nextDays: 1 }, 'later than producedAt'],
    ['is new, speaks about long ago, and has no end', { producedDays: 0, thisDays: -400 }, 'too old'],
  ])('does not count that %s', (_name, { producedDays, thisDays, nextDays }, why) => {
    const at = new Date();
    const days = (count: number): Date => new Date(at.getTime() + count * 24 * hourMs);
    const answer = readOcspAnswer(authority.ocspAnswer(request(good)));
    const changed: OcspAnswer = {
      ...answer,
      producedAt: days(producedDays),
      answers: answer.answers.map((one) => ({
        ...one,
        thisUpdate: days(thisDays),
        nextUpdate: nextDays === undefined ? undefined : days(nextDays),
      })),
    };
    expect(ocspStatus(changed, question(good, { at }))).toMatchObject({
      kind: 'undetermined',
      why: expect.stringContaining(why) as unknown,
    });
  });

  test('of a serial number that was never issued leaves the status open', () => {
    const stranger = { ...read(good), serialNumber: Uint8Array.of(1, 2, 3) };
    const answer = readOcspAnswer(authority.ocspAnswer(ocspRequest(stranger, issuer, nonce)));
    expect(ocspStatus(answer, question(good, { certificate: stranger }))).toMatchObject({
      kind: 'undetermined',
      why: expect.stringContaining('does not know') as unknown,
    });
  });

  test('that was changed anywhere is not good for another status', () => {
    const bytes = authority.ocspAnswer(request(revoked), { responder: delegate });
    assert(
      property(integer({ min: 0, max: bytes.length - 1 }), constantFrom(0, 1, 0x30, 0x80, 0x82, 0xff), (index, value) => {
        const changed = Uint8Array.from(bytes);
        changed[index] = value;
        try {
          expect(ocspStatus(readOcspAnswer(changed), question(revoked)).kind).not.toBe('good');
        } catch (error) {
          if (!(error instanceof DerError)) throw error;
        }
      }),
      { numRuns: 1000 },
    );
  });
});

test('a request is what OpenSSL reads it as', () => {
  const text = openssl(['ocsp', '-reqin', '{request}', '-req_text'], { request: request(good) });
  expect(text).toContain(`Serial Number: ${Buffer.from(read(good).serialNumber).toString('hex').toUpperCase().replace(/^00/, '')}`);
  expect(text).toContain('OCSP Nonce');
  expect(openssl(['ocsp', '-reqin', '{request}', '-req_text'], { request: ocspRequest(read(good), issuer, undefined) })).not.toContain(
    'Nonce',
  );
});

test('a refusal of the responder is no answer', () => {
  expect(() => readOcspAnswer(Buffer.from('30030a0106', 'hex'))).toThrow('the responder refused: unauthorized');
});
