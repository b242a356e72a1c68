import { createHash } from 'node:crypto';
import { bytesBetween, bytesInMemory } from '../asn1/byte-source.ts';
import * as der from '../asn1/der.ts';
import { oids } from '../asn1/object-identifiers.ts';
import { DerError, children, readAll, type DerElement } from '../asn1/reader.ts';
import type { ValidPath } from '../x509/path/check-path.ts';
import { NoAnchor, PathFault } from '../x509/path/path-fault.ts';
import { pathCertificate, type PathCertificate } from '../x509/path/path-certificate.ts';
import { verifyPaths } from '../x509/path/verify-paths.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import { readCertificate } from '../x509/certificate.ts';
import { areLight, elementsMax } from '../x509/certificate-load.ts';
import { readSignedData } from '../cms/read-signed-data.ts';
import { attributeValues, readSignerInfo, type ReadSignerInfo } from '../cms/read-signer-info.ts';
import { checkSignerInfo, names, SignatureBroken } from '../cms/verify-signer-info.ts';
import { RequestRejected, type ImprintHash, type MessageImprint } from './request.ts';
import { tokenPath, type TokenTrust } from './token-path.ts';
import { readTstInfo, tstInfoType, type TstInfo } from './tst-info.ts';
import { readHashIdentifier, readSignatureIdentifier } from '../x509/signature-identifier.ts';

/**
 * Thrown for a token that does not match the request or does not verify. The message is for
 * callers.
 */
export class TokenInvalid extends Error {}

/** Expectations for a token. */
export interface ExpectedToken extends TokenTrust {
  /** The stamped data: its digest, or a function that digests it with the token's hash. */
  readonly imprint: MessageImprint | ((hash: ImprintHash) => Uint8Array);
  /** Content octets of the INTEGER sent; a token with no nonce or another one is rejected. */
  readonly nonce?: Uint8Array | undefined;
  readonly policy?: string | undefined;
  /** Time of the request; absent: any time in the past is accepted. */
  readonly askedAt?: Date | undefined;
  /** Whether SHA-1 is accepted. */
  readonly allowSha1?: boolean | undefined;
}

/** A verified token. */
export interface CheckedToken {
  readonly der: Uint8Array;
  readonly info: TstInfo;
  readonly path: ValidPath;
}

/** Tolerance for a token's time: ahead of our clock or, beyond its accuracy, before the request. */
const toleranceMs = 300_000;
/** SOG-IS, ETSI TS 119 312: shorter keys are obsolete. */
const modulusMinBits = 2048;
/**
 * A token contains at most the chain of its signer. Parsing a certificate takes up to half a
 * millisecond.
 */
const certificatesMax = 50;

/**
 * Checks a TimeStampToken in full (RFC 3161 §2.2 to §2.4, RFC 5816): imprint, nonce, policy, time,
 * single signer, certificate bound by ESS, key purpose, chain at the time of the token, and value.
 * Revocation is checked elsewhere.
 * @throws {TokenInvalid}
 */
export function checkToken(token: Uint8Array, expected: ExpectedToken, now: Date): CheckedToken {
  try {
    return check(token, expected, now);
  } catch (error) {
    throw tokenFault(error);
  }
}

/** Returns what to throw for an error of a check: a fault of the token as `TokenInvalid`. */
function tokenFault(error: unknown): unknown {
  if (error instanceof SignatureBroken) return new TokenInvalid(`the time-stamp ${error.message}`, { cause: error });
  if (error instanceof PathFault) {
    const remedy = error instanceof NoAnchor ? '; add its root, or a CA in its chain, to timeStamps.anchors in the configuration' : '';
    return new TokenInvalid(`the certificate of the time-stamp authority: ${error.message}${remedy}`, { cause: error });
  }
  if (error instanceof DerError || error instanceof RequestRejected)
    return new TokenInvalid(`the time-stamp cannot be parsed: ${error.message}`, { cause: error });
  return error;
}

/**
 * As `checkToken`; the chain is verified in a thread, if that takes long. Whoever answered for an
 * authority chose the certificates.
 * @throws {TokenInvalid}
 */
export async function checkTokenAhead(
  token: Uint8Array,
  expected: ExpectedToken,
  now: Date,
  threads: Pick<WorkThreads, 'run'>,
): Promise<CheckedToken> {
  try {
    const { certificates } = readSignedData(bytesInMemory(token));
    if (certificates.length <= certificatesMax && areLight(certificates))
      await verifyPaths([...certificates.flatMap(readable), ...(expected.intermediates ?? [])], expected.anchors, threads);
  } catch (error) {
    throw tokenFault(error);
  }
  return checkToken(token, expected, now);
}

function check(token: Uint8Array, expected: ExpectedToken, now: Date): CheckedToken {
  const source = bytesInMemory(token);
  const data = readSignedData(source);
  must(data.contentType === tstInfoType && data.content !== undefined, 'contains no TSTInfo');
  const content = der.concat(...(data.content ?? []).map(({ start, end }) => bytesBetween(source, start, end)));
  const info = readTstInfo(content);
  checkInfo(info, expected, now);
  const [signerInfo, ...more] = data.signerInfos;
  must(signerInfo !== undefined && more.length === 0, 'does not have exactly one signer');
  const signer = readSignerInfo(signerInfo ?? new Uint8Array());
  must(hasCertificateReference(signer.signedAttributes), 'does not bind its signing certificate');
  must(data.certificates.length <= certificatesMax, `has more than ${certificatesMax} certificates`);
  must(areLight(data.certificates), `has certificates with more than ${elementsMax.together} elements together`);
  const certificates = data.certificates.flatMap(readable);
  const own = certificates.find((one) => names(signer.signer, readCertificate(one.der)));
  if (own === undefined) throw new TokenInvalid("the time-stamp does not contain its signer's certificate");
  if (own.publicKey === undefined) throw new TokenInvalid("the key of the time-stamp's signer is not supported");
  const digestBy = (hash: string): Buffer => createHash(hash).update(content).digest();
  checkSignerInfo(signer, { contentType: tstInfoType, digestBy }, readCertificate(own.der), own.publicKey);
  must(isForTimeStamping(own), 'is signed by a certificate without time-stamping as its only key purpose, marked critical');
  must(info.time >= own.notBefore && info.time <= own.notAfter, "has a time outside the validity period of its signer's certificate");
  const others = certificates.filter((one) => one !== own);
  const path = tokenPath(own, others, expected, info.time);
  checkStrength({ info, signer, path: path.path }, own, expected);
  return { der: token, info, path };
}

function checkStrength(parts: Parameters<typeof sha1In>[0], { publicKey }: PathCertificate, { allowSha1 }: ExpectedToken): void {
  const weak = allowSha1 === true ? undefined : sha1In(parts);
  must(weak === undefined, `depends on SHA-1: ${weak ?? ''}`);
  const bits = publicKey?.asymmetricKeyDetails?.modulusLength ?? modulusMinBits;
  must(bits >= modulusMinBits, `is signed with an RSA key of ${bits} bits`);
}

function checkInfo(info: TstInfo, { imprint, nonce, policy, askedAt }: ExpectedToken, now: Date): void {
  const wanted = typeof imprint === 'function' ? { hash: info.imprint.hash, value: imprint(info.imprint.hash) } : imprint;
  must(info.imprint.hash === wanted.hash && same(info.imprint.value, wanted.value), 'is for other data');
  must(nonce === undefined || (info.nonce !== undefined && same(info.nonce, nonce)), 'does not have the nonce that was sent');
  must(policy === undefined || info.policy === policy, `has the policy ${info.policy}, which was not requested`);
  must(info.time.getTime() <= now.getTime() + toleranceMs, 'has a time in the future');
  const { seconds = 0, milliseconds = 0 } = info.accuracy ?? {};
  const latestMs = info.time.getTime() + 1000 * seconds + milliseconds;
  must(askedAt === undefined || latestMs >= askedAt.getTime() - toleranceMs, `has a time before the request, ${info.time.toISOString()}`);
}

/**
 * Whether an ESS attribute is present (RFC 5035 §5.4): signing-certificate-v2, or the old one with
 * SHA-1. Every token must have one (RFC 3161 §2.4.2); `checkSignerInfo` compares it with the
 * signer's certificate.
 */
function hasCertificateReference(attributes: Uint8Array | undefined): boolean {
  return (
    attributes !== undefined &&
    [oids.signingCertificateV2, oids.signingCertificate].some((type) => attributeValues(attributes, type).length > 0)
  );
}

/** Whether the extended key usage is critical and names only time-stamping (RFC 3161 §2.3). */
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

/** The parts of a token that determine its strength. */
interface TokenParts {
  readonly info: TstInfo;
  readonly signer: ReadSignerInfo;
  /** Below the trust anchor, whose own signature is irrelevant. */
  readonly path: readonly PathCertificate[];
}

/**
 * Returns the part of a token that depends on SHA-1, in words, or undefined. Collisions are
 * practical (RFC 6194), and validators reject such time-stamps. The attribute that binds the
 * certificate does not count: it only needs second-preimage resistance, and signing-certificate
 * (RFC 3161 §2.4.1) supports no other hash.
 * @throws {DerError}
 */
export function sha1In({ info, signer, path }: TokenParts): string | undefined {
  if (info.imprint.hash === 'sha1') return 'its message imprint';
  if (readHashIdentifier(signer.digestAlgorithm) === 'sha1' || isSha1Signature(signer.signatureAlgorithm)) return 'its signature';
  return path.some((one) => isSha1Signature(children(readAll(one.der))[1])) ? 'a certificate of its authority' : undefined;
}

function isSha1Signature(identifier: DerElement | undefined): boolean {
  const read = identifier === undefined ? undefined : readSignatureIdentifier(identifier);
  return read !== undefined && 'hash' in read && read.hash === 'sha1';
}
