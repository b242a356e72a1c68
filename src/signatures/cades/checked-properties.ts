import { Refusal } from '../../result-codes.ts';
import type { SignedProperties } from '../request/signed-properties.ts';

const explicitTextMaxCharacters = 200;

/**
 * Checks the properties that become signed attributes of a CMS signature: no string is empty
 * (DirectoryString, X.520 §6), an explicitText has at most 200 characters (RFC 5126 §5.8.1), and
 * there is one commitment at most (EN 319 122-1 §5.2.3). `at`: JSON Pointer of the properties.
 * `isReason`: the text of the commitment is no attribute, but the reason of a PDF signature.
 * @throws {Refusal} FIELD_INVALID, FIELDS_INCONSISTENT
 */
export function checkProperties(
  { commitmentText, commitments, place, claimedRoles }: SignedProperties,
  at: string,
  { isReason = false }: { readonly isReason?: boolean } = {},
): void {
  const invalid = (field: string, message: string): Refusal => new Refusal('FIELD_INVALID', { at: `${at}/${field}`, message });
  const tooLong = commitmentText !== undefined && Array.from(commitmentText).length > explicitTextMaxCharacters;
  if (tooLong && !isReason) throw invalid('commitmentText', `at most ${explicitTextMaxCharacters} characters in a CMS signature`);
  for (const [field, text] of Object.entries({
    commitmentText,
    'signatureProductionPlace/city': place?.city,
    'signatureProductionPlace/stateOrProvince': place?.stateOrProvince,
    'signatureProductionPlace/postalCode': place?.postalCode,
    ...Object.fromEntries(claimedRoles.map((role, index) => [`signerRole/claimedRoles/claimedRole/${index}`, role])),
  })) {
    if (text === '') throw invalid(field, 'must not be empty in a CMS signature');
  }
  if (commitments.length <= 1) return;
  throw new Refusal('FIELDS_INCONSISTENT', {
    at: `${at}/commitmentTypeId`,
    message: 'a CMS signature has only one commitment type, and signatureType APPELLATION already sets ORIGIN',
  });
}
