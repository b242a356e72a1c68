import type { KeyObject } from 'node:crypto';
import { DerError } from '../asn1/reader.ts';
import { certificatesIn } from '../x509/pem.ts';
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
