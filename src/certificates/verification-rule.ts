import { constants, verify, type KeyObject } from 'node:crypto';
import { DerError, type DerElement } from '../asn1/reader.ts';
import { readSignatureIdentifier, type KnownHash } from './signature-identifier.ts';

/** How a value verifies. `hash` undefined: the key signs messages whole (Ed25519, Ed448). */
export interface VerificationRule {
  readonly hash: KnownHash | undefined;
  readonly keyTypes: ReadonlySet<string>;
  readonly pssSaltBytes?: number;
}

const keyTypes = {
  RSA_PKCS1: new Set(['rsa']),
  RSA_PSS: new Set(['rsa', 'rsa-pss']),
  ECDSA: new Set(['ec']),
  EDDSA: new Set(['ed25519', 'ed448']),
} as const;

/**
 * The rule that the AlgorithmIdentifier of a signature gives for a CRL, an OCSP answer, a certificate (RFC 5280 §4.1.1.2).
 * @throws {DerError} for algorithms that are not understood, those without a hash of their own, and PSS with two different hashes
 */
export function verificationRule(identifier: DerElement): VerificationRule {
  const named = readSignatureIdentifier(identifier);
  if (named?.scheme === 'EDDSA') return { hash: undefined, keyTypes: keyTypes.EDDSA };
  if (named?.hash === undefined) throw new DerError('a signature algorithm that is not understood', identifier.start);
  const rule = { hash: named.hash, keyTypes: keyTypes[named.scheme] };
  if (named.scheme !== 'RSA_PSS') return rule;
  if (named.hash !== named.mgfHash) throw new DerError('RSASSA-PSS with two different hashes', identifier.start);
  return { ...rule, pssSaltBytes: named.saltBytes };
}

/** Whether a value (ECDSA in DER) is the key's signature of the bytes. */
export function holds(rule: VerificationRule, key: KeyObject, bytes: Uint8Array, value: Uint8Array): boolean {
  if (!rule.keyTypes.has(key.asymmetricKeyType ?? '')) return false;
  const padding = rule.pssSaltBytes === undefined ? {} : { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: rule.pssSaltBytes };
  try {
    return verify(rule.hash ?? null, bytes, { key, ...padding }, value);
  } catch {
    // OpenSSL throws for a key and parameters that do not go together, such as a salt longer than the key.
    return false;
  }
}
