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
  /** The certificates above it, the root last. */
  readonly chain: readonly string[];
}

/** Certificate and chain of a time-stamp authority in DER. @throws {Error} where nobody could verify a token under them */
export function readTimeStampChain(files: SignerFiles): Uint8Array[] {
  const chain = readChain(files).map(({ raw }) => new Uint8Array(raw));
  checkChain(chain.map(pathCertificate));
  return chain;
}

/** The signer that the configuration names, its key on the token. @throws {Error} as `readTimeStampChain` */
export function loadTimeStampSigner(
  token: Pick<Token, 'signAsService'>,
  { keyId, ...files }: SignerFiles & { readonly keyId: string },
): TokenSigner {
  const chain = readTimeStampChain(files);
  const [own] = chain;
  if (own === undefined) throw new Error('a time-stamp authority has a certificate');
  const certificate = readCertificate(own);
  const { algorithm, sign } = tokenSigner(token, parseKeyId(keyId), certificate.subjectPublicKeyInfo);
  return { certificate, chain, algorithm, sign };
}

function checkChain(chain: readonly PathCertificate[]): void {
  const [own, root] = [chain[0], chain.at(-1)];
  if (own === undefined || root === undefined || own === root || !root.isSignedBy(root))
    throw new Error('the chain does not end with a self-signed certificate');
  // RFC 3161 §2.3.
  if (!isForTimeStamping(own)) throw new Error('the one purpose of its key is not time-stamping (extendedKeyUsage), marked critical');
  // When all of them were valid: whether they are so now, is asked for each token.
  const at = new Date(Math.max(...chain.map(({ notBefore }) => notBefore.getTime())));
  findPath(own, { anchors: [root], intermediates: chain.slice(1, -1) }, { at, purpose: oids.timeStamping });
}
