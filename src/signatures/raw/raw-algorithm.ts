import { oids } from '../../asn1/object-identifiers.ts';
import { Refusal } from '../../result-codes.ts';
import { algorithmOfOid, hashOfOid } from '../../cms/algorithm-identifier.ts';
import { hashBytes, type HashName, type SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import type { SignerKey } from '../format-entry.ts';
import type { RawSignature } from './raw-fields.ts';

/** JSON Pointer of the parameters. */
const rawAt = '/parameters/rawSignature/rawSignatureParameters';
export const algorithmParametersAt = `${rawAt}/signatureAlgorithmParameters`;
const supported =
  'sha256/384/512WithRSAEncryption (1.2.840.113549.1.1.11 to .13), RSASSA-PSS (1.2.840.113549.1.1.10), ecdsa-with-SHA256/384/512 (1.2.840.10045.4.3.2 to .4)';

/**
 * Returns the algorithm that the parameters name; undefined for the key's default. Needs no key.
 * @throws {Refusal} UNSUPPORTED, FIELDS_INCONSISTENT
 */
export function rawAlgorithmAsked(raw: RawSignature): SignatureAlgorithm | undefined {
  const { signatureAlgorithmOid: oid, signatureAlgorithmParameters: parameters } = raw.rawSignatureParameters ?? {};
  const named = oid === undefined ? undefined : algorithmOfOid(oid);
  if (oid !== undefined && named === undefined) {
    throw new Refusal('UNSUPPORTED', { at: `${rawAt}/signatureAlgorithmOid`, message: `supported: ${supported}` });
  }
  const hasPss = parameters?.PSSParameters !== undefined || parameters?.PSSMGF1Parameters !== undefined;
  if (hasPss && named?.scheme !== 'RSA_PSS') {
    throw new Refusal('FIELDS_INCONSISTENT', {
      at: algorithmParametersAt,
      message: 'these parameters need RSASSA-PSS (1.2.840.113549.1.1.10)',
    });
  }
  return named?.scheme === 'RSA_PSS' ? pssAlgorithm(raw) : named;
}

/**
 * Returns the key's default algorithm: with the hash of the given digest, otherwise SHA-256 (P-384:
 * SHA-384, P-521: SHA-512; contract §5).
 */
export function usualAlgorithm(key: SignerKey, digest: HashName | undefined): SignatureAlgorithm {
  if (key.type.startsWith('RSA-')) return { scheme: 'RSA_PKCS1', hash: digest ?? 'sha256' };
  const usual = key.type === 'P-521' ? 'sha512' : key.type === 'P-384' ? 'sha384' : 'sha256';
  return { scheme: 'ECDSA', hash: digest ?? usual };
}

/**
 * Reads RSASSA-PSS parameters (RFC 4055 §3.1) with the defaults of contract §5: SHA-256, MGF1 with
 * the same hash, a salt as long as the hash.
 */
function pssAlgorithm(raw: RawSignature): SignatureAlgorithm {
  const parameters = raw.rawSignatureParameters?.signatureAlgorithmParameters;
  const at = algorithmParametersAt;
  const pss = parameters?.PSSParameters;
  const generation = pss?.maskGenerationParameters;
  if (generation?.maskGenerationFunctionOid !== undefined && generation.maskGenerationFunctionOid !== oids.mgf1) {
    throw new Refusal('UNSUPPORTED', {
      at: `${at}/PSSParameters/maskGenerationParameters/maskGenerationFunctionOid`,
      message: `supported: MGF1 (${oids.mgf1})`,
    });
  }
  const hash = pssHash(pss?.digestAlgorithmOid, `${at}/PSSParameters/digestAlgorithmOid`) ?? 'sha256';
  const inner = pssHash(generation?.maskGenerationFunction1Parameters?.digestAlgorithmOid, `${at}/PSSParameters/maskGenerationParameters`);
  const outer = pssHash(parameters?.PSSMGF1Parameters?.digestAlgorithmOid, `${at}/PSSMGF1Parameters/digestAlgorithmOid`);
  if (inner !== undefined && outer !== undefined && inner !== outer) {
    throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/PSSMGF1Parameters`, message: 'two different hashes are given for MGF1' });
  }
  const mgfHash = outer ?? inner ?? hash;
  const saltBytes = pss?.saltLength ?? hashBytes[hash];
  // Without a salt (RFC 8017 §9.1, note 4) the same digest always gives the same value, and the
  // security proof of RSASSA-PSS does not apply.
  if (saltBytes === 0) {
    throw new Refusal('UNSUPPORTED', {
      at: `${at}/PSSParameters/saltLength`,
      message: 'the salt must have at least 1 byte; the default is the length of the hash',
    });
  }
  return { scheme: 'RSA_PSS', hash, mgfHash, saltBytes };
}

function pssHash(oid: string | undefined, at: string): HashName | undefined {
  if (oid === undefined) return undefined;
  const hash = hashOfOid(oid);
  if (hash === undefined || hash === 'sha1') throw new Refusal('UNSUPPORTED', { at, message: 'supported: SHA-256, SHA-384 and SHA-512' });
  return hash;
}

/** Checks whether the algorithm suits the key. @throws {Refusal} FIELDS_INCONSISTENT */
export function checkFitsKey(algorithm: SignatureAlgorithm, key: SignerKey): void {
  const at = `${rawAt}/signatureAlgorithmOid`;
  const isRsaKey = key.type.startsWith('RSA-');
  if (isRsaKey !== (algorithm.scheme !== 'ECDSA')) {
    throw new Refusal('FIELDS_INCONSISTENT', {
      at,
      message: `the key is of type ${key.type}, but this algorithm is for ${isRsaKey ? 'elliptic curves' : 'RSA'}`,
    });
  }
  if (algorithm.scheme !== 'RSA_PSS') return;
  const room = Number(key.type.slice('RSA-'.length)) / 8 - hashBytes[algorithm.hash] - 2;
  if (algorithm.saltBytes > room) {
    throw new Refusal('FIELDS_INCONSISTENT', {
      at: `${algorithmParametersAt}/PSSParameters/saltLength`,
      message: `a key of type ${key.type} allows a salt of at most ${room} bytes`,
    });
  }
}

/**
 * Checks whether the digest given for a document suits the algorithm.
 * @throws {Refusal} FIELDS_INCONSISTENT
 */
export function checkDigestFits(digest: HashName | undefined, algorithm: SignatureAlgorithm, index: number): void {
  if (digest === undefined || digest === algorithm.hash) return;
  throw new Refusal('FIELDS_INCONSISTENT', {
    at: `/inputDocuments/${index}/digest/digestAlgOID`,
    message: `the signature algorithm uses ${algorithm.hash}, but this digest is ${digest}`,
  });
}

/**
 * Returns the algorithm of all signatures of a request, since the answer names only one.
 * @throws {Refusal} FIELDS_INCONSISTENT
 */
export function checkOneAlgorithm(algorithms: readonly SignatureAlgorithm[]): SignatureAlgorithm {
  const [first] = algorithms;
  if (first === undefined) throw new RangeError('a request has a document');
  const other = algorithms.findIndex(({ hash }) => hash !== first.hash);
  if (other === -1) return first;
  throw new Refusal('FIELDS_INCONSISTENT', {
    at: `/inputDocuments/${other}`,
    message: `this document needs ${algorithms[other]?.hash ?? ''} but the first one needs ${first.hash}; a request uses one algorithm for all signatures`,
  });
}
