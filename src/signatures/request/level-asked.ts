import type { z } from 'zod';
import { Refusal } from '../../result-codes.ts';
import type { Addresses, AskedLevel, StatusData } from '../levels/asked-level.ts';
import type { RequestRules } from '../format-entry.ts';
import { hashOfDigest, type UrlSourceFields } from './shared-fields.ts';
import type { XP7Signature } from './xp7-signature.ts';

type TimeStampFields = NonNullable<XP7Signature['timeStamp']>;
type LongTermFields = NonNullable<XP7Signature['longTermValidation']>;
type SourceFields = z.output<typeof UrlSourceFields> | undefined;

/** Where a field of `parameters` is, for messages: `/parameters/XP7Signature`. */
type At = string;

/**
 * The level that is asked for (contract §5, Levels); undefined: baseline B.
 * @throws {Refusal} FIELDS_INCONSISTENT, UNSUPPORTED
 */
export function levelAsked(
  { timeStamp, longTermValidation, recovery }: Pick<XP7Signature, 'timeStamp' | 'longTermValidation' | 'recovery'>,
  at: At,
  rules: RequestRules,
): AskedLevel | undefined {
  if (timeStamp === undefined) {
    if (longTermValidation !== undefined) throw inconsistent(`${at}/longTermValidation`, 'long-term validation needs timeStamp');
    if (recovery !== undefined) throw inconsistent(`${at}/recovery`, 'it is for time-stamps, and there is no timeStamp');
    return undefined;
  }
  const stamps = timeStampAsked(timeStamp, `${at}/timeStamp`, rules);
  const statuses = statusesAsked(longTermValidation ?? {}, `${at}/longTermValidation`, rules);
  const again =
    recovery === undefined ? {} : { recovery: { intervalSeconds: recovery.interval ?? 0, maxAttempts: recovery.maxAttempts ?? 1 } };
  const level = longTermValidation === undefined ? 'T' : longTermValidation.archiveTimeStamp === true ? 'LTA' : 'LT';
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
    throw inconsistent(`${at}/credentials/userName`, 'HTTP takes no user name with a colon (RFC 7617 §2)');
  return {
    // Who asks for a time-stamp and names nobody wants that of the service.
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

/** `absent`: what counts where nothing is said. @throws {Refusal} FIELDS_INCONSISTENT, UNSUPPORTED */
function addressesAsked(fields: SourceFields, at: At, rules: RequestRules, absent: 'CERTIFICATE' | 'SERVER'): Addresses {
  const { URLSource: source = absent, clientURL: urls = [] } = fields ?? {};
  if (source !== 'CLIENT') {
    if (urls.length > 0) throw inconsistent(`${at}/clientURL`, 'only URLSource CLIENT takes addresses');
    return { source };
  }
  if (urls.length === 0) throw inconsistent(`${at}/clientURL`, 'URLSource CLIENT needs at least one address');
  for (const [index, url] of urls.entries()) rules.checkUrl(url, `${at}/clientURL/${index}`);
  return { source, urls };
}

function inconsistent(at: At, message: string): Refusal {
  return new Refusal('FIELDS_INCONSISTENT', { at, message });
}
