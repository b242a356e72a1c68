import { canonicalisationUris } from '../../xml/canonicalisation.ts';
import { element } from '../../xml/xml-text.ts';
import type { Additions } from '../levels/long-term-data.ts';
import type { XadesState } from './xades-state.ts';
import { stampedCanonicalisation, xades141Namespace, xadesVersions } from './xades-version.ts';

/** Returns UnsignedProperties with time-stamps and validation data; nothing at baseline B. */
export function unsignedProperties(state: XadesState, additions: Additions | undefined): string {
  if (additions === undefined) return '';
  const { prefix } = state;
  const { timeStamp, longTermData, archive } = additions;
  const values = longTermData === undefined ? [] : [certificateValues(prefix, longTermData), revocationValues(prefix, longTermData)];
  const archives = archive === undefined ? [] : [archiveTimeStamp(prefix, archive)];
  const properties = element(`${prefix}:UnsignedSignatureProperties`, {}, signatureTimeStamp(state, timeStamp), ...values, ...archives);
  return element(`${prefix}:UnsignedProperties`, {}, properties);
}

/**
 * Returns the SignatureTimeStamp (EN 319 132-1 §5.3). Before version 1.3.2 it names the
 * SignatureValue that it covers.
 */
function signatureTimeStamp({ prefix, version, signatureValueId }: XadesState, token: Uint8Array): string {
  const uri = `#${signatureValueId}`;
  const covered = {
    HASH_DATA_INFO: element(`${prefix}:HashDataInfo`, { uri }),
    INCLUDE: element(`${prefix}:Include`, { URI: uri }),
    IMPLIED: '',
  }[xadesVersions[version].timeStampCovers];
  // Version 1.1.1 has no place for the method.
  const method = version === 'VERSION_1_1_1' ? '' : stampMethod(stampedCanonicalisation(version));
  return element(`${prefix}:SignatureTimeStamp`, {}, covered, method, encapsulated(prefix, 'TimeStamp', token));
}

/** Returns the ArchiveTimeStamp of version 1.4.1 (EN 319 132-1 §5.5.2). */
function archiveTimeStamp(prefix: string, token: Uint8Array): string {
  const own = `${prefix}141`;
  return element(
    `${own}:ArchiveTimeStamp`,
    { [`xmlns:${own}`]: xades141Namespace },
    stampMethod('EXC_C14N'),
    encapsulated(prefix, 'TimeStamp', token),
  );
}

/** CertificateValues (EN 319 132-1 §5.4.1). */
function certificateValues(prefix: string, { certificates }: NonNullable<Additions['longTermData']>): string {
  return element(`${prefix}:CertificateValues`, {}, ...certificates.map((one) => encapsulated(prefix, 'X509Certificate', one)));
}

/** RevocationValues (EN 319 132-1 §5.4.2). */
function revocationValues(prefix: string, { crls, ocspAnswers }: NonNullable<Additions['longTermData']>): string {
  const ofCrls = crls.map((one) => encapsulated(prefix, 'CRLValue', one));
  const ofOcsp = ocspAnswers.map((one) => encapsulated(prefix, 'OCSPValue', one));
  return element(
    `${prefix}:RevocationValues`,
    {},
    ofCrls.length === 0 ? '' : element(`${prefix}:CRLValues`, {}, ...ofCrls),
    ofOcsp.length === 0 ? '' : element(`${prefix}:OCSPValues`, {}, ...ofOcsp),
  );
}

function stampMethod(algorithm: keyof typeof canonicalisationUris): string {
  return element('ds:CanonicalizationMethod', { Algorithm: canonicalisationUris[algorithm] });
}

function encapsulated(prefix: string, name: string, der: Uint8Array): string {
  return element(`${prefix}:Encapsulated${name}`, {}, Buffer.from(der).toString('base64'));
}
