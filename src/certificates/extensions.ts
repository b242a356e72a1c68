import * as der from '../asn1/der.ts';
import { oids } from '../asn1/object-identifiers.ts';
import { children, readAll } from '../asn1/reader.ts';
import { isWellFormedDer } from '../asn1/well-formed.ts';
import type { CertificateProfile } from '../config/profile.ts';
import { Refusal } from '../result-codes.ts';
import type { CertificateIssuer } from './issue.ts';
import type { RequestedAttributes } from './pkcs10.ts';
import * as standard from './standard-extensions.ts';
import type { Extension, PublicationUrls } from './standard-extensions.ts';

const attributesAt = '/certificationRequestInfo/PKCS10/attributes';
const requestAt = `${attributesAt}/extensionRequest`;

/** Extensions that say what a certificate may do and whose it is: the authority's alone, whatever the profile lists. */
const neverRequested: ReadonlySet<string> = new Set([
  oids.keyUsage,
  oids.basicConstraints,
  oids.authorityKeyIdentifier,
  oids.subjectKeyIdentifier,
]);

interface RequestedExtension extends Extension {
  readonly at: string;
}

/**
 * The extensions of an end entity's certificate: what the profile sets, then what the request asks for and the profile allows (contract §7).
 * @throws {Refusal} ISSUANCE_REFUSED naming the rule and the OID, FIELDS_INCONSISTENT for an extension requested twice,
 * FIELD_INVALID for a value that is not DER.
 */
export function certificateExtensions(
  profile: CertificateProfile,
  issuer: Pick<CertificateIssuer, 'certificate'>,
  subjectPublicKeyInfo: Uint8Array,
  requested: RequestedAttributes,
  urls: PublicationUrls = {},
): Uint8Array[] {
  if (profile.keyUsage.includes('keyCertSign')) {
    // RFC 5280 4.2.1.3: keyCertSign is for certificates whose basicConstraints say CA.
    throw new Refusal('ISSUANCE_REFUSED', { message: 'keyUsage keyCertSign of the profile is for authorities only' });
  }
  const own = [
    standard.authorityKeyIdentifier(issuer.certificate),
    standard.subjectKeyIdentifier(subjectPublicKeyInfo),
    standard.keyUsage(profile.keyUsage),
    ...(profile.extendedKeyUsage.length === 0 ? [] : [standard.extendedKeyUsage(profile.extendedKeyUsage)]),
    ...(profile.policies.length === 0 ? [] : [standard.certificatePolicies(profile.policies)]),
    ...standard.publicationExtensions(urls),
    ...directoryAttributes(profile, requested),
  ];
  const wanted = requestedExtensions(requested.extensionRequest);
  for (const [index, { oid, at }] of wanted.entries()) {
    if (wanted.slice(0, index).some((earlier) => earlier.oid === oid)) {
      throw new Refusal('FIELDS_INCONSISTENT', { at, message: `the extension ${oid} is requested twice` });
    }
  }
  for (const { oid, at } of wanted) {
    if (neverRequested.has(oid) || own.some((extension) => extension.oid === oid)) {
      throw new Refusal('ISSUANCE_REFUSED', { at, message: `the extension ${oid} is the authority's to set` });
    }
    if (!profile.allowedExtensions.includes(oid)) {
      throw new Refusal('ISSUANCE_REFUSED', { at, message: `the profile does not allow the extension ${oid} (allowedExtensions)` });
    }
  }
  return [...own, ...wanted].map((extension) => extension.der);
}

function requestedExtensions({ extension = [], subjectAlternativeName, any = {} }: ExtensionRequest = {}): RequestedExtension[] {
  const mailboxes = subjectAlternativeName?.generalName.map((name) => name.RFC822Name);
  return [
    ...(mailboxes === undefined ? [] : [{ ...standard.subjectAltName(mailboxes), at: `${requestAt}/subjectAlternativeName` }]),
    ...extension.map(({ identifier, value }, index) => requestedExtension(identifier, value, `${requestAt}/extension/${index}/value`)),
    ...Object.entries(any).map(([identifier, value]) => requestedExtension(identifier, value, `${requestAt}/any/${identifier}`)),
  ];
}
type ExtensionRequest = NonNullable<RequestedAttributes['extensionRequest']>;

function requestedExtension(oid: string, value: Uint8Array, at: string): RequestedExtension {
  if (!isWellFormedDer(value)) throw new Refusal('FIELD_INVALID', { at, message: 'not one element in DER' });
  if (oid === oids.subjectAltName && !isGeneralNames(value)) throw new Refusal('FIELD_INVALID', { at, message: 'not GeneralNames' });
  return { ...standard.extension(oid, value), at };
}

/** A SEQUENCE of one or more GeneralName, each with a tag from [0] to [8] (RFC 5280 4.2.1.6). */
function isGeneralNames(value: Uint8Array): boolean {
  const element = readAll(value);
  if (element.tag !== 0x30 || element.content.length === 0) return false;
  return children(element).every(({ tag }) => (tag & 0xc0) === 0x80 && (tag & 0x1f) <= 8);
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
