import { checkProperties } from '../cades/checked-properties.ts';
import type { FormatEntry } from '../format-entry.ts';
import { algorithmAsked } from '../request/algorithm-asked.ts';
import type { SignedProperties } from '../request/signed-properties.ts';
import { checkSigningTime } from '../request/signed-properties-asked.ts';
import { xp7Asked, xp7At } from '../request/xp7-asked.ts';
import type { XP7Signature } from '../request/xp7-signature.ts';
import { cmsFormat, type CmsParameters, type CmsState } from './cms.ts';
import { cadesLevels } from './level-writer.ts';

const propertiesAt = `${xp7At}/signedProperties`;

interface CmsOptions {
  readonly xp7: XP7Signature;
  readonly properties: SignedProperties;
  readonly detached: boolean;
}

/** The member `XP7Signature` of the parameters with XP7Format CXP_7: CAdES. */
export const cmsEntry: FormatEntry<XP7Signature, CmsOptions, CmsParameters, CmsState> = {
  askedBy: { member: 'XP7Signature', xp7Format: 'CXP_7' },
  format: cmsFormat,
  levels: cadesLevels,

  asked(xp7, rules) {
    const { level, trustedCa, properties } = xp7Asked(xp7, rules);
    checkProperties(properties, propertiesAt);
    return {
      ...{ level, trustedCa },
      ...{ takesDigests: false, takesPasswords: false, isText: false },
      options: { xp7, properties, detached: xp7.XP7Providers?.CXP7Parameters?.detached ?? false },
    };
  },

  plan({ options: { xp7, properties, detached } }, _documents, signer) {
    if (signer === undefined) throw new Error('a CMS signature binds the certificate of its signer');
    const algorithm = algorithmAsked(xp7, signer.key, xp7At);
    checkSigningTime(properties, signer.chain.certificate, propertiesAt);
    return { algorithm, parameters: { algorithm, detached, properties, coSigning: coSigningOf(xp7, detached) } };
  },
};

/**
 * Returns how existing signatures are treated. With a detached signature every document is plain
 * content. So is a SignedData if the request does not mention its signatures (formats, CAdES).
 */
function coSigningOf({ validateSignatures }: XP7Signature, detached: boolean): CmsParameters['coSigning'] {
  if (detached || validateSignatures === undefined) return 'NEVER';
  return validateSignatures ? 'CHECKED' : 'UNCHECKED';
}
