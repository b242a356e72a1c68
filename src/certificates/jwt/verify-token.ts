import { errors, jwtVerify } from 'jose';
import type { IdentityProvider } from '../../config/identity-provider-config.ts';
import { refusedToken, type CompactToken } from './compact.ts';
import type { Claims } from './claim-mapping.ts';
import { KeysUnavailable, type ProviderKeys } from './provider-keys.ts';

/** Of a replay too: longer identifiers are of no use to anybody. */
const maxIdCharacters = 512;

export type TokenRules = Pick<
  IdentityProvider,
  'issuer' | 'audience' | 'algorithms' | 'clockToleranceSeconds' | 'maxAgeSeconds' | 'type' | 'oneTime'
>;

/** What a verified token says of itself. */
export interface VerifiedToken {
  readonly claims: Claims;
  /** `jti`, where it is text of a usual length. */
  readonly id: string | undefined;
  /** `exp`: seconds since epoch. */
  readonly endsAtSeconds: number;
}

/**
 * Verifies a signed token by the keys of its provider, and holds its claims to the rules (RFC 7519
 * §7.2, RFC 8725). Keys come from the configured place alone: what the header says of keys (`jku`,
 * `jwk`, `x5u`, `x5c`) is not looked at.
 * @throws {Refusal} ISSUANCE_REFUSED
 */
export async function verifyToken(token: CompactToken, keys: ProviderKeys, rules: TokenRules): Promise<VerifiedToken> {
  const { alg, kid } = token.header;
  if (token.header['crit'] !== undefined) {
    throw refusedToken('the header of the token has critical extensions (crit), and none is understood');
  }
  const algorithm = rules.algorithms.find((allowed) => allowed === alg);
  if (algorithm === undefined) throw refusedToken(`the token is signed by an algorithm (alg) other than ${rules.algorithms.join(', ')}`);
  if (kid !== undefined && typeof kid !== 'string') throw unknownKey('kid is no text');
  const key = await findKey(keys, { alg, kid });
  if (key === undefined) throw unknownKey(kid === undefined ? 'it names none (kid), and not exactly one fits' : 'it is not among its keys');
  const payload = await verified(token.text, key, algorithm, rules);
  const now = Date.now() / 1000;
  const { exp, iat, jti } = payload;
  if (iat !== undefined && iat > now + rules.clockToleranceSeconds) throw refusedToken(faults.iat);
  if (exp === undefined) throw refusedToken(faults.exp);
  const id = typeof jti === 'string' && jti !== '' && jti.length <= maxIdCharacters ? jti : undefined;
  if (rules.oneTime && id === undefined) {
    throw refusedToken(`the token has no identifier (jti) of 1 to ${maxIdCharacters} characters, which makes it one that is used once`);
  }
  return { claims: payload, id, endsAtSeconds: exp };
}

const faults = {
  iss: 'the issuer (iss) of the token is not an identity provider of this tenant',
  aud: 'the token is for another audience (aud)',
  exp: 'the token has no end (exp) that lies ahead',
  nbf: 'the token is not valid yet (nbf)',
  iat: 'the token says no time of issue (iat), or one that lies ahead or too long ago',
  typ: 'the token is of another type (typ) than is configured',
} as const;

async function findKey(...[keys, wanted]: [ProviderKeys, Parameters<ProviderKeys['find']>[0]]) {
  try {
    return await keys.find(wanted);
  } catch (error) {
    if (!(error instanceof KeysUnavailable)) throw error;
    throw refusedToken('the keys of the identity provider cannot be had at this time; repeat the request later', error);
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
      throw refusedToken(fault ?? 'a claim of the token is not what it should be', error);
    }
    if (error instanceof errors.JWSSignatureVerificationFailed) throw refusedToken('the signature of the token does not verify', error);
    if (error instanceof errors.JOSEError) throw refusedToken('the token cannot be verified', error);
    throw error;
  }
}

function unknownKey(why: string) {
  return refusedToken(`the identity provider has no key for this token: ${why}`);
}
