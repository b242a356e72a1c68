import { createHash } from 'node:crypto';
import { bytesBetween, bytesInMemory } from '../asn1/byte-source.ts';
import * as der from '../asn1/der.ts';
import { oids } from '../asn1/object-identifiers.ts';
import { DerError } from '../asn1/reader.ts';
import type { ValidPath } from '../x509/path/check-path.ts';
import { PathFault } from '../x509/path/path-fault.ts';
import { NoAnchor } from '../x509/path/find-path.ts';
import { pathCertificate, type PathCertificate } from '../x509/path/path-certificate.ts';
import { readCertificate } from '../x509/certificate.ts';
import { readSignedData } from '../cms/read-signed-data.ts';
import { attributeValues, readSignerInfo } from '../cms/read-signer-info.ts';
import { checkSignerInfo, names, SignatureBroken } from '../cms/verify-signer-info.ts';
import { RequestRejected, type ImprintHash, type MessageImprint } from './request.ts';
import { sha1In } from './sha1-in-token.ts';
import { tokenPath, type TokenTrust } from './token-path.ts';
import { readTstInfo, tstInfoType, type TstInfo } from './tst-info.ts';

/** A token that is not what was asked for, or does not verify. The message is for callers. */
export class TokenInvalid extends Error {}

/** What a token must be. */
export interface ExpectedToken extends TokenTrust {
  /** What was stamped: its digest, or what digests it by the hash of the token. */
  readonly imprint: MessageImprint | ((hash: ImprintHash) => Uint8Array);
  /** Content octets of the INTEGER that was sent; a token without it, or with another one, is refused. */
  readonly nonce?: Uint8Array | undefined;
  readonly policy?: string | undefined;
  /** When it was asked for; absent: it may be of any time that has passed. */
  readonly askedAt?: Date | undefined;
  /** Whether it may rest on SHA-1. */
  readonly allowSha1?: boolean | undefined;
}

/** A token that holds. */
export interface CheckedToken {
  readonly der: Uint8Array;
  readonly info: TstInfo;
  readonly path: ValidPath;
}

/** The time of a token may lie ahead of ours by so much, and, its accuracy aside, before it was asked for. */
const toleranceMs = 300_000;
/** SOG-IS, ETSI TS 119 312: shorter keys are of the past. */
const modulusMinBits = 2048;
/** A token has the chain of its signer, if that. To read a certificate takes up to half a millisecond. */
const certificatesMax = 50;

/**
 * Checks a TimeStampToken in full (RFC 3161 §2.2 to §2.4, RFC 5816): imprint, nonce, policy, time, one signer, its certificate bound by ESS, its one
 * purpose, its chain at the time of the token, and the value. Revocation needs more than the token. @throws {TokenInvalid}
 */
export function checkToken(token: Uint8Array, expected: ExpectedToken, now: Date): CheckedToken {
  try {
    return check(token, expected, now);
  } catch (error) {
    if (error instanceof TokenInvalid) throw error;
    if (error instanceof SignatureBroken) throw new TokenInvalid(`the time-stamp ${error.message}`, { cause: error });
    if (error instanceof PathFault) {
      const remedy =
        error instanceof NoAnchor ? '; timeStamps.anchors of the configuration must have its root, or a CA on the way to it' : '';
      throw new TokenInvalid(`the certificate of the time-stamp authority: ${error.message}${remedy}`, { cause: error });
    }
    if (error instanceof DerError || error instanceof RequestRejected)
      throw new TokenInvalid(`the time-stamp cannot be read: ${error.message}`, { cause: error });
    throw error;
  }
}

function check(token: Uint8Array, expected: ExpectedToken, now: Date): CheckedToken {
  const source = bytesInMemory(token);
  const data = readSignedData(source);
  must(data.contentType === tstInfoType && data.content !== undefined, 'holds no TSTInfo');
  const content = der.concat(...(data.content ?? []).map(({ start, end }) => bytesBetween(source, start, end)));
  const info = readTstInfo(content);
  checkInfo(info, expected, now);
  const [signerInfo, ...more] = data.signerInfos;
  must(signerInfo !== undefined && more.length === 0, 'has not exactly one signer');
  const signer = readSignerInfo(signerInfo ?? new Uint8Array());
  must(hasCertificateReference(signer.signedAttributes), 'has no certificate bound to it');
  must(data.certificates.length <= certificatesMax, `has more than ${certificatesMax} certificates`);
  const certificates = data.certificates.flatMap(readable);
  const own = certificates.find((one) => names(signer.signer, readCertificate(one.der)));
  if (own === undefined) throw new TokenInvalid('the time-stamp does not hold the certificate of its signer');
  if (own.publicKey === undefined) throw new TokenInvalid("the key of the time-stamp's signer cannot be used");
  const digestBy = (hash: string): Buffer => createHash(hash).update(content).digest();
  checkSignerInfo(signer, { contentType: tstInfoType, digestBy }, readCertificate(own.der), own.publicKey);
  must(isForTimeStamping(own), 'is signed with a key whose one purpose is not time-stamping, marked critical');
  must(info.time >= own.notBefore && info.time <= own.notAfter, "has a time outside of the validity of its signer's certificate");
  const others = certificates.filter((one) => one !== own);
  const path = tokenPath(own, others, expected, info.time);
  checkStrength({ info, signer, path: path.path }, own, expected);
  return { der: token, info, path };
}

function checkStrength(parts: Parameters<typeof sha1In>[0], { publicKey }: PathCertificate, { allowSha1 }: ExpectedToken): void {
  const weak = allowSha1 === true ? undefined : sha1In(parts);
  must(weak === undefined, `rests on SHA-1: ${weak ?? ''}`);
  const bits = publicKey?.asymmetricKeyDetails?.modulusLength ?? modulusMinBits;
  must(bits >= modulusMinBits, `is signed with an RSA key of ${bits} bits`);
}

function checkInfo(info: TstInfo, { imprint, nonce, policy, askedAt }: ExpectedToken, now: Date): void {
  const wanted = typeof imprint === 'function' ? { hash: info.imprint.hash, value: imprint(info.imprint.hash) } : imprint;
  must(info.imprint.hash === wanted.hash && same(info.imprint.value, wanted.value), 'is of something else');
  must(nonce === undefined || (info.nonce !== undefined && same(info.nonce, nonce)), 'has another nonce than was sent');
  must(policy === undefined || info.policy === policy, `has the policy ${info.policy}, which was not asked for`);
  must(info.time.getTime() <= now.getTime() + toleranceMs, 'has a time in the future');
  const { seconds = 0, milliseconds = 0 } = info.accuracy ?? {};
  const latestMs = info.time.getTime() + 1000 * seconds + milliseconds;
  must(
    askedAt === undefined || latestMs >= askedAt.getTime() - toleranceMs,
    `has a time before it was asked for, ${info.time.toISOString()}`,
  );
}

/** ESS (RFC 5035 §5.4): signing-certificate-v2, or the old attribute with SHA-1. Every token has one of them (RFC 3161 §2.4.2); it is compared with the signer's below. */
function hasCertificateReference(attributes: Uint8Array | undefined): boolean {
  return (
    attributes !== undefined &&
    [oids.signingCertificateV2, oids.signingCertificate].some((type) => attributeValues(attributes, type).length > 0)
  );
}

/** RFC 3161 §2.3: the extension is critical, and time-stamping stands in it alone. */
export function isForTimeStamping({ extendedKeyUsage, keyUsage, isCa }: PathCertificate): boolean {
  const purposes = extendedKeyUsage?.purposes;
  const hasOne = extendedKeyUsage?.critical === true && purposes?.size === 1 && purposes.has(oids.timeStamping);
  return hasOne && !isCa && (keyUsage === undefined || [...keyUsage].every((bit) => bit <= 1));
}

function readable(bytes: Uint8Array): PathCertificate[] {
  try {
    return [pathCertificate(bytes)];
  } catch (error) {
    if (error instanceof DerError) return [];
    throw error;
  }
}

function same(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}

function must(holds: boolean, otherwise: string): void {
  if (!holds) throw new TokenInvalid(`the time-stamp ${otherwise}`);
}
