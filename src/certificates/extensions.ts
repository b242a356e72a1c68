import * as der from '../asn1/der.ts';
import { oids } from '../asn1/object-identifiers.ts';
import { isWellFormedDer } from '../asn1/well-formed.ts';
import type { CertificateProfile, PublicationUrls } from '../config/profile.ts';
import { Refusal } from '../result-codes.ts';
import { alternativeNames } from './alternative-names.ts';
import type { CertificateIssuer } from './issue.ts';
import type { RequestedAttributes } from './pkcs10.ts';
import { qcStatements } from './qc-statements.ts';
import * as standard from './standard-extensions.ts';
import type { Extension } from './standard-extensions.ts';

const attributesAt = '/certificationRequestInfo/PKCS10/attributes';
const requestAt = `${attributesAt}/extensionRequest`;

/** Extensions that only the authority sets, whatever the profile lists. */
const neverRequested: ReadonlySet<string> = new Set([
  oids.keyUsage,
  oids.basicConstraints,
  oids.authorityKeyIdentifier,
  oids.subjectKeyIdentifier,
  oids.nameConstraints,
  oids.policyMappings,
  oids.policyConstraints,
  oids.inhibitAnyPolicy,
  oids.ocspNoCheck,
]);

interface RequestedExtension extends Extension {
  readonly value: Uint8Array;
  readonly at: string;
}

/**
 * Returns the extensions of an end-entity certificate: those that the profile sets, then those
 * requested that the profile allows (contract §7).
 * @throws {Refusal} ISSUANCE_REFUSED naming the rule and the OID, FIELDS_INCONSISTENT for a
 * duplicate extension, FIELD_INVALID for a value that is not DER.
 */
export function certificateExtensions(
  profile: CertificateProfile,
  issuer: Pick<CertificateIssuer, 'certificate'>,
  subjectPublicKeyInfo: Uint8Array,
  requested: RequestedAttributes,
  authorityUrls: PublicationUrls = {},
): Uint8Array[] {
  const own = [
    standard.authorityKeyIdentifier(issuer.certificate),
    standard.subjectKeyIdentifier(subjectPublicKeyInfo),
    standard.keyUsage(profile.keyUsage),
    ...(profile.extendedKeyUsage.length === 0 ? [] : [standard.extendedKeyUsage(profile.extendedKeyUsage)]),
    ...(profile.policies.length === 0 ? [] : [standard.certificatePolicies(profile.policies)]),
    ...qcStatements(profile.qcStatements),
    ...standard.publicationExtensions({ ...authorityUrls, ...definedMembers(profile.urls) }),
    ...directoryAttributes(profile, requested),
  ];
  const wanted = requestedExtensions(requested.extensionRequest);
  for (const [index, { oid, at }] of wanted.entries()) {
    if (wanted.slice(0, index).some((earlier) => earlier.oid === oid)) {
      throw new Refusal('FIELDS_INCONSISTENT', { at, message: `duplicate extension ${oid}` });
    }
  }
  for (const { oid, value, at } of wanted) {
    if (neverRequested.has(oid) || own.some((extension) => extension.oid === oid)) {
      throw new Refusal('ISSUANCE_REFUSED', { at, message: `only the authority sets the extension ${oid}` });
    }
    if (!profile.allowedExtensions.includes(oid)) {
      throw new Refusal('ISSUANCE_REFUSED', { at, message: `the profile does not allow the extension ${oid} (allowedExtensions)` });
    }
    if (!isWellFormedDer(value)) throw new Refusal('FIELD_INVALID', { at, message: 'not one element in DER' });
    if (oid === oids.subjectAltName) checkAlternativeNames(profile, value, at);
  }
  return [...own, ...wanted].map((extension) => extension.der);
}

/** Returns only the members that are defined, so that they can override others. */
function definedMembers({ crl, ocsp, caIssuers }: PublicationUrls): PublicationUrls {
  return {
    ...(crl === undefined ? {} : { crl }),
    ...(ocsp === undefined ? {} : { ocsp }),
    ...(caIssuers === undefined ? {} : { caIssuers }),
  };
}

function requestedExtensions({ extension = [], subjectAlternativeName, any = {} }: ExtensionRequest = {}): RequestedExtension[] {
  const mailboxes = subjectAlternativeName?.generalName.map((name) => name.RFC822Name);
  return [
    ...(mailboxes === undefined
      ? []
      : [requestedExtension(oids.subjectAltName, standard.generalNames(mailboxes), `${requestAt}/subjectAlternativeName`)]),
    ...extension.map(({ identifier, value }, index) => requestedExtension(identifier, value, `${requestAt}/extension/${index}/value`)),
    ...Object.entries(any).map(([identifier, value]) => requestedExtension(identifier, value, `${requestAt}/any/${identifier}`)),
  ];
}
type ExtensionRequest = NonNullable<RequestedAttributes['extensionRequest']>;

function requestedExtension(oid: string, value: Uint8Array, at: string): RequestedExtension {
  return { ...standard.extension(oid, value), value, at };
}

/**
 * @throws {Refusal} FIELD_INVALID for an invalid name, ISSUANCE_REFUSED for a kind of name that the
 * profile does not allow
 */
function checkAlternativeNames({ allowedAlternativeNames }: CertificateProfile, value: Uint8Array, at: string): void {
  const names = alternativeNames(value);
  if (names === undefined) throw new Refusal('FIELD_INVALID', { at, message: 'not GeneralNames (RFC 5280 4.2.1.6)' });
  for (const { kind, fault } of names) {
    if (!allowedAlternativeNames.some((allowed) => allowed === kind)) {
      throw new Refusal('ISSUANCE_REFUSED', {
        at,
        message: `the profile does not allow the alternative name ${kind} (allowedAlternativeNames)`,
      });
    }
    if (fault !== undefined) throw new Refusal('FIELD_INVALID', { at, message: `${kind}: ${fault}` });
  }
}

/** RFC 5280 4.2.1.8: attributes of the same type become one Attribute with several values. */
function directoryAttributes(profile: CertificateProfile, { attribute = [], any = {} }: RequestedAttributes): Extension[] {
  const wanted = [
    ...attribute.map(({ identifier, value }, index) => ({ identifier, value, at: `${attributesAt}/attribute/${index}` })),
    ...Object.entries(any).map(([identifier, value]) => ({ identifier, value, at: `${attributesAt}/any/${identifier}` })),
  ];
  if (wanted.length === 0) return [];
  const values = new Map<string, Uint8Array[]>();
  for (const { identifier, value, at } of wanted) {
    if (!profile.allowedDirectoryAttributes.includes(identifier)) {
      const message = `the profile does not allow the attribute ${identifier} (allowedDirectoryAttributes)`;
      throw new Refusal('ISSUANCE_REFUSED', { at, message });
    }
    if (!isWellFormedDer(value)) throw new Refusal('FIELD_INVALID', { at, message: 'not one element in DER' });
    values.set(identifier, [...(values.get(identifier) ?? []), value]);
  }
  const attributes = [...values].map(([identifier, list]) => der.sequence(der.oid(identifier), der.setOf(list)));
  return [standard.extension(oids.subjectDirectoryAttributes, der.sequence(...attributes))];
}
