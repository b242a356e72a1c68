import type { z } from 'zod';
import { Refusal } from '../../result-codes.ts';
import type { Addresses, AskedLevel, StatusData } from '../levels/asked-level.ts';
import type { RequestRules } from '../format-entry.ts';
import { hashOfDigest, type UrlSourceFields } from './shared-fields.ts';
import type { PdfParameters } from './pdf-fields.ts';
import type { XP7Signature } from './xp7-signature.ts';

type TimeStampFields = NonNullable<XP7Signature['timeStamp']>;
type LongTermFields = NonNullable<XP7Signature['longTermValidation']>;
type SourceFields = z.output<typeof UrlSourceFields> | undefined;
type RevocationDataFields = NonNullable<PdfParameters['revocationData']>;
type CertificateSources = RevocationDataFields['signerCertificate'];

/** JSON Pointer of a field, such as `/parameters/XP7Signature`. */
type At = string;

/**
 * Returns the requested level (contract §5, Levels); undefined for baseline B.
 * @throws {Refusal} FIELDS_INCONSISTENT, UNSUPPORTED
 */
export function levelAsked(
  { timeStamp, longTermValidation, recovery }: Pick<XP7Signature, 'timeStamp' | 'longTermValidation' | 'recovery'>,
  at: At,
  rules: RequestRules,
  revocationData?: { readonly fields: RevocationDataFields; readonly at: At },
): AskedLevel | undefined {
  if (timeStamp === undefined) {
    if (revocationData !== undefined) throw inconsistent(revocationData.at, 'revocationData needs timeStamp');
    if (longTermValidation !== undefined) throw inconsistent(`${at}/longTermValidation`, 'longTermValidation needs timeStamp');
    if (recovery !== undefined) throw inconsistent(`${at}/recovery`, 'recovery needs timeStamp');
    return undefined;
  }
  const stamps = timeStampAsked(timeStamp, `${at}/timeStamp`, rules);
  const longTerm = statusesAsked(longTermValidation ?? {}, `${at}/longTermValidation`, rules);
  const statuses = revocationData === undefined ? longTerm : revocationAsked(revocationData, longTerm, rules);
  const again =
    recovery === undefined ? {} : { recovery: { intervalSeconds: recovery.interval ?? 0, maxAttempts: recovery.maxAttempts ?? 1 } };
  const isLongTerm = longTermValidation !== undefined || revocationData !== undefined;
  const level = !isLongTerm ? 'T' : longTermValidation?.archiveTimeStamp === true ? 'LTA' : 'LT';
  return { level, timeStamp: { ...stamps, ...again }, ...statuses };
}

function timeStampAsked(fields: TimeStampFields, at: At, rules: RequestRules): AskedLevel['timeStamp'] {
  const { digestAlg = 'SHA_256', policyOID: policy, credentials, nonce = true } = fields;
  if (digestAlg === 'SHA_1' && !rules.allowSha1)
    throw new Refusal('UNSUPPORTED', {
      at: `${at}/digestAlg`,
      message: 'SHA_1 is not allowed for this tenant; supported: SHA_256, SHA_384 and SHA_512',
    });
  if (credentials?.userName.includes(':') === true)
    throw inconsistent(`${at}/credentials/userName`, 'a user name must not contain a colon (RFC 7617 §2)');
  return {
    // The default is the service's own choice of authorities.
    addresses: addressesAsked(fields, at, rules, 'SERVER'),
    hash: hashOfDigest[digestAlg],
    nonce,
    ...(policy === undefined ? {} : { policy }),
    ...(credentials === undefined ? {} : { credentials: `${credentials.userName}:${credentials.password}` }),
  };
}

function statusesAsked(fields: LongTermFields, at: At, rules: RequestRules): Pick<AskedLevel, 'ofSigner' | 'ofAuthorities'> {
  const asked = (source: LongTermFields['signerRevocationDataSource'], choice: StatusData['choice'], name: string): StatusData => ({
    ...(choice === undefined ? {} : { choice }),
    ocsp: addressesAsked(source?.OCSP, `${at}/${name}/OCSP`, rules, 'CERTIFICATE'),
    crl: addressesAsked(source?.CRL, `${at}/${name}/CRL`, rules, 'CERTIFICATE'),
  });
  return {
    ofSigner: asked(fields.signerRevocationDataSource, fields.signerRevocationValueChoice, 'signerRevocationDataSource'),
    ofAuthorities: asked(
      fields.authoritiesRevocationDataSource,
      fields.authoritiesRevocationValueChoice,
      'authoritiesRevocationDataSource',
    ),
  };
}

/**
 * Returns the sources and the tolerance of `revocationData`. Its sources for the signer, and for
 * the authorities, replace those of `longTermValidation`.
 */
function revocationAsked(
  { fields, at }: { readonly fields: RevocationDataFields; readonly at: At },
  { ofSigner, ofAuthorities }: Pick<AskedLevel, 'ofSigner' | 'ofAuthorities'>,
  rules: RequestRules,
): Pick<AskedLevel, 'ofSigner' | 'ofAuthorities' | 'tolerance'> {
  const { signerCertificate, authorityCertificates, authorizedRevocationLevel = 'VALID', cancelOnError = true } = fields;
  return {
    ofSigner: certificateAsked(signerCertificate, ofSigner, `${at}/signerCertificate`, rules),
    ofAuthorities: certificateAsked(authorityCertificates, ofAuthorities, `${at}/authorityCertificates`, rules),
    tolerance: { ofSigner: authorizedRevocationLevel, cancelOnError },
  };
}

/** Without a choice, a source that is named alone is the one that is used. */
function certificateAsked(sources: CertificateSources, otherwise: StatusData, at: At, rules: RequestRules): StatusData {
  if (sources === undefined) return otherwise;
  const { CRL, OCSP } = sources;
  const named = (CRL === undefined) === (OCSP === undefined) ? undefined : CRL === undefined ? 'OCSP' : 'CRL';
  const choice = otherwise.choice ?? named;
  return {
    ...(choice === undefined ? {} : { choice }),
    ocsp: addressesAsked(OCSP, `${at}/OCSP`, rules, 'CERTIFICATE'),
    crl: addressesAsked(CRL, `${at}/CRL`, rules, 'CERTIFICATE'),
  };
}

/**
 * Returns the addresses. `absent`: the default source.
 * @throws {Refusal} FIELDS_INCONSISTENT, UNSUPPORTED
 */
function addressesAsked(fields: SourceFields, at: At, rules: RequestRules, absent: 'CERTIFICATE' | 'SERVER'): Addresses {
  const { URLSource: source = absent, clientURL: urls = [] } = fields ?? {};
  if (source !== 'CLIENT') {
    if (urls.length > 0) throw inconsistent(`${at}/clientURL`, 'addresses are allowed only with URLSource CLIENT');
    return { source };
  }
  if (urls.length === 0) throw inconsistent(`${at}/clientURL`, 'URLSource CLIENT needs at least one address');
  for (const [index, url] of urls.entries()) rules.checkUrl(url, `${at}/clientURL/${index}`);
  return { source, urls };
}

function inconsistent(at: At, message: string): Refusal {
  return new Refusal('FIELDS_INCONSISTENT', { at, message });
}
