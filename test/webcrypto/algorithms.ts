import { constants, createPublicKey, verify, type webcrypto } from 'node:crypto';

export const hashes = ['SHA-256', 'SHA-384', 'SHA-512'] as const;
type Hash = (typeof hashes)[number];

/** One algorithm of the contract: how its keys are made, how it signs, and how OpenSSL judges its values. */
export interface PairAlgorithm {
  readonly label: string;
  readonly generate: webcrypto.RsaHashedKeyGenParams | webcrypto.EcKeyGenParams | webcrypto.Algorithm;
  readonly sign: webcrypto.RsaPssParams | webcrypto.EcdsaParams | webcrypto.Algorithm;
  /** Length of every signature value. */
  readonly bytes: number;
  /** Whether OpenSSL verifies the value, by node:crypto and not by WebCrypto. */
  verifies(subjectPublicKeyInfo: ArrayBuffer, value: ArrayBuffer, data: Uint8Array): boolean;
}

const publicExponent = new Uint8Array([1, 0, 1]);
const modulusLength = 2048;
const opensslName = (hash: Hash): string => hash.replace('-', '').toLowerCase();
const keyOf = (spki: ArrayBuffer) => createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' });

function rsa(hash: Hash): PairAlgorithm {
  const name = 'RSASSA-PKCS1-v1_5';
  return {
    label: `${name} with ${hash}`,
    generate: { name, hash, modulusLength, publicExponent },
    sign: { name },
    bytes: 256,
    verifies: (spki, value, data) => verify(opensslName(hash), data, keyOf(spki), Buffer.from(value)),
  };
}

export function pss(hash: Hash, saltLength: number): PairAlgorithm {
  const name = 'RSA-PSS';
  return {
    label: `${name} with ${hash}, ${saltLength} bytes of salt`,
    generate: { name, hash, modulusLength, publicExponent },
    sign: { name, saltLength },
    bytes: 256,
    verifies: (spki, value, data) =>
      verify(opensslName(hash), data, { key: keyOf(spki), padding: constants.RSA_PKCS1_PSS_PADDING, saltLength }, Buffer.from(value)),
  };
}

function ecdsa(namedCurve: 'P-256' | 'P-384' | 'P-521', hash: Hash): PairAlgorithm {
  const name = 'ECDSA';
  return {
    label: `${name} on ${namedCurve} with ${hash}`,
    generate: { name, namedCurve },
    sign: { name, hash },
    bytes: { 'P-256': 64, 'P-384': 96, 'P-521': 132 }[namedCurve],
    verifies: (spki, value, data) => verify(opensslName(hash), data, { key: keyOf(spki), dsaEncoding: 'ieee-p1363' }, Buffer.from(value)),
  };
}

const ed25519: PairAlgorithm = {
  label: 'Ed25519',
  generate: { name: 'Ed25519' },
  sign: { name: 'Ed25519' },
  bytes: 64,
  verifies: (spki, value, data) => verify(null, data, keyOf(spki), Buffer.from(value)),
};

export const pairAlgorithms: readonly PairAlgorithm[] = [
  ...hashes.map(rsa),
  ...hashes.map((hash, index) => pss(hash, [32, 48, 64][index] ?? 0)),
  ...(['P-256', 'P-384', 'P-521'] as const).flatMap((curve) => hashes.map((hash) => ecdsa(curve, hash))),
  ed25519,
];

/** One of each kind, for what does not depend on hash or size. */
export const kinds: readonly PairAlgorithm[] = [rsa('SHA-256'), pss('SHA-256', 32), ecdsa('P-256', 'SHA-256'), ed25519];

export const p256 = ecdsa('P-256', 'SHA-256');
export const pkcs1 = rsa('SHA-256');
