import type { Certificate } from '../../x509/certificate.ts';
import { Refusal } from '../../result-codes.ts';
import type { CmsParameters } from './cms.ts';
import type { SignedProperties } from '../request/signed-properties.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import type { XP7Signature } from '../request/parameters.ts';
import { checkSigningTime, signedPropertiesAsked } from '../request/signed-properties-asked.ts';

const at = '/parameters/XP7Signature/signedProperties';
const commitmentTextMaxCharacters = 200;

/** A CMS signature that is asked for, as far as it depends on no key. */
export interface RequestedCms extends Pick<CmsParameters, 'detached' | 'properties' | 'coSigning'> {
  readonly kind: 'cms';
  readonly options: XP7Signature;
}

/** @throws {Refusal} FIELD_INVALID, FIELDS_INCONSISTENT, UNSUPPORTED */
export function requestedCms(options: XP7Signature): RequestedCms {
  const properties = signedPropertiesAsked(options.signedProperties, at, { isXp7: true });
  checkTexts(properties);
  checkCommitments(properties);
  const detached = options.XP7Providers?.CXP7Parameters?.detached ?? false;
  const { validateSignatures } = options;
  // What is to be signed detached is content, whatever it is; and so it is where nothing is said of signatures that it may have (formats, CAdES).
  const coSigning = detached || validateSignatures === undefined ? 'NEVER' : validateSignatures ? 'CHECKED' : 'UNCHECKED';
  return { kind: 'cms', options, detached, properties, coSigning };
}

/** What the format needs to know. @throws {Refusal} FIELDS_INCONSISTENT for a signing time outside of the certificate's validity */
export function cmsParameters(
  { detached, properties, coSigning }: RequestedCms,
  algorithm: SignatureAlgorithm,
  certificate: Certificate,
): CmsParameters {
  checkSigningTime(properties, certificate, at);
  return { algorithm, detached, properties, coSigning };
}

/** Character strings of CMS are not empty (DirectoryString, X.520 §6), and an explicitText has at most 200 characters (RFC 5126 §5.8.1). */
function checkTexts({ commitmentText, place, claimedRoles }: SignedProperties): void {
  const tooLong = commitmentText !== undefined && Array.from(commitmentText).length > commitmentTextMaxCharacters;
  if (tooLong) throw invalid('commitmentText', `a CMS signature takes at most ${commitmentTextMaxCharacters} characters`);
  for (const [field, text] of Object.entries({
    commitmentText,
    'signatureProductionPlace/city': place?.city,
    'signatureProductionPlace/stateOrProvince': place?.stateOrProvince,
    'signatureProductionPlace/postalCode': place?.postalCode,
    ...Object.fromEntries(claimedRoles.map((role, index) => [`signerRole/claimedRoles/claimedRole/${index}`, role])),
  })) {
    if (text === '') throw invalid(field, 'a CMS signature has no empty texts');
  }
}

/** commitment-type-indication has one value (EN 319 122-1 §5.2.3). */
function checkCommitments({ commitments }: SignedProperties): void {
  if (commitments.length <= 1) return;
  throw new Refusal('FIELDS_INCONSISTENT', {
    at: `${at}/commitmentTypeId`,
    message: 'a CMS signature holds one commitment type, and that of signatureType APPELLATION is ORIGIN',
  });
}

function invalid(field: string, message: string): Refusal {
  return new Refusal('FIELD_INVALID', { at: `${at}/${field}`, message });
}
