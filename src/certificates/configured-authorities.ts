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
