import { X509Certificate, type KeyObject } from 'node:crypto';
import { DerError } from '../asn1/reader.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import { verifyAhead } from '../x509/known-signatures.ts';
import { isIssuedBy, possiblePairs } from '../x509/issued-by.ts';
import { chainsOf } from './chains.ts';
import { certificatesIn } from '../x509/pem.ts';
import { keyFault } from '../verification/key-bounds.ts';
import { hasSoundExponent, readPublicKey } from '../verification/public-key.ts';
import { readCertificate, type Certificate } from '../x509/certificate.ts';

/** Certificate of a signer whose key is held elsewhere. */
export interface SignerCertificate {
  readonly certificate: Certificate;
  readonly publicKey: KeyObject;
  readonly keyType: SignerKeyType;
}

/** As `KeyType`, with RSA of any length. */
export type SignerKeyType = `RSA-${number}` | 'P-256' | 'P-384' | 'P-521';

const curves = new Map<string | undefined, SignerKeyType>([
  ['prime256v1', 'P-256'],
  ['secp384r1', 'P-384'],
  ['secp521r1', 'P-521'],
]);
const tagSequence = 0x30;
/** More than any chain has. */
const maxCertificatesInText = 32;
const minModulusBits = 2048;

/** Returns one certificate in DER, or all (1 to 32) in a PEM text, not yet parsed. @throws {DerError} */
export function certificateTexts(bytes: Uint8Array): readonly Uint8Array[] {
  const inText = bytes[0] === tagSequence ? [bytes] : certificatesIn(Buffer.from(bytes).toString('latin1'));
  if (inText.length === 0) throw new DerError('neither a DER certificate nor a PEM one', 0);
  if (inText.length > maxCertificatesInText) throw new DerError(`more than ${maxCertificatesInText} certificates in one text`, 0);
  return inText;
}

/** Parses a certificate. @throws {DerError} */
export function checkedCertificate(bytes: Uint8Array): Uint8Array {
  const { der, subjectPublicKeyInfo } = readCertificate(bytes);
  // Refused where it is used, and not for OpenSSL.
  if (keyFault(subjectPublicKeyInfo) !== undefined) return Uint8Array.from(der);
  try {
    return new Uint8Array(new X509Certificate(der).raw);
  } catch (error) {
    throw new DerError(error instanceof Error ? error.message : 'not a certificate', 0);
  }
}

/** Reads a signer's certificate; undefined if its key type is not supported. @throws {DerError} */
export function signerCertificate(der: Uint8Array): SignerCertificate | undefined {
  const certificate = readCertificate(der);
  const publicKey = publicKeyOf(certificate);
  const keyType = publicKey === undefined ? undefined : keyTypeOf(publicKey);
  return publicKey === undefined || keyType === undefined ? undefined : { certificate, publicKey, keyType };
}

function publicKeyOf({ subjectPublicKeyInfo }: Certificate): KeyObject | undefined {
  try {
    return readPublicKey(subjectPublicKeyInfo);
  } catch {
    return undefined;
  }
}

function keyTypeOf(key: KeyObject): SignerKeyType | undefined {
  const { asymmetricKeyType, asymmetricKeyDetails } = key;
  if (asymmetricKeyType === 'ec') return curves.get(asymmetricKeyDetails?.namedCurve);
  const bits = asymmetricKeyDetails?.modulusLength ?? 0;
  const isSound = asymmetricKeyType === 'rsa' && bits >= minModulusBits && hasSoundExponent(key);
  return isSound ? `RSA-${bits}` : undefined;
}

/**
 * Returns the issuers of a certificate among those that are known, in DER: from the first chain
 * that contains the certificate named by `trustedCa` (SHA-1, hexadecimal), else the first that ends
 * in a self-signed certificate, else the longest.
 * @throws {TooManySignatures} if verifying them takes too long
 */
export async function issuersOf(
  der: Uint8Array,
  known: readonly Uint8Array[],
  trustedCa: string | undefined,
  threads: Pick<WorkThreads, 'run'>,
): Promise<readonly Uint8Array[]> {
  const others = known.filter((one, index) => Buffer.compare(one, der) !== 0 && known.findIndex((other) => equal(other, one)) === index);
  const own = new X509Certificate(der);
  const above = others.map((one) => new X509Certificate(one));
  await verifyAhead(possiblePairs([own, ...above]), threads);
  // Skip chains that begin with another certificate of the same name and key.
  const chains = chainsOf(own, above).filter(([first]) => first !== undefined && equal(first, der));
  const wanted = trustedCa?.toLowerCase();
  const trusted = chains.find(([, ...issuers]) => issuers.some((one) => sha1(one) === wanted));
  const rooted = chains.find((chain) => isSelfSigned(chain.at(-1)));
  const [longest] = chains.toSorted((a, b) => b.length - a.length);
  return (trusted ?? rooted ?? longest ?? [der]).slice(1);
}

function isSelfSigned(der: Uint8Array | undefined): boolean {
  if (der === undefined) return false;
  const certificate = new X509Certificate(der);
  return isIssuedBy(certificate, certificate);
}

function sha1(der: Uint8Array): string {
  return new X509Certificate(der).fingerprint.replaceAll(':', '').toLowerCase();
}

function equal(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}
