import { randomBytes } from 'node:crypto';
import * as der from '../../src/asn1/der.ts';
import { oids } from '../../src/asn1/object-identifiers.ts';
import { checkpointText } from '../../src/audit/checkpoint.ts';
import { createIssuingCa, authorityRequest } from '../../src/certificates/authority.ts';
import { certificateList } from '../../src/certificates/crl/certificate-list.ts';
import { basicResponse } from '../../src/certificates/ocsp/ocsp-response.ts';
import { responderCertificate } from '../../src/certificates/ocsp/responder-certificate.ts';
import { toBeSigned } from '../../src/certificates/signed-certificate.ts';
import * as standard from '../../src/certificates/standard-extensions.ts';
import { subjectName } from '../../src/certificates/subject.ts';
import { serialNumberBytes } from '../../src/state/tables/revocation.ts';
import { createTimeStampCertificate } from '../../src/timestamp/authority-certificate.ts';
import { timeStampToken } from '../../src/timestamp/token-writer.ts';
import { signing, softwareAuthority, softwareKey } from '../certificates/software-authority.ts';

const dayMs = 86_400_000;

/** What the service has signed, each as the bytes that the signature is over, made by the code of the product with keys in memory. */
export type PurposeMessages = Readonly<
  Record<
    | 'subscriber'
    | 'responder'
    | 'timeStampAuthority'
    | 'authority'
    | 'request'
    | 'revocationList'
    | 'emptyList'
    | 'responseData'
    | 'revokedResponse'
    | 'timeStampAttributes'
    | 'checkpoint',
    Buffer
  >
>;

/** A TBSCertificate of a subscriber, with these extensions (DER) instead of its own. */
export function tbsCertificate(extensions: readonly Uint8Array[] = subscriberExtensions(), days = 1): Buffer {
  const { subjectPublicKeyInfo } = softwareKey('P-256');
  const name = subjectName({ country: 'FR', commonName: 'Issuing CA' });
  const notBefore = new Date('2026-03-02T10:00:00Z');
  const content = { subject: subjectName({ country: 'FR', commonName: 'Camille Martin' }), subjectPublicKeyInfo, extensions };
  return Buffer.from(
    toBeSigned(
      { name, signatureAlgorithm: 'ecdsaWithSHA256' },
      { ...content, notBefore, notAfter: new Date(notBefore.getTime() + days * dayMs), serialNumber: randomBytes(16) },
    ),
  );
}

export function subscriberExtensions(): Uint8Array[] {
  return [standard.keyUsage(['contentCommitment']).der, standard.extension(oids.basicConstraints, der.sequence(), true).der];
}

export async function purposeMessages(entries = 3): Promise<PurposeMessages> {
  const { issuer } = await softwareAuthority('P-256');
  let last = Buffer.alloc(0);
  /** Signs as its key does, and keeps what it is given. */
  const keeping = <S extends { sign(tbs: Uint8Array): Promise<Uint8Array> }>(signer: S): S => ({
    ...signer,
    sign: async (tbs: Uint8Array) => {
      last = Buffer.from(tbs);
      return signer.sign(tbs);
    },
  });
  const messageOf = async (work: Promise<unknown>): Promise<Buffer> => {
    await work;
    return last;
  };
  const authority = keeping(issuer);
  const { subject, subjectPublicKeyInfo, notBefore } = issuer.certificate;
  const now = new Date(Math.floor(Date.now() / 1000) * 1000);
  const later = new Date(now.getTime() + dayMs);
  const key = softwareKey('P-256');
  const name = subjectName({ country: 'FR', commonName: 'Somebody' });
  const own = { name, subjectPublicKeyInfo: key.subjectPublicKeyInfo, notBefore: now, notAfter: later };
  const signer = { name: subject, subjectPublicKeyInfo, signatureAlgorithm: issuer.signatureAlgorithm, sign: authority.sign };
  const list = async (count: number): Promise<Buffer> =>
    messageOf(
      certificateList(signer, {
        ...{ number: 7, thisUpdate: now, nextUpdate: later },
        revoked: {
          count,
          serialNumbers: randomBytes(count * serialNumberBytes),
          revokedAt: Float64Array.from({ length: count }, () => now.getTime()),
          reasons: Uint8Array.from({ length: count }, (_, index) => index % 6),
        },
      }),
    );
  const responderKey = { subjectPublicKeyInfo: key.subjectPublicKeyInfo, certificate: issuer.certificate.der, ...keeping(signing(key)) };
  const certId = der.sequence(
    der.sequence(der.oid(oids.sha1), der.nullValue()),
    der.octetString(randomBytes(20)),
    der.octetString(randomBytes(20)),
    der.integer(randomBytes(16)),
  );
  const answer = async (isRevoked: boolean): Promise<Buffer> =>
    messageOf(
      basicResponse(responderKey, {
        responses: [{ certId, status: isRevoked ? { kind: 'revoked', revokedAt: now, reason: 1 } : { kind: 'good' } }],
        ...{ thisUpdate: now, nextUpdate: later, extendedRevoke: isRevoked },
        ...(isRevoked ? { nonce: randomBytes(16), archiveCutoff: notBefore } : {}),
      }),
    );
  const stamper = { certificate: issuer.certificate, chain: issuer.chain, algorithm: { scheme: 'ECDSA', hash: 'sha256' } } as const;
  return {
    subscriber: tbsCertificate(),
    responder: await messageOf(
      responderCertificate(authority, {
        ...{ authority: 'issuing', subjectPublicKeyInfo: key.subjectPublicKeyInfo },
        ...{ serialNumber: randomBytes(16), now: now.getTime(), lifetimeMs: dayMs },
      }),
    ),
    timeStampAuthority: await messageOf(createTimeStampCertificate(authority, { ...own, urls: {} })),
    authority: await messageOf(createIssuingCa(authority, { ...own, serialNumber: randomBytes(16) })),
    request: await messageOf(authorityRequest(signer)),
    revocationList: await list(entries),
    emptyList: await list(0),
    responseData: await answer(false),
    revokedResponse: await answer(true),
    timeStampAttributes: await messageOf(
      timeStampToken({ ...stamper, ...keeping(signing(key)) }, randomBytes(100), { withCertificates: false }),
    ),
    checkpoint: Buffer.from(checkpointText({ log: 'a', records: 3, hash: 'f'.repeat(64), time: now.toISOString() })),
  };
}
