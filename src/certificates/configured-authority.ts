import { X509Certificate, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ecdsaValueToDer } from '../asn1/ecdsa-value.ts';
import { KeyGone, type Token } from '../token/token.ts';
import { keyTrial, parseKeyId, type KeyId } from '../token/key-id.ts';
import type { HashName, SignatureAlgorithm } from '../token/signature-algorithm.ts';
import { readPublicKey } from '../verification/public-key.ts';
import { dataVerifies } from '../verification/verify-value.ts';
import { ConfigError } from '../config/config-error.ts';
import type { PublicationUrls } from '../config/profile.ts';
import { chainsOf } from './chains.ts';
import type { CertificateIssuer } from './issue.ts';
import { isIssuedBy } from '../x509/issued-by.ts';
import { readCertificate } from '../x509/certificate.ts';

export interface AuthorityFiles {
  readonly urls?: PublicationUrls;
  readonly certificate: string;
  readonly chain: readonly string[];
  readonly crossCertificates?: readonly string[];
  readonly keyId: string;
}

/**
 * Reads a certificate and its chain from files.
 * @throws {Error} if the files do not form a chain
 */
export function readChain({ certificate, chain }: Pick<AuthorityFiles, 'certificate' | 'chain'>): X509Certificate[] {
  const certificates = [certificate, ...chain].map((file) => new X509Certificate(readFileSync(file)));
  for (const [index, one] of certificates.entries()) {
    const above = certificates[index + 1];
    if (above !== undefined && !isIssuedBy(one, above)) {
      throw new Error(`${[certificate, ...chain][index + 1]} did not issue ${[certificate, ...chain][index]}`);
    }
  }
  return certificates;
}

/**
 * Loads a configured certificate authority: certificate and chain from files, the key on the token.
 * @throws {Error} if the files do not form a chain
 */
export function loadAuthority(
  token: Pick<Token, 'signAsService'>,
  { certificate, chain, keyId, urls = {}, crossCertificates = [] }: AuthorityFiles,
): CertificateIssuer {
  const certificates = readChain({ certificate, chain });
  const ders = certificates.map(({ raw }) => new Uint8Array(raw));
  const [own] = ders;
  if (own === undefined) throw new Error('a certificate authority without a certificate');
  const [first] = certificates;
  const known = [...certificates, ...crossCertificates.map((file) => new X509Certificate(readFileSync(file)))];
  const otherChains = first === undefined || crossCertificates.length === 0 ? [] : chainsOf(first, known);
  return { ...tokenIssuer(token, parseKeyId(keyId), own, ders), urls, otherChains };
}

/**
 * Checks that the key on the token matches the certificate, before anything is issued with it.
 * `member`: its place in the configuration, for the message.
 * @throws {ConfigError} if it does not match, or is not on the token
 */
export async function checkAuthorityKey(
  member: string,
  { certificate, sign }: Pick<CertificateIssuer, 'certificate' | 'sign'>,
): Promise<void> {
  const key = readPublicKey(certificate.subjectPublicKeyInfo);
  const value = await sign(keyTrial).catch((error: unknown) => {
    throw error instanceof KeyGone ? new ConfigError(`${member}.keyId: the token has no such key`) : error;
  });
  if (!dataVerifies(key, algorithmOf(key), keyTrial, value))
    throw new ConfigError(`${member}: the key on the token does not match the certificate`);
}

/** Returns an issuer whose key is on the token. `chain` starts with its own certificate. */
export function tokenIssuer(
  token: Pick<Token, 'signAsService'>,
  keyId: KeyId,
  certificate: Uint8Array,
  chain: readonly Uint8Array[],
): CertificateIssuer {
  const parsed = readCertificate(certificate);
  const { signatureAlgorithm, sign } = tokenSigner(token, keyId, parsed.subjectPublicKeyInfo);
  return { certificate: parsed, chain, signatureAlgorithm, sign };
}

/**
 * Returns a signer that uses a service key; the public key determines the algorithm. ECDSA values
 * are in DER.
 */
export function tokenSigner(
  token: Pick<Token, 'signAsService'>,
  keyId: KeyId,
  subjectPublicKeyInfo: Uint8Array,
): Pick<CertificateIssuer, 'signatureAlgorithm' | 'sign'> & { readonly algorithm: SignatureAlgorithm } {
  const algorithm = algorithmOf(readPublicKey(subjectPublicKeyInfo));
  const { hash } = algorithm;
  const isRsa = algorithm.scheme === 'RSA_PKCS1';
  return {
    algorithm,
    signatureAlgorithm: isRsa ? 'sha256WithRSAEncryption' : hash === 'sha384' ? 'ecdsaWithSHA384' : 'ecdsaWithSHA256',
    async sign(tbs) {
      const value = await token.signAsService(keyId, algorithm, tbs);
      return isRsa ? value : ecdsaValueToDer(value);
    },
  };
}

/** Returns the algorithm that an authority uses with its key. */
function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): SignatureAlgorithm {
  const hash: HashName = asymmetricKeyDetails?.namedCurve === 'secp384r1' ? 'sha384' : 'sha256';
  return { scheme: asymmetricKeyType === 'rsa' ? 'RSA_PKCS1' : 'ECDSA', hash };
}
