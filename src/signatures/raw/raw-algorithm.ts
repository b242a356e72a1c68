import { oids } from '../../asn1/object-identifiers.ts';
import { Refusal } from '../../result-codes.ts';
import { algorithmOfOid, hashOfOid } from '../../cms/algorithm-identifier.ts';
import { hashBytes, type HashName, type SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import type { SignerKey } from '../format-entry.ts';
import type { RawSignature } from './raw-fields.ts';

/** Pointer of the parameters. */
export const rawAt = '/parameters/rawSignature/rawSignatureParameters';
const supported =
  'sha256/384/512WithRSAEncryption (1.2.840.113549.1.1.11 to .13), RSASSA-PSS (1.2.840.113549.1.1.10), ecdsa-with-SHA256/384/512 (1.2.840.10045.4.3.2 to .4)';

/**
 * Returns the algorithm that the parameters name; undefined: the key's usual one. No key is needed.
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
      at: `${rawAt}/signatureAlgorithmParameters`,
      message: 'these parameters need RSASSA-PSS (1.2.840.113549.1.1.10)',
    });
  }
  return named?.scheme === 'RSA_PSS' ? pssAlgorithm(raw) : named;
}

/** The key's usual algorithm: SHA-256 (P-384: SHA-384, P-521: SHA-512), or the hash of the digest given (contract §5). */
export function usualAlgorithm(key: SignerKey, digest: HashName | undefined): SignatureAlgorithm {
  if (key.type.startsWith('RSA-')) return { scheme: 'RSA_PKCS1', hash: digest ?? 'sha256' };
  const usual = key.type === 'P-521' ? 'sha512' : key.type === 'P-384' ? 'sha384' : 'sha256';
  return { scheme: 'ECDSA', hash: digest ?? usual };
}

/** RFC 4055 §3.1 with the defaults of contract §5: SHA-256, MGF1 with the same hash, salt as long as the hash. */
function pssAlgorithm(raw: RawSignature): SignatureAlgorithm {
  const parameters = raw.rawSignatureParameters?.signatureAlgorithmParameters;
  const at = `${rawAt}/signatureAlgorithmParameters`;
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
    throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/PSSMGF1Parameters`, message: 'MGF1 has two different hashes' });
  }
  const mgfHash = outer ?? inner ?? hash;
  const saltBytes = pss?.saltLength ?? hashBytes[hash];
  // RFC 8017 §9.1, note 4: without a salt the same digest always gives the same value, and the proof of RSASSA-PSS is lost.
  if (saltBytes === 0) {
    throw new Refusal('UNSUPPORTED', {
      at: `${at}/PSSParameters/saltLength`,
      message: 'a signature needs a salt of at least 1 byte; absent: as many bytes as the hash has',
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

/** Checks whether key and algorithm go together. @throws {Refusal} FIELDS_INCONSISTENT */
export function checkFitsKey(algorithm: SignatureAlgorithm, key: SignerKey): void {
  const at = `${rawAt}/signatureAlgorithmOid`;
  const isRsaKey = key.type.startsWith('RSA-');
  if (isRsaKey !== (algorithm.scheme !== 'ECDSA')) {
    throw new Refusal('FIELDS_INCONSISTENT', {
      at,
      message: `the key is of type ${key.type}, and this algorithm is for ${isRsaKey ? 'elliptic curves' : 'RSA'}`,
    });
  }
  if (algorithm.scheme !== 'RSA_PSS') return;
  const room = Number(key.type.slice('RSA-'.length)) / 8 - hashBytes[algorithm.hash] - 2;
  if (algorithm.saltBytes > room) {
    throw new Refusal('FIELDS_INCONSISTENT', {
      at: `${rawAt}/signatureAlgorithmParameters/PSSParameters/saltLength`,
      message: `a key of type ${key.type} has room for a salt of ${room} bytes`,
    });
  }
}

/** Checks whether a document given as a digest goes with the algorithm. @throws {Refusal} FIELDS_INCONSISTENT */
export function checkDigestFits(digest: HashName | undefined, algorithm: SignatureAlgorithm, index: number): void {
  if (digest === undefined || digest === algorithm.hash) return;
  throw new Refusal('FIELDS_INCONSISTENT', {
    at: `/inputDocuments/${index}/digest/digestAlgOID`,
    message: `the signature algorithm uses ${algorithm.hash}, and this digest is ${digest}`,
  });
}

/**
 * The answer names one algorithm for all its signatures, so the digests of one call are of one hash.
 * @throws {Refusal} FIELDS_INCONSISTENT
 */
export function checkOneAlgorithm(algorithms: readonly SignatureAlgorithm[]): SignatureAlgorithm {
  const [first] = algorithms;
  if (first === undefined) throw new RangeError('a request has a document');
  const other = algorithms.findIndex(({ hash }) => hash !== first.hash);
  if (other === -1) return first;
  throw new Refusal('FIELDS_INCONSISTENT', {
    at: `/inputDocuments/${other}`,
    message: `this document needs ${algorithms[other]?.hash ?? ''} and the first one ${first.hash}: one request signs with one algorithm`,
  });
}
