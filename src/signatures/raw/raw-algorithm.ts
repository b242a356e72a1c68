import { createHash } from 'node:crypto';
import { oids } from '../../asn1/object-identifiers.ts';
import type { SignerKeyType } from '../../certificates/signer-certificate.ts';
import { Refusal } from '../../result-codes.ts';
import { algorithmOfOid, hashOfOid } from '../../cms/algorithm-identifier.ts';
import { hashBytes, type HashName, type SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { TokenCannot } from '../../token/token.ts';
import { hashOfDigest } from '../request/enumerations.ts';
import type { XP7Signature } from '../request/parameters.ts';
import type { RawSignature } from './raw-fields.ts';

/** What algorithms go by: the type of the key, wherever it is. */
export interface SignerKey {
  readonly type: SignerKeyType;
}

const rawAt = '/parameters/rawSignature/rawSignatureParameters';
const offered =
  'sha256/384/512WithRSAEncryption (1.2.840.113549.1.1.11 to .13), RSASSA-PSS (1.2.840.113549.1.1.10), ecdsa-with-SHA256/384/512 (1.2.840.10045.4.3.2 to .4)';

/** The algorithm that the parameters name, undefined: the key's usual one. Refused before the key is looked at. @throws {Refusal} UNSUPPORTED, FIELDS_INCONSISTENT */
export function rawAlgorithmAsked(raw: RawSignature): SignatureAlgorithm | undefined {
  const { signatureAlgorithmOid: oid, signatureAlgorithmParameters: parameters } = raw.rawSignatureParameters ?? {};
  const named = oid === undefined ? undefined : algorithmOfOid(oid);
  if (oid !== undefined && named === undefined) {
    throw new Refusal('UNSUPPORTED', { at: `${rawAt}/signatureAlgorithmOid`, message: `offered are ${offered}` });
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
      message: `offered is MGF1 (${oids.mgf1})`,
    });
  }
  const hash = pssHash(pss?.digestAlgorithmOid, `${at}/PSSParameters/digestAlgorithmOid`) ?? 'sha256';
  const inner = pssHash(generation?.maskGenerationFunction1Parameters?.digestAlgorithmOid, `${at}/PSSParameters/maskGenerationParameters`);
  const outer = pssHash(parameters?.PSSMGF1Parameters?.digestAlgorithmOid, `${at}/PSSMGF1Parameters/digestAlgorithmOid`);
  if (inner !== undefined && outer !== undefined && inner !== outer) {
    throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/PSSMGF1Parameters`, message: 'MGF1 is given two different hashes' });
  }
  const mgfHash = outer ?? inner ?? hash;
  const saltBytes = pss?.saltLength ?? hashBytes[hash];
  // RFC 8017 §9.1, note 4: without a salt the same digest always gives the same value, and the proof of RSASSA-PSS is lost.
  if (saltBytes === 0) {
    throw new Refusal('UNSUPPORTED', {
      at: `${at}/PSSParameters/saltLength`,
      message: 'a signature has a salt: offered are 1 byte and more; absent, as many as the hash has',
    });
  }
  return { scheme: 'RSA_PSS', hash, mgfHash, saltBytes };
}

/**
 * Has the token sign. Only few tokens have MGF1 with another hash than the digest's, and none says so before it is asked.
 * @throws {Refusal} UNSUPPORTED where it cannot; what `work` throws
 */
export async function withTokensAbility<T>(algorithm: SignatureAlgorithm, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof TokenCannot) || algorithm.scheme !== 'RSA_PSS' || algorithm.mgfHash === algorithm.hash) throw error;
    throw new Refusal('UNSUPPORTED', {
      at: `${rawAt}/signatureAlgorithmParameters`,
      message: 'the token offers MGF1 with the hash of the digest alone',
      cause: error,
    });
  }
}

function pssHash(oid: string | undefined, at: string): HashName | undefined {
  if (oid === undefined) return undefined;
  const hash = hashOfOid(oid);
  if (hash === undefined || hash === 'sha1') throw new Refusal('UNSUPPORTED', { at, message: 'offered are SHA-256, SHA-384 and SHA-512' });
  return hash;
}

/** Whether key and algorithm go together. @throws {Refusal} FIELDS_INCONSISTENT */
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

/** Whether a document that is given as a digest of this hash goes with the algorithm. @throws {Refusal} FIELDS_INCONSISTENT */
export function checkDigestFits(digest: HashName | undefined, algorithm: SignatureAlgorithm, index: number): void {
  if (digest === undefined || digest === algorithm.hash) return;
  throw new Refusal('FIELDS_INCONSISTENT', {
    at: `/inputDocuments/${index}/digest/digestAlgOID`,
    message: `the signature algorithm hashes with ${algorithm.hash}, and this digest is of ${digest}`,
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
    message: `this document would be signed with ${algorithms[other]?.hash ?? ''} and the first one with ${first.hash}: one call signs with one algorithm`,
  });
}

/** The algorithm of a CMS signature. @throws {Refusal} FIELDS_INCONSISTENT for RSAVersion with another key than RSA. */
export function cmsAlgorithm(options: XP7Signature, key: SignerKey): SignatureAlgorithm {
  const hash = hashOfDigest[options.digestAlgorithm ?? 'SHA_256'];
  if (!key.type.startsWith('RSA-')) {
    if (options.RSAVersion !== undefined) {
      throw new Refusal('FIELDS_INCONSISTENT', {
        at: '/parameters/XP7Signature/RSAVersion',
        message: `the key is of type ${key.type}, not RSA`,
      });
    }
    return { scheme: 'ECDSA', hash };
  }
  return options.RSAVersion === 'PKCS_1_2_1'
    ? { scheme: 'RSA_PSS', hash, mgfHash: hash, saltBytes: hashBytes[hash] }
    : { scheme: 'RSA_PKCS1', hash };
}

/** trustedCA names a CA certificate of the chain by the SHA-1 of its DER. @throws {Refusal} FIELDS_INCONSISTENT */
export function checkTrustedAuthority(fingerprint: string | undefined, issuers: readonly Uint8Array[]): void {
  if (fingerprint === undefined) return;
  const wanted = fingerprint.toLowerCase();
  if (issuers.some((certificate) => createHash('sha1').update(certificate).digest('hex') === wanted)) return;
  throw new Refusal('FIELDS_INCONSISTENT', {
    at: '/parameters/XP7Signature/trustedCA',
    message: 'no chain of the signer certificate has this certificate',
  });
}
