import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { createLocalJWKSet, errors, type CryptoKey, type JWK } from 'jose';
import { z } from 'zod';
import type { ParseJson } from './compact.ts';

/** More keys than any provider uses at once. */
const maxKeys = 256;
const minRsaBits = 2048;
const maxRsaBits = 16_384;

const Text = z.string().max(4096);
const PublicMembers = z.union([
  z.object({ kty: z.literal('RSA'), n: Text, e: Text }),
  z.object({ kty: z.literal('EC'), crv: Text, x: Text, y: Text }),
  z.object({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: Text }),
]);
const About = z.object({
  kid: Text.optional(),
  use: z.literal('sig').optional(),
  alg: Text.optional(),
  key_ops: z
    .array(z.string())
    .refine((operations) => operations.includes('verify'))
    .optional(),
});
const KeySetDocument = z.object({ keys: z.array(z.unknown()).max(maxKeys) });

/** Header fields of a token that select the key to verify it. */
export interface WantedKey {
  readonly alg: string;
  readonly kid: string | undefined;
}

/** The verification keys of a JSON Web Key Set (RFC 7517 §5). Other keys in it are ignored. */
export class KeySet {
  readonly #keyFor: ReturnType<typeof createLocalJWKSet>;

  /** @throws {Error} if it is not a key set, or has no key to verify with */
  constructor(document: Buffer, parseJson: ParseJson) {
    const keys = KeySetDocument.parse(parseJson(document)).keys.flatMap(verificationKey);
    if (keys.length === 0) throw new Error('it contains no public key that can verify a token');
    this.#keyFor = createLocalJWKSet({ keys });
  }

  /**
   * Returns the key for a token: by its `kid` or, without one, the only key that fits. Undefined if
   * there is none, or more than one.
   */
  async find({ alg, kid }: WantedKey): Promise<CryptoKey | undefined> {
    try {
      return await this.#keyFor(kid === undefined ? { alg } : { alg, kid });
    } catch (error) {
      const isNone = error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys;
      if (isNone || error instanceof errors.JOSENotSupported) return undefined;
      throw error;
    }
  }
}

/**
 * Checks a key when the set is read, while jose only checks it on use: RSA with a sound length and
 * exponent, a point on its curve.
 */
function verificationKey(value: unknown): JWK[] {
  const members = PublicMembers.safeParse(value);
  const about = About.safeParse(value);
  if (!members.success || !about.success) return [];
  try {
    const jwk: JsonWebKey = members.data;
    const { modulusLength = minRsaBits, publicExponent = 3n } = createPublicKey({ key: jwk, format: 'jwk' }).asymmetricKeyDetails ?? {};
    const isGood = modulusLength >= minRsaBits && modulusLength <= maxRsaBits && publicExponent >= 3n;
    return isGood ? [{ ...members.data, ...named(about.data) }] : [];
  } catch {
    // Nothing can be verified with a key on an unsupported curve, or whose point is not on its
    // curve.
    return [];
  }
}

/**
 * Returns `kid` and `alg`. EdDSA and Ed25519 are two names of one algorithm (RFC 8037 §3.1, RFC
 * 9864 §2.2), which jose distinguishes: a key with either is used for both.
 */
function named({ kid, alg }: z.output<typeof About>): Pick<JWK, 'kid' | 'alg'> {
  const own = alg === 'EdDSA' || alg === 'Ed25519' ? undefined : alg;
  return { ...(kid === undefined ? {} : { kid }), ...(own === undefined ? {} : { alg: own }) };
}
