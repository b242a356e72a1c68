import type { Config } from '../config/config.ts';
import type { Token } from '../token/token.ts';
import { checkAuthorityKey, loadAuthority } from './configured-authority.ts';
import type { CertificateIssuer } from './issue.ts';
import { reasonOf } from '../telemetry/reason-of.ts';

/**
 * Opens all configured authorities, by name.
 * @throws {Error} if files do not form a chain, or a key on the token does not match its
 * certificate
 */
export async function openAuthorities(
  token: Token,
  configured: Config['certificateAuthorities'],
): Promise<ReadonlyMap<string, CertificateIssuer>> {
  const authorities = new Map<string, CertificateIssuer>();
  for (const [name, files] of Object.entries(configured)) {
    let authority: CertificateIssuer;
    try {
      authority = loadAuthority(token, files);
    } catch (error) {
      throw new Error(`certificateAuthorities.${name}: ${reasonOf(error)}`, { cause: error });
    }
    if (!files.retired) await checkAuthorityKey(`certificateAuthorities.${name}`, authority);
    authorities.set(name, authority);
  }
  return authorities;
}

/**
 * Loads the CA of TLS clients for its CRLs, by its name; none without a public listener. Its key is
 * not tried: without it, the service still serves.
 * @throws {Error} if its certificate cannot be read
 */
export function openClientAuthority(
  token: Pick<Token, 'signAsService'>,
  { clientAuthority, listeners }: Pick<Config, 'clientAuthority' | 'listeners'>,
): ReadonlyMap<string, CertificateIssuer> {
  if (clientAuthority === undefined || !clientAuthority.crl.enabled || listeners.public === undefined) return new Map();
  const { name, certificate, keyId } = clientAuthority;
  try {
    return new Map([[name, loadAuthority(token, { certificate, chain: [], keyId })]]);
  } catch (error) {
    throw new Error(`clientAuthority: ${reasonOf(error)}`, { cause: error });
  }
}
