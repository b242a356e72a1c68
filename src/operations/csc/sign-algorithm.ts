import { DerError, readAll } from '../../asn1/reader.ts';
import { oids } from '../../asn1/object-identifiers.ts';
import * as der from '../../asn1/der.ts';
import { algorithmOfOid, hashAlgorithmOid, readSignatureAlgorithm } from '../../cms/algorithm-identifier.ts';
import { hashBytes, type SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import type { RawSignature } from '../../signatures/raw/raw-fields.ts';
import { invalidRequest } from './errors.ts';
import { signedHashes, signedHashOf, type SignedHash } from './parameters.ts';

/** A signature algorithm as a client names it. */
export interface NamedAlgorithm {
  readonly signAlgo: string;
  readonly signAlgoParams: Uint8Array | undefined;
  /** OID of the hash, and the name of its parameter. */
  readonly hashOid: string | undefined;
  readonly hashParameter: 'hashAlgo' | 'hashAlgorithmOID';
}

export type SigningAlgorithm = SignatureAlgorithm & { readonly hash: SignedHash };

/**
 * Returns the algorithm that the parameters name. An algorithm that names its hash needs none, and
 * one that is given must be the same.
 * @throws {Refusal} FIELD_MISSING, FIELD_INVALID, FIELDS_INCONSISTENT
 */
export function namedAlgorithm({ signAlgo, signAlgoParams, hashOid, hashParameter }: NamedAlgorithm): SigningAlgorithm {
  const given = hashOid === undefined ? undefined : signedHashOf(hashOid);
  const named = signAlgo === oids.rsaEncryption ? ({ scheme: 'RSA_PKCS1', hash: given } as const) : algorithmOfOid(signAlgo);
  if (named === undefined) throw invalidRequest('Invalid parameter signAlgo', 'UNSUPPORTED', '/signAlgo');
  if (named.scheme === 'RSA_PSS') return pssAlgorithm(signAlgoParams, given, hashParameter);
  if (signAlgoParams !== undefined && !isNull(signAlgoParams)) {
    throw invalidRequest('Invalid parameter signAlgoParams', 'FIELDS_INCONSISTENT', '/signAlgoParams');
  }
  const hash = signedHashes.find((name) => name === named.hash);
  if (hash === undefined) {
    throw invalidRequest(`Missing (or invalid type) string parameter ${hashParameter}`, 'FIELD_MISSING', `/${hashParameter}`);
  }
  checkSame(hash, given, hashParameter);
  return { scheme: named.scheme, hash };
}

/** Returns the algorithm as `rawSignature` of the interface names it. */
export function rawParameters(algorithm: SigningAlgorithm, signAlgo: string): RawSignature {
  if (algorithm.scheme !== 'RSA_PSS') {
    const signatureAlgorithmOid = signAlgo === oids.rsaEncryption ? rsaOid(algorithm.hash) : signAlgo;
    return { rawSignatureParameters: { signatureAlgorithmOid } };
  }
  const mgf1 = { digestAlgorithmOid: hashAlgorithmOid(algorithm.mgfHash) };
  return {
    rawSignatureParameters: {
      signatureAlgorithmOid: oids.rsassaPss,
      signatureAlgorithmParameters: {
        PSSParameters: {
          saltLength: algorithm.saltBytes,
          digestAlgorithmOid: hashAlgorithmOid(algorithm.hash),
          maskGenerationParameters: { maskGenerationFunctionOid: oids.mgf1, maskGenerationFunction1Parameters: mgf1 },
        },
      },
    },
  };
}

function rsaOid(hash: SignedHash): string {
  return { sha256: oids.sha256WithRSAEncryption, sha384: oids.sha384WithRSAEncryption, sha512: oids.sha512WithRSAEncryption }[hash];
}

/** RSASSA-PSS with its parameters (RFC 4055 §3.1); without, those that RFC 8017 recommends for the hash. */
function pssAlgorithm(
  parameters: Uint8Array | undefined,
  given: SignedHash | undefined,
  hashParameter: NamedAlgorithm['hashParameter'],
): SigningAlgorithm {
  if (parameters === undefined) {
    if (given !== undefined) return { scheme: 'RSA_PSS', hash: given, mgfHash: given, saltBytes: hashBytes[given] };
    throw invalidRequest('Missing (or invalid type) string parameter signAlgoParams', 'FIELD_MISSING', '/signAlgoParams');
  }
  const read = readPss(parameters);
  const hash = signedHashes.find((name) => name === read?.hash);
  if (read?.scheme !== 'RSA_PSS' || hash === undefined) {
    throw invalidRequest('Invalid parameter signAlgoParams', 'FIELD_INVALID', '/signAlgoParams');
  }
  checkSame(hash, given, hashParameter);
  return { ...read, hash };
}

function readPss(parameters: Uint8Array): SignatureAlgorithm | undefined {
  try {
    // Whether these octets are one element is what a reader of the whole identifier decides.
    readAll(parameters);
    return readSignatureAlgorithm(readAll(der.sequence(der.oid(oids.rsassaPss), parameters)), 'sha256');
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

function checkSame(hash: SignedHash, given: SignedHash | undefined, hashParameter: string): void {
  if (given === undefined || given === hash) return;
  throw invalidRequest(`String parameter ${hashParameter} contradicts with signAlgo parameter`, 'FIELDS_INCONSISTENT', `/${hashParameter}`);
}

/** NULL is what RSA algorithms have for parameters (RFC 4055 §5). */
function isNull(parameters: Uint8Array): boolean {
  return parameters.length === 2 && parameters[0] === 0x05 && parameters[1] === 0;
}
