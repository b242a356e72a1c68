import { errors, jwtVerify } from 'jose';
import type { IdentityProvider } from '../../config/identity-provider-config.ts';
import { refusedToken, type CompactToken } from './compact.ts';
import type { Claims } from './claim-mapping.ts';
import { KeysUnavailable, type ProviderKeys } from './provider-keys.ts';

/** Maximum length of an identifier that is accepted. */
const maxIdCharacters = 512;

export type TokenRules = Pick<
  IdentityProvider,
  'issuer' | 'audience' | 'algorithms' | 'clockToleranceSeconds' | 'maxAgeSeconds' | 'type' | 'oneTime'
>;

/** Contents of a verified token. */
export interface VerifiedToken {
  readonly claims: Claims;
  /** `jti`, if it is a string of usual length. */
  readonly id: string | undefined;
  /** `exp`: seconds since epoch. */
  readonly endsAtSeconds: number;
}

/**
 * Verifies a signed token with the keys of its provider, and checks its claims (RFC 7519 §7.2, RFC
 * 8725). Keys come only from the configured source: key references in the header (`jku`, `jwk`,
 * `x5u`, `x5c`) are ignored.
 * @throws {Refusal} ISSUANCE_REFUSED
 */
export async function verifyToken(token: CompactToken, keys: ProviderKeys, rules: TokenRules): Promise<VerifiedToken> {
  const { alg, kid } = token.header;
  if (token.header['crit'] !== undefined) {
    throw refusedToken('the header of the token has critical extensions (crit), which are not supported');
  }
  const algorithm = rules.algorithms.find((allowed) => allowed === alg);
  if (algorithm === undefined)
    throw refusedToken(`the signature algorithm (alg) of the token is not one of ${rules.algorithms.join(', ')}`);
  if (kid !== undefined && typeof kid !== 'string') throw unknownKey('kid is not a string');
  const key = await findKey(keys, { alg, kid });
  if (key === undefined) throw unknownKey(kid === undefined ? 'the token has no kid, and not exactly one key fits' : 'unknown kid');
  const payload = await verified(token.text, key, algorithm, rules);
  const now = Date.now() / 1000;
  const { exp, iat, jti } = payload;
  if (iat !== undefined && iat > now + rules.clockToleranceSeconds) throw refusedToken(faults.iat);
  if (exp === undefined) throw refusedToken(faults.exp);
  const id = typeof jti === 'string' && jti !== '' && jti.length <= maxIdCharacters ? jti : undefined;
  if (rules.oneTime && id === undefined) {
    throw refusedToken(`the token has no identifier (jti) of 1 to ${maxIdCharacters} characters, which a single-use token needs`);
  }
  return { claims: payload, id, endsAtSeconds: exp };
}

const faults = {
  iss: 'the issuer (iss) of the token is not an identity provider of this tenant',
  aud: 'the token is for another audience (aud)',
  exp: 'the token has expired, or has no expiry time (exp)',
  nbf: 'the token is not yet valid (nbf)',
  iat: 'the time of issue (iat) of the token is missing, in the future, or too long ago',
  typ: 'the type (typ) of the token is not the configured one',
} as const;

async function findKey(...[keys, wanted]: [ProviderKeys, Parameters<ProviderKeys['find']>[0]]) {
  try {
    return await keys.find(wanted);
  } catch (error) {
    if (!(error instanceof KeysUnavailable)) throw error;
    throw refusedToken('the keys of the identity provider are not available at present; repeat the request later', error);
  }
}

async function verified(text: string, key: Parameters<typeof jwtVerify>[1], algorithm: string, rules: TokenRules) {
  const { clockToleranceSeconds, maxAgeSeconds, type } = rules;
  try {
    const { payload } = await jwtVerify(text, key, {
      algorithms: [algorithm],
      issuer: rules.issuer,
      audience: [...rules.audience],
      clockTolerance: clockToleranceSeconds,
      requiredClaims: ['exp'],
      ...(maxAgeSeconds === undefined ? {} : { maxTokenAge: maxAgeSeconds }),
      ...(type === undefined ? {} : { typ: type }),
    });
    return payload;
  } catch (error) {
    if (error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed) {
      const fault = Object.entries(faults).find(([claim]) => claim === error.claim)?.[1];
      throw refusedToken(fault ?? 'a claim of the token is invalid', error);
    }
    if (error instanceof errors.JWSSignatureVerificationFailed) throw refusedToken('the signature of the token is invalid', error);
    if (error instanceof errors.JOSEError) throw refusedToken('the token cannot be verified', error);
    throw error;
  }
}

function unknownKey(why: string) {
  return refusedToken(`the identity provider has no key for this token: ${why}`);
}
