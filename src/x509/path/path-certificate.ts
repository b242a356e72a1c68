import { X509Certificate, type KeyObject } from 'node:crypto';
import { oids } from '../../asn1/object-identifiers.ts';
import { readOnce } from '../../asn1/read-once.ts';
import { children, DerError, readAll, readObjectIdentifier, type DerElement } from '../../asn1/reader.ts';
import { expectTag, SequenceFields } from '../../asn1/sequence-fields.ts';
import { keyFault } from '../../verification/key-bounds.ts';
import { readCertificate, type Certificate } from '../certificate.ts';
import { pairVerifies } from '../known-signatures.ts';
import { canonicalName, type CanonicalName } from './canonical-name.ts';
import { generalName, generalNames, type GeneralName } from './general-names.ts';
import { readNameConstraints, type NameConstraints } from './name-constraints.ts';
import type { PolicyMapping } from './policy-graph.ts';

/** Bits of keyUsage (RFC 5280 4.2.1.3). */
export const keyUsageBits = { digitalSignature: 0, nonRepudiation: 1, keyCertSign: 5, cRLSign: 6 } as const;

/** Extensions that path validation processes, which therefore may be critical. */
const understood: ReadonlySet<string> = new Set([
  oids.keyUsage,
  oids.extendedKeyUsage,
  oids.basicConstraints,
  oids.subjectAltName,
  oids.nameConstraints,
  oids.certificatePolicies,
  oids.policyMappings,
  oids.policyConstraints,
  oids.inhibitAnyPolicy,
  oids.crlDistributionPoints,
  oids.authorityKeyIdentifier,
  oids.subjectKeyIdentifier,
]);

/** A certificate with the fields that path validation (RFC 5280 §6.1) needs. */
export interface PathCertificate extends Certificate {
  readonly subjectName: CanonicalName;
  readonly issuerName: CanonicalName;
  readonly isSelfIssued: boolean;
  /** Undefined for a key beyond the limits, and for one that OpenSSL does not support. */
  readonly publicKey: KeyObject | undefined;
  /** Why the key is beyond the limits, as the end of a sentence. */
  readonly keyFault: string | undefined;
  readonly pathLength: number | undefined;
  /** Undefined if the extension is absent; every usage is then allowed. */
  readonly keyUsage: ReadonlySet<number> | undefined;
  readonly extendedKeyUsage: { readonly critical: boolean; readonly purposes: ReadonlySet<string> } | undefined;
  readonly alternativeNames: readonly GeneralName[];
  /** emailAddress attributes of the subject. */
  readonly subjectMailboxes: readonly string[];
  readonly nameConstraints: NameConstraints | undefined;
  readonly policies: ReadonlySet<string> | undefined;
  readonly policyMappings: readonly PolicyMapping[];
  readonly requireExplicitPolicy: number | undefined;
  readonly inhibitPolicyMapping: number | undefined;
  readonly inhibitAnyPolicy: number | undefined;
  readonly authorityKeyIdentifier: Uint8Array | undefined;
  /**
   * Full names of the distribution points that cover all reasons and whose CRLs the certificate's
   * issuer signs (RFC 5280 4.2.1.13).
   */
  readonly distributionPoints: readonly GeneralName[];
  /** URLs of OCSP responders (RFC 5280 4.2.2.1). */
  readonly ocspUrls: readonly string[];
  /** id-pkix-ocsp-nocheck (RFC 6960 4.2.2.2.1): its status is not checked. */
  readonly needsNoStatus: boolean;
  /** OID of an unknown critical extension, if any. */
  readonly unknownCritical: string | undefined;
  /** Whether the issuer's key signed this certificate. */
  isSignedBy(issuer: PathCertificate): boolean;
}

const tagOf = { boolean: 0x01, integer: 0x02, bitString: 0x03, octetString: 0x04, sequence: 0x30 } as const;

/** The same certificates appear in many chains. */
const memory = { entriesMax: 1000, entryMaxBytes: 16 * 1024 };

/**
 * Reads a certificate; cached, so that the same bytes give the same object.
 * @throws {DerError} for anything but a certificate
 */
export const pathCertificate: (der: Uint8Array) => PathCertificate = readOnce(readPathCertificate, memory);

function readPathCertificate(der: Uint8Array): PathCertificate {
  const certificate = readCertificate(der);
  const { extensions } = certificate;
  const valueOf = (oid: string): Uint8Array | undefined => extensions.get(oid)?.value;
  const read = <T>(oid: string, reader: (element: DerElement) => T): T | undefined => {
    const value = valueOf(oid);
    return value === undefined ? undefined : reader(readAll(value));
  };
  const fault = keyFault(certificate.subjectPublicKeyInfo);
  const x509 = fault === undefined ? openSslCertificate(der) : undefined;
  const publicKey = publicKeyOf(x509);
  const subjectName = canonicalName(certificate.subject);
  const issuerName = canonicalName(certificate.issuer);
  const constraints = valueOf(oids.nameConstraints);
  const basic = read(oids.basicConstraints, basicConstraints);
  const purposes = read(oids.extendedKeyUsage, objectIdentifiers);
  const policyLimits = read(oids.policyConstraints, policyConstraints);
  return {
    ...certificate,
    subjectName,
    issuerName,
    isSelfIssued: subjectName.key === issuerName.key,
    publicKey,
    keyFault: fault,
    isCa: basic?.isCa ?? false,
    pathLength: basic?.pathLength,
    keyUsage: read(oids.keyUsage, bitsOf),
    extendedKeyUsage:
      purposes === undefined
        ? undefined
        : { critical: extensions.get(oids.extendedKeyUsage)?.critical ?? false, purposes: new Set(purposes) },
    alternativeNames: read(oids.subjectAltName, generalNames) ?? [],
    subjectMailboxes: mailboxesOf(certificate),
    nameConstraints: constraints === undefined ? undefined : readNameConstraints(constraints),
    policies: read(oids.certificatePolicies, (list) => new Set(children(list).map((one) => firstIdentifier(one)))),
    policyMappings: read(oids.policyMappings, (list) => children(list).map(policyMapping)) ?? [],
    requireExplicitPolicy: policyLimits?.requireExplicitPolicy,
    inhibitPolicyMapping: policyLimits?.inhibitPolicyMapping,
    inhibitAnyPolicy: read(oids.inhibitAnyPolicy, (element) => skipCount(expectTag(element, tagOf.integer))),
    authorityKeyIdentifier: read(oids.authorityKeyIdentifier, (element) => children(element).find(({ tag }) => tag === 0x80)?.content),
    distributionPoints: read(oids.crlDistributionPoints, (list) => children(list).flatMap(distributionPoint)) ?? [],
    ocspUrls: read(oids.authorityInfoAccess, (list) => children(list).flatMap((one) => accessUrl(one, oids.accessOcsp))) ?? [],
    needsNoStatus: extensions.has(oids.ocspNoCheck),
    unknownCritical: [...extensions.values()].find(({ oid, critical }) => critical && !understood.has(oid))?.oid,
    isSignedBy: ({ publicKey: key, subjectPublicKeyInfo }) =>
      x509 !== undefined && key !== undefined && pairVerifies({ signed: der, subjectPublicKeyInfo }),
  };
}

/** Whether a certificate is a root, signed with its own key. */
export function isSelfSigned(certificate: PathCertificate): boolean {
  return certificate.isSelfIssued && certificate.isSignedBy(certificate);
}

function openSslCertificate(der: Uint8Array): X509Certificate | undefined {
  try {
    return new X509Certificate(der);
  } catch {
    // OpenSSL is stricter than RFC 5280 in places; if it cannot parse a certificate, the signature
    // cannot be verified.
    return undefined;
  }
}

function publicKeyOf(x509: X509Certificate | undefined): KeyObject | undefined {
  try {
    return x509?.publicKey;
  } catch {
    return undefined;
  }
}

function basicConstraints(element: DerElement): { isCa: boolean; pathLength: number | undefined } {
  const fields = new SequenceFields(expectTag(element, tagOf.sequence));
  const isCa = fields.tag === tagOf.boolean && fields.next().content[0] === 0xff;
  const pathLength = fields.tag === tagOf.integer ? skipCount(fields.next()) : undefined;
  fields.end();
  return { isCa, pathLength };
}

function policyConstraints(element: DerElement): Pick<PathCertificate, 'requireExplicitPolicy' | 'inhibitPolicyMapping'> {
  const fields = new SequenceFields(expectTag(element, tagOf.sequence));
  const requireExplicitPolicy = fields.tag === 0x80 ? skipCount(fields.next()) : undefined;
  const inhibitPolicyMapping = fields.tag === 0x81 ? skipCount(fields.next()) : undefined;
  fields.end();
  return { requireExplicitPolicy, inhibitPolicyMapping };
}

/** Reads a number of certificates, which may not be negative; huge values are capped. */
function skipCount({ content, start }: DerElement): number {
  const [first] = content;
  if (first === undefined || first >= 0x80) throw new DerError('negative number', start);
  return content.length > 4 ? 0x7fffffff : content.reduce((sum, octet) => sum * 256 + octet, 0);
}

function bitsOf(element: DerElement): ReadonlySet<number> {
  const octets = expectTag(element, tagOf.bitString).content.subarray(1);
  const bits = Array.from({ length: 8 * octets.length }, (_, bit) => bit);
  return new Set(bits.filter((bit) => ((octets[bit >> 3] ?? 0) & (0x80 >> (bit & 7))) !== 0));
}

function objectIdentifiers(element: DerElement): string[] {
  return children(expectTag(element, tagOf.sequence)).map(readObjectIdentifier);
}

function firstIdentifier(element: DerElement): string {
  return readObjectIdentifier(new SequenceFields(expectTag(element, tagOf.sequence)).next());
}

function policyMapping(element: DerElement): PolicyMapping {
  const [issuerDomain = '', subjectDomain = '', ...more] = objectIdentifiers(element);
  if (subjectDomain === '' || more.length > 0) throw new DerError('not a policy mapping', element.start);
  return { issuerDomain, subjectDomain };
}

function mailboxesOf({ subject }: Certificate): string[] {
  const attributes = children(readAll(subject)).flatMap(children);
  return attributes.flatMap((attribute) => {
    const [type, value] = children(attribute);
    const isMailbox = type !== undefined && value !== undefined && readObjectIdentifier(type) === oids.emailAddress;
    return isMailbox ? [Buffer.from(value.content).toString('latin1')] : [];
  });
}

function distributionPoint(element: DerElement): GeneralName[] {
  const parts = children(expectTag(element, tagOf.sequence));
  // Points for some reasons only, or of another CRL issuer, would require combining CRLs.
  const [first, ...more] = parts;
  if (first?.tag !== 0xa0 || more.length > 0) return [];
  const [name] = children(first);
  return name?.tag === 0xa0 ? generalNames(name) : [];
}

function accessUrl(element: DerElement, method: string): string[] {
  const fields = new SequenceFields(expectTag(element, tagOf.sequence));
  if (readObjectIdentifier(fields.next()) !== method) return [];
  const name = generalName(fields.next());
  return name.kind === 'uri' ? [name.text] : [];
}
