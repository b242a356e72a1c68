/** Hash functions, as named in node:crypto. */
export const hashNames = ['sha1', 'sha256', 'sha384', 'sha512'] as const;
export type HashName = (typeof hashNames)[number];

export const hashBytes = { sha1: 20, sha256: 32, sha384: 48, sha512: 64 } as const satisfies Record<HashName, number>;

/**
 * Algorithms that turn a digest into a signature value: RFC 8017 §8.2 (PKCS1), §8.1 (PSS), FIPS
 * 186-5 §6 (ECDSA).
 */
export type SignatureAlgorithm =
  | { readonly scheme: 'RSA_PKCS1'; readonly hash: HashName }
  | { readonly scheme: 'RSA_PSS'; readonly hash: HashName; readonly mgfHash: HashName; readonly saltBytes: number }
  | { readonly scheme: 'ECDSA'; readonly hash: HashName };
