import { children, readAll, type DerElement } from '../asn1/reader.ts';
import type { PathCertificate } from '../x509/path/path-certificate.ts';
import { readHashIdentifier, readSignatureIdentifier } from '../x509/signature-identifier.ts';
import type { ReadSignerInfo } from '../cms/read-signer-info.ts';
import type { TstInfo } from './tst-info.ts';

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
