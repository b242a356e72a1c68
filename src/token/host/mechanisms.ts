import type { Mechanism, RsaPSS } from 'pkcs11js';
import { hashBytes, type HashName, type SignatureAlgorithm } from '../signature-algorithm.ts';
import { WireError } from '../wire/fields.ts';
import { pkcs11js } from './session.ts';

/** DER of DigestInfo up to the digest itself (RFC 8017 §9.2, note 1). */
const digestInfoPrefixes = {
  sha1: Buffer.from('3021300906052b0e03021a05000414', 'hex'),
  sha256: Buffer.from('3031300d060960864801650304020105000420', 'hex'),
  sha384: Buffer.from('3041300d060960864801650304020205000430', 'hex'),
  sha512: Buffer.from('3051300d060960864801650304020305000440', 'hex'),
} as const satisfies Record<HashName, Buffer>;

const pssHashes = {
  sha1: { hash: pkcs11js.CKM_SHA_1, mgf: pkcs11js.CKG_MGF1_SHA1 },
  sha256: { hash: pkcs11js.CKM_SHA256, mgf: pkcs11js.CKG_MGF1_SHA256 },
  sha384: { hash: pkcs11js.CKM_SHA384, mgf: pkcs11js.CKG_MGF1_SHA384 },
  sha512: { hash: pkcs11js.CKM_SHA512, mgf: pkcs11js.CKG_MGF1_SHA512 },
} as const satisfies Record<HashName, { hash: number; mgf: number }>;

const rsaPkcs: Mechanism = { mechanism: pkcs11js.CKM_RSA_PKCS };
const ecdsa: Mechanism = { mechanism: pkcs11js.CKM_ECDSA };

/** Returns the mechanism that signs a digest, and its input. */
export function signing(algorithm: SignatureAlgorithm, digest: Buffer): { mechanism: Mechanism; input: Buffer } {
  if (digest.length !== hashBytes[algorithm.hash]) throw new WireError('a digest does not have the length of its hash');
  switch (algorithm.scheme) {
    case 'RSA_PKCS1':
      return { mechanism: rsaPkcs, input: Buffer.concat([digestInfoPrefixes[algorithm.hash], digest]) };
    case 'RSA_PSS':
      return {
        mechanism: {
          mechanism: pkcs11js.CKM_RSA_PKCS_PSS,
          parameter: pss({
            type: pkcs11js.CK_PARAMS_RSA_PSS,
            hashAlg: pssHashes[algorithm.hash].hash,
            mgf: pssHashes[algorithm.mgfHash].mgf,
            saltLen: algorithm.saltBytes,
          }),
        },
        input: digest,
      };
    case 'ECDSA':
      return { mechanism: ecdsa, input: digest };
  }
}

/** pkcs11js declares mechanism parameters by their base type only. */
function pss(parameters: RsaPSS): RsaPSS {
  return parameters;
}
