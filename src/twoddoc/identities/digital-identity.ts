import { readFileSync } from 'node:fs';
import type { KeyObject } from 'node:crypto';
import { DerError } from '../../asn1/reader.ts';
import type { TenantId } from '../../clients/caller.ts';
import type { DigitalIdentityConfig } from '../../config/two-d-doc-config.ts';
import { parseKeyReferenceId, type KeyReferenceId } from '../../keys/key-record.ts';
import type { IdentityName } from '../../keys/identity-keys.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { readPublicKey } from '../../verification/public-key.ts';
import { readCertificateText, type Certificate } from '../../x509/certificate.ts';
import { commonNameOf } from '../../x509/distinguished-name.ts';
import { zoneCurves, type ZoneCurve } from '../code/curves.ts';
import { documentType } from '../tables/document-types.ts';
import { isoOfDay } from '../zone/days.ts';
import { typesNamedBy } from './certificate-types.ts';

export type Curve = ZoneCurve['name'];

/** A configured digital identity: a certificate of a 2D-Doc CA, whose key is on the token. */
export interface DigitalIdentity extends IdentityName {
  readonly tenant: TenantId;
  /** Codes of the types that the configuration allows; undefined: any. */
  readonly types: ReadonlySet<string> | undefined;
  /** Codes of the types that the certificate names; empty: it names none. */
  readonly certificateTypes: ReadonlySet<string>;
  readonly certificate: Certificate;
  readonly publicKey: KeyObject;
  readonly curve: Curve;
  readonly algorithm: SignatureAlgorithm;
  /** `keyReference.reference`: SHA-1 of the certificate. */
  readonly reference: KeyReferenceId;
}

/** What decides which headers the holder of a certificate may sign. */
export type HeaderRules = Pick<DigitalIdentity, 'ca' | 'certificateId' | 'certificate' | 'types' | 'certificateTypes'>;

/** The part of a zone's header that concerns the identity that signs it. */
export interface IdentityHeader {
  readonly ca: string;
  readonly certificate: string;
  readonly type: string;
}

const dayMs = 86_400_000;

/**
 * Reads a configured identity.
 * @throws {Error} if a type does not exist, or the file cannot be read, is not a certificate, or
 *   does not fit the identifiers; the message is for an operator and has no place
 */
export function readDigitalIdentity(tenant: TenantId, config: DigitalIdentityConfig): DigitalIdentity {
  const { ca, certificateId, types } = config;
  const noType = types?.find((code) => !isSignedType(code));
  if (noType !== undefined) throw new Error(`types: there are no documents of type ${noType} that can be signed`);
  const certificate = certificateIn(config.certificate);
  const [issuer, subject] = [certificate.issuer, certificate.subject].map((name) => commonNameOf(name));
  if (issuer !== ca) throw new Error(`${config.certificate}: the issuer is ${shown(issuer)}, not the CA ${ca}`);
  if (subject !== certificateId) throw new Error(`${config.certificate}: the common name is ${shown(subject)}, not ${certificateId}`);
  const publicKey = readPublicKey(certificate.subjectPublicKeyInfo);
  const known = zoneCurves.find(({ namedCurve }) => namedCurve === publicKey.asymmetricKeyDetails?.namedCurve);
  if (known === undefined) throw new Error(`${config.certificate}: its key is not on one of the curves P-256, P-384 and P-521`);
  return {
    ...{ tenant, ca, certificateId, certificate, publicKey },
    types: types === undefined ? undefined : new Set(types),
    certificateTypes: typesNamedBy(certificate),
    ...{ curve: known.name, algorithm: known.algorithm },
    reference: parseKeyReferenceId(certificate.sha1Fingerprint),
  };
}

/** Whether the rules of a document type are known, so that its zones can be checked. */
export function isSignedType(code: string): boolean {
  return documentType(code)?.isPublic === true;
}

/** Whether configuration and certificate let the identity sign documents of this type. */
export function maySignType({ types, certificateTypes }: Pick<DigitalIdentity, 'types' | 'certificateTypes'>, type: string): boolean {
  return (types === undefined || types.has(type)) && (certificateTypes.size === 0 || certificateTypes.has(type));
}

/** A member of a header that does not fit an identity. */
interface HeaderFault {
  readonly member: 'ca' | 'certificate' | 'type' | 'signatureDate';
  /** In words for the caller. */
  readonly message: string;
}

/**
 * Returns why the identity may not sign a zone with this header, in words for the caller;
 * undefined if it may. The curve is not compared: it decides the algorithm.
 * @param at date of the signature in the header; undefined: it has none
 */
export function headerFault(identity: HeaderRules, header: IdentityHeader, at: Date | undefined): string | undefined {
  return headerFaults(identity, header, at)[0]?.message;
}

/** Returns each fault for which `headerFault` returns the first. */
export function headerFaults(
  identity: HeaderRules,
  { ca, certificate, type }: IdentityHeader,
  at: Date | undefined,
): readonly HeaderFault[] {
  const { certificateId, types, certificateTypes } = identity;
  const faults: HeaderFault[] = [];
  if (ca !== identity.ca)
    faults.push({
      member: 'ca',
      message: `the zone names the CA ${ca}, but the signer's certificate is from ${JSON.stringify(identity.ca)}`,
    });
  if (certificate !== certificateId) {
    const message = `the zone names the certificate ${certificate}, but the signer's is ${JSON.stringify(certificateId)}`;
    faults.push({ member: 'certificate', message });
  }
  if (!maySignType(identity, type)) {
    const allowed = [types, certificateTypes].find((codes) => codes !== undefined && codes.size > 0 && !codes.has(type)) ?? [];
    faults.push({ member: 'type', message: `the identity does not sign documents of type ${type}, only ${[...allowed].join(', ')}` });
  }
  const message = at === undefined ? undefined : periodFault(identity.certificate, at);
  return message === undefined ? faults : [...faults, { member: 'signatureDate', message }];
}

/** The header has a day, which the certificate's period may begin or end within. */
function periodFault({ notBefore, notAfter }: Certificate, at: Date): string | undefined {
  const day = Math.floor(at.getTime() / dayMs) * dayMs;
  if (notBefore.getTime() >= day + dayMs)
    return `the zone's signature date is ${isoOfDay(at)}, but the certificate of the identity is valid only from ${isoOfDay(notBefore)}`;
  if (notAfter.getTime() < day)
    return `the zone's signature date is ${isoOfDay(at)}, but the certificate of the identity was valid only until ${isoOfDay(notAfter)}`;
  return undefined;
}

/**
 * Returns the rules of a certificate alone, whose key is somewhere else. Names that it lacks are
 * empty.
 */
export function rulesOfCertificate(certificate: Certificate): HeaderRules {
  const [ca = '', certificateId = ''] = [certificate.issuer, certificate.subject].map((name) => commonNameOf(name));
  return { ca, certificateId, certificate, types: undefined, certificateTypes: typesNamedBy(certificate) };
}

function certificateIn(file: string): Certificate {
  const bytes = readFileSync(file);
  try {
    return readCertificateText(bytes);
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    throw new Error(`${file}: this is not an X.509 certificate in PEM or DER`, { cause: error });
  }
}

function shown(name: string | undefined): string {
  return name === undefined ? 'without a common name' : `"${name}"`;
}
