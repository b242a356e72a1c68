import { Refusal } from '../../result-codes.ts';
import type { FormatEntry } from '../format-entry.ts';
import { algorithmAsked } from '../request/algorithm-asked.ts';
import type { SignedProperties } from '../request/signed-properties.ts';
import { checkSigningTime } from '../request/signed-properties-asked.ts';
import { xp7Asked, xp7At } from '../request/xp7-asked.ts';
import type { XP7Signature } from '../request/xp7-signature.ts';
import { cmsFormat, type CmsParameters, type CmsState } from './cms.ts';
import { cadesLevels } from './level-writer.ts';

const propertiesAt = `${xp7At}/signedProperties`;
const commitmentTextMaxCharacters = 200;

interface CmsOptions {
  readonly xp7: XP7Signature;
  readonly properties: SignedProperties;
  readonly detached: boolean;
}

/** The member `XP7Signature` of the parameters with XP7Format CXP_7: CAdES. */
export const cmsEntry: FormatEntry<XP7Signature, CmsOptions, CmsParameters, CmsState> = {
  title: 'XP7Signature with XP7Format CXP_7',
  askedBy: { member: 'XP7Signature', xp7Format: 'CXP_7' },
  format: cmsFormat,
  levels: cadesLevels,

  asked(xp7, rules) {
    const { level, trustedCa, properties } = xp7Asked(xp7, rules);
    checkTexts(properties);
    checkCommitments(properties);
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

/**
 * Checks that no string is empty (DirectoryString, X.520 §6) and that an explicitText has at most
 * 200 characters (RFC 5126 §5.8.1).
 */
function checkTexts({ commitmentText, place, claimedRoles }: SignedProperties): void {
  const tooLong = commitmentText !== undefined && Array.from(commitmentText).length > commitmentTextMaxCharacters;
  if (tooLong) throw invalid('commitmentText', `at most ${commitmentTextMaxCharacters} characters in a CMS signature`);
  for (const [field, text] of Object.entries({
    commitmentText,
    'signatureProductionPlace/city': place?.city,
    'signatureProductionPlace/stateOrProvince': place?.stateOrProvince,
    'signatureProductionPlace/postalCode': place?.postalCode,
    ...Object.fromEntries(claimedRoles.map((role, index) => [`signerRole/claimedRoles/claimedRole/${index}`, role])),
  })) {
    if (text === '') throw invalid(field, 'must not be empty in a CMS signature');
  }
}

/** Checks that there is one commitment at most (EN 319 122-1 §5.2.3). */
function checkCommitments({ commitments }: SignedProperties): void {
  if (commitments.length <= 1) return;
  throw new Refusal('FIELDS_INCONSISTENT', {
    at: `${propertiesAt}/commitmentTypeId`,
    message: 'a CMS signature has only one commitment type, and signatureType APPELLATION already sets ORIGIN',
  });
}

function invalid(field: string, message: string): Refusal {
  return new Refusal('FIELD_INVALID', { at: `${propertiesAt}/${field}`, message });
}
