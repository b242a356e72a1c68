import { createHash, type KeyObject } from 'node:crypto';
import type { ByteSource } from '../asn1/byte-source.ts';
import { oids } from '../asn1/object-identifiers.ts';
import { children, DerError, readObjectIdentifier, type DerElement } from '../asn1/reader.ts';
import { readCertificate, type Certificate } from '../x509/certificate.ts';
import { areLight } from '../x509/certificate-load.ts';
import { Fault, isFault } from '../faults.ts';
import type { HashName } from '../token/signature-algorithm.ts';
import { hasSoundExponent, KeyRefused, readPublicKey } from '../verification/public-key.ts';
import { verificationMicroseconds } from '../verification/effort.ts';
import { obsoleteIn, strengthFault } from '../verification/signature-strength.ts';
import { dataVerifies, valueVerifies } from '../verification/verify-value.ts';
import { hashOfIdentifier, nameOfUnsupported, readSignatureAlgorithm } from './algorithm-identifier.ts';
import { areAttributes } from './attributes-as-content.ts';
import { attributeValues, readSignerInfo, type ReadSignerInfo } from './read-signer-info.ts';

/** Content covered by a SignerInfo. */
export interface CoveredContent {
  readonly contentType: string;
  digestBy(hash: HashName): Uint8Array;
  /**
   * The content itself. Absent where it cannot be signed attributes: a PDF, a digest, a TSTInfo.
   */
  readonly octets?: ByteSource | undefined;
  /** The hash by which the content covers something else, if it does. */
  readonly hashWithin?: HashName | undefined;
}

/** Limit on the work for signatures that are verified on the event loop. */
const quickMicroseconds = 2000;

/** Thrown for an invalid signature. The message is for callers. */
export class SignatureBroken extends Error {}

/** Returns the digest algorithm of a SignerInfo, if it is known. @throws {DerError} */
export function digestHashOf({ digestAlgorithm }: ReadSignerInfo): HashName | undefined {
  return hashOfIdentifier(digestAlgorithm);
}

/**
 * Checks one signature: message-digest, content-type, the certificate bound by signing-certificate,
 * and the value (RFC 5652 §5.6, RFC 5035 §5.4). Chain, validity and revocation are not checked.
 * Returns the hashes that it depends on.
 * @throws {SignatureBroken} or, for a malformed SignerInfo, {DerError}
 */
export function checkSignerInfo(
  info: ReadSignerInfo,
  content: CoveredContent,
  certificate: Certificate,
  publicKey: KeyObject,
): readonly HashName[] {
  const digestHash = must(digestHashOf(info), `uses an unsupported hash: ${nameOfUnsupported(info.digestAlgorithm)}`);
  const { signedAttributes: attributes } = info;
  if (attributes === undefined) {
    must(content.contentType === oids.data, 'lacks the signed attributes that its content type requires');
    must(
      content.octets === undefined || !areAttributes(content.octets),
      'lacks signed attributes, and its content is the signed attributes of another signature',
    );
  } else {
    must(readObjectIdentifier(only(attributes, oids.contentType)) === content.contentType, 'is for another content type');
    must(same(only(attributes, oids.messageDigest).content, content.digestBy(digestHash)), 'does not match the content');
    must(bindsCertificate(attributes, certificate), 'binds another certificate');
  }
  must(hasSoundExponent(publicKey), 'is by an RSA key whose public exponent is not an odd number from 65537 on');
  const [oid] = children(info.signatureAlgorithm);
  if (oid !== undefined && readObjectIdentifier(oid) === oids.ed25519 && attributes !== undefined) {
    must(dataVerifies(publicKey, { scheme: 'EDDSA' }, attributes, info.signature), 'has a value that does not verify');
    return [digestHash];
  }
  const algorithm = must(
    readSignatureAlgorithm(info.signatureAlgorithm, digestHash),
    `uses an unsupported algorithm: ${nameOfUnsupported(info.signatureAlgorithm)}`,
  );
  must(
    (publicKey.asymmetricKeyType === 'ec') === (algorithm.scheme === 'ECDSA') && publicKey.asymmetricKeyType !== 'ed25519',
    "uses an algorithm that does not match the signer's key",
  );
  const digest = attributes === undefined ? content.digestBy(algorithm.hash) : createHash(algorithm.hash).update(attributes).digest();
  must(valueVerifies(publicKey, algorithm, digest, info.signature), 'has a value that does not verify');
  return [digestHash, algorithm.hash];
}

/**
 * Checks each SignerInfo with the certificate that it names, among the given ones. Returns what is
 * obsolete in those that hold, with the number of each. `mustBeQuick`: on the event loop.
 * @throws {SignatureBroken} for the first invalid one, and for one by a weak key
 * @throws {Fault} NOT_QUICK
 */
export function checkSignerInfos(
  signerInfos: readonly Uint8Array[],
  certificates: readonly Uint8Array[],
  content: CoveredContent,
  { mustBeQuick = false }: { readonly mustBeQuick?: boolean } = {},
): readonly string[] {
  if (mustBeQuick && !areLight(certificates)) throw new Fault('NOT_QUICK');
  const known = certificates.flatMap(certificateOf);
  let microseconds = 0;
  return signerInfos.flatMap((bytes, index) => {
    const name = `signature ${index + 1} of ${signerInfos.length}`;
    try {
      const info = readSignerInfo(bytes);
      const certificate = must(
        known.find((one) => names(info.signer, one)),
        "comes without its signer's certificate",
      );
      const key = readPublicKey(certificate.subjectPublicKeyInfo);
      const weakness = strengthFault(key);
      if (weakness !== undefined) throw new SignatureBroken(weakness);
      microseconds += verificationMicroseconds(key);
      if (mustBeQuick && microseconds > quickMicroseconds) throw new Fault('NOT_QUICK');
      const hashes = checkSignerInfo(info, content, certificate, key);
      const obsolete = obsoleteIn(key, [...hashes, content.hashWithin ?? '']);
      return obsolete === undefined ? [] : [`${name} ${obsolete}`];
    } catch (error) {
      if (isFault(error, 'NOT_QUICK')) throw error;
      // A key that OpenSSL rejects is a fault of the file as well.
      throw new SignatureBroken(`${name} ${whyBroken(error)}`, { cause: error });
    }
  });
}

function whyBroken(error: unknown): string {
  if (error instanceof SignatureBroken) return error.message;
  if (error instanceof KeyRefused) return `cannot be verified: the key of its signer ${error.message}`;
  return error instanceof DerError ? 'is not well formed' : 'cannot be verified';
}

function certificateOf(bytes: Uint8Array): Certificate[] {
  try {
    return [readCertificate(bytes)];
  } catch (error) {
    if (error instanceof DerError) return [];
    throw error;
  }
}

/** Whether a SignerIdentifier names the certificate. */
export function names(signer: DerElement, certificate: Certificate): boolean {
  if (signer.tag === 0x80) return certificate.subjectKeyIdentifier !== undefined && same(signer.content, certificate.subjectKeyIdentifier);
  const [issuer, serialNumber] = children(signer);
  return (
    issuer !== undefined &&
    serialNumber !== undefined &&
    same(issuer.raw, certificate.issuer) &&
    same(serialNumber.content, certificate.serialNumber)
  );
}

/**
 * Whether the first identifier in signing-certificate-v2 (SHA-256 by default) or
 * signing-certificate is the signer's (RFC 5035 §5.4).
 */
function bindsCertificate(attributes: Uint8Array, certificate: Certificate): boolean {
  const values = [oids.signingCertificateV2, oids.signingCertificate].flatMap((type) =>
    attributeValues(attributes, type).map((value) => ({ value, usual: type === oids.signingCertificateV2 ? 'sha256' : 'sha1' }) as const),
  );
  return values.every(({ value, usual }) => {
    const [list] = children(value);
    const [first] = list === undefined ? [] : children(list);
    const parts = first === undefined ? [] : children(first);
    const hash = parts[0]?.tag === 0x30 ? hashOfIdentifier(parts[0]) : usual;
    const digest = parts.find(({ tag }) => tag === 0x04);
    return hash !== undefined && digest !== undefined && same(digest.content, createHash(hash).update(certificate.der).digest());
  });
}

function only(attributes: Uint8Array, type: string): DerElement {
  const values = attributeValues(attributes, type);
  return must(values.length === 1 ? values[0] : undefined, `does not have exactly one value of the attribute ${type}`);
}

function same(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}

function must<T>(value: T | undefined | false, otherwise: string): T {
  if (value === undefined || value === false) throw new SignatureBroken(otherwise);
  return value;
}
