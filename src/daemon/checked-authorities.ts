import { checkAuthorityKey } from '../certificates/configured-authority.ts';
import { openAuthorities } from '../certificates/configured-authorities.ts';
import type { CertificateIssuer } from '../certificates/issue.ts';
import { checkProfiles } from '../certificates/profile-check.ts';
import type { Config } from '../config/config.ts';
import { loadTimeStampSigner } from '../timestamp/load-signer.ts';
import type { Token } from '../token/token.ts';

/**
 * Opens the configured authorities, by name, and checks all that of the configuration which only the
 * token can tell. Call it before the audit log is open: a start that fails here leaves no record.
 * @param recordedToken has the uses of the authorities' keys recorded
 * @throws {Error} if a key on the token does not match its certificate, also that of the time-stamp
 *   authority, or if a tenant's profile does not fit its CA
 */
export async function openCheckedAuthorities(
  { token, recordedToken }: { readonly token: Pick<Token, 'signAsService'>; readonly recordedToken: Token },
  { certificateAuthorities, timeStampAuthority, tenants }: Config,
): Promise<ReadonlyMap<string, CertificateIssuer>> {
  const authorities = await openAuthorities(recordedToken, certificateAuthorities);
  checkProfiles(tenants, authorities);
  if (timeStampAuthority !== undefined) await checkAuthorityKey('timeStampAuthority', loadTimeStampSigner(token, timeStampAuthority));
  return authorities;
}
