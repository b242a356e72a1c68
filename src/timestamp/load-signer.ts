import { readChain, tokenSigner } from '../certificates/configured-authority.ts';
import { findPath } from '../x509/path/find-path.ts';
import { pathCertificate, type PathCertificate } from '../x509/path/path-certificate.ts';
import { readCertificate } from '../x509/certificate.ts';
import { oids } from '../asn1/object-identifiers.ts';
import { parseKeyId } from '../token/key-id.ts';
import type { Token } from '../token/token.ts';
import { isForTimeStamping } from './check-token.ts';
import type { TokenSigner } from './token-writer.ts';

export interface SignerFiles {
  readonly certificate: string;
  /** Certificates above it, the root last. */
  readonly chain: readonly string[];
}

/**
 * Reads certificate and chain of a time-stamp authority, in DER.
 * @throws {Error} if tokens could not be verified with them
 */
export function readTimeStampChain(files: SignerFiles): Uint8Array[] {
  const chain = readChain(files).map(({ raw }) => new Uint8Array(raw));
  checkChain(chain.map(pathCertificate));
  return chain;
}

/**
 * Returns the configured signer, with its key on the token. Throws the same errors as
 * `readTimeStampChain`.
 */
export function loadTimeStampSigner(
  token: Pick<Token, 'signAsService'>,
  { keyId, ...files }: SignerFiles & { readonly keyId: string },
): TokenSigner {
  const chain = readTimeStampChain(files);
  const [own] = chain;
  if (own === undefined) throw new Error('a time-stamp authority without a certificate');
  const certificate = readCertificate(own);
  const { algorithm, sign } = tokenSigner(token, parseKeyId(keyId), certificate.subjectPublicKeyInfo);
  return { certificate, chain, algorithm, sign };
}

function checkChain(chain: readonly PathCertificate[]): void {
  const [own, root] = [chain[0], chain.at(-1)];
  if (own === undefined || root === undefined || own === root || !root.isSignedBy(root))
    throw new Error('the chain does not end with a self-signed certificate');
  // RFC 3161 §2.3.
  if (!isForTimeStamping(own)) throw new Error('extendedKeyUsage must be critical and contain only time-stamping');
  // At a time when all of them were valid; whether they are valid now is checked for each token.
  const at = new Date(Math.max(...chain.map(({ notBefore }) => notBefore.getTime())));
  findPath(own, { anchors: [root], intermediates: chain.slice(1, -1) }, { at, purpose: oids.timeStamping });
}
