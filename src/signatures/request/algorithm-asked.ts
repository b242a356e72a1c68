import type { z } from 'zod';
import { Refusal } from '../../result-codes.ts';
import { hashBytes, type SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import type { SignerKey } from '../format-entry.ts';
import { hashOfDigest, type Digest, type RsaVersion } from './shared-fields.ts';

/** The members that determine the algorithm of a signature (interface, Shared members). */
export interface AlgorithmFields {
  readonly digestAlgorithm?: z.output<typeof Digest> | undefined;
  readonly RSAVersion?: z.output<typeof RsaVersion> | undefined;
}

/**
 * Returns the algorithm of a CAdES or XAdES signature. `at`: JSON Pointer of the member with the
 * fields.
 * @throws {Refusal} FIELDS_INCONSISTENT for RSAVersion with a key that is not RSA
 */
export function algorithmAsked(
  { digestAlgorithm = 'SHA_256', RSAVersion }: AlgorithmFields,
  { type }: SignerKey,
  at: string,
): SignatureAlgorithm {
  const hash = hashOfDigest[digestAlgorithm];
  if (!type.startsWith('RSA-')) {
    if (RSAVersion !== undefined) {
      throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/RSAVersion`, message: `the key is of type ${type}, not RSA` });
    }
    return { scheme: 'ECDSA', hash };
  }
  return RSAVersion === 'PKCS_1_2_1'
    ? { scheme: 'RSA_PSS', hash, mgfHash: hash, saltBytes: hashBytes[hash] }
    : { scheme: 'RSA_PKCS1', hash };
}
