import type { RequestedSubject } from '../../certificates/jwt/claim-mapping.ts';
import { refusedToken } from '../../certificates/jwt/compact.ts';
import type { GivenToken } from '../../certificates/jwt/identity-providers.ts';
import { Refusal } from '../../result-codes.ts';
import type { Step } from '../../state/step.ts';
import type { Context } from '../operation.ts';

/** The subject that is asked for, wherever it comes from. */
interface AskedSubject {
  readonly requested: RequestedSubject;
  /** For the commit that makes the key. */
  readonly steps: readonly Step[];
  /** Does what may refuse the subject: a refusal names what the request has, a field or the token. */
  readonly judged: <T>(work: () => T) => T;
}

/** @throws {Refusal} as `IdentityProviders.read` */
export async function requestedSubject(
  { JWT, PKCS10 }: { readonly JWT?: GivenToken | undefined; readonly PKCS10?: RequestedSubject | undefined },
  { caller, config, identityProviders, audit }: Context,
): Promise<AskedSubject> {
  if (PKCS10 !== undefined) return { requested: PKCS10, steps: [], judged: (work) => work() };
  if (JWT === undefined) throw new Error('a request has a subject');
  const tenant = config.tenants[caller.tenant];
  const allowed = { identityProviders: tenant?.identityProviders ?? [], defaultCountry: tenant?.profile.subject.defaultCountry };
  return { ...(await identityProviders.read(JWT, allowed, audit)), judged: ofToken };
}

/** What the claims asked for is not in the request: the token is, and what it says is refused. */
function ofToken<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Refusal) || error.at === undefined || (error.code !== 'ISSUANCE_REFUSED' && error.code !== 'FIELD_INVALID'))
      throw error;
    throw refusedToken(error.text, error);
  }
}
