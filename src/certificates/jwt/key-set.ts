import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import type { ParseJson } from './compact.ts';

/** More keys than any provider has at once. */
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

/** What the header of a token says of the key that verifies it. */
export interface WantedKey {
  readonly alg: string;
  readonly kid: string | undefined;
}

interface VerificationKey {
  readonly kid: string | undefined;
  readonly alg: string | undefined;
  readonly key: KeyObject;
}

const algorithmsOfCurves: Readonly<Record<string, string>> = { prime256v1: 'ES256', secp384r1: 'ES384', secp521r1: 'ES512' };

/** The public keys of a JSON Web Key Set (RFC 7517 §5) that signatures can be verified with. Others in it are passed over. */
export class KeySet {
  readonly #keys: readonly VerificationKey[];

  /** @throws {Error} for what is no key set, or has no key to verify with */
  constructor(document: Buffer, parseJson: ParseJson) {
    const { keys } = KeySetDocument.parse(parseJson(document));
    this.#keys = keys.flatMap(verificationKey);
    if (this.#keys.length === 0) throw new Error('no public key in it can verify a token');
  }

  /** The one key for a token: by its `kid`, or, without one, the only one that fits. Undefined: there is none, or more than one. */
  find({ alg, kid }: WantedKey): KeyObject | undefined {
    const fitting = this.#keys.filter((one) => (kid === undefined || one.kid === kid) && isFor(one, alg));
    return fitting.length === 1 ? fitting[0]?.key : undefined;
  }
}

function verificationKey(value: unknown): VerificationKey[] {
  const members = PublicMembers.safeParse(value);
  const about = About.safeParse(value);
  if (!members.success || !about.success) return [];
  try {
    const jwk: JsonWebKey = members.data;
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    const { modulusLength = minRsaBits, publicExponent = 3n } = key.asymmetricKeyDetails ?? {};
    const isGood = modulusLength >= minRsaBits && modulusLength <= maxRsaBits && publicExponent >= 3n;
    return isGood ? [{ kid: about.data.kid, alg: about.data.alg, key }] : [];
  } catch {
    // A curve that OpenSSL does not have, a point beside it: nothing can be verified with such a key.
    return [];
  }
}

/** Whether a key is for an algorithm, by its type (RFC 7518 §3.1) and by its own word. */
function isFor({ alg: own, key }: VerificationKey, alg: string): boolean {
  if (own !== undefined && own !== alg && !(isEdwards(own) && isEdwards(alg))) return false;
  const type = key.asymmetricKeyType;
  if (type === 'rsa') return /^[RP]S(?:256|384|512)$/.test(alg);
  if (type === 'ec') return algorithmsOfCurves[key.asymmetricKeyDetails?.namedCurve ?? ''] === alg;
  return type === 'ed25519' && isEdwards(alg);
}

/** Two names of one algorithm: RFC 8037 §3.1, RFC 9864 §2.2. */
function isEdwards(alg: string): boolean {
  return alg === 'EdDSA' || alg === 'Ed25519';
}
