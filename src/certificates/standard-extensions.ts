import * as der from '../asn1/der.ts';
import { oids } from '../asn1/object-identifiers.ts';
import type { CertificateProfile, Policy, PublicationUrls } from '../config/profile.ts';
import { keyIdentifier, type Certificate } from '../x509/certificate.ts';

/** One certificate extension: its OID and its full DER encoding. */
export interface Extension {
  readonly oid: string;
  readonly der: Uint8Array;
}

/** Returns an Extension (RFC 5280 §4.1); a `critical` of FALSE is omitted, as DER requires. */
export function extension(oid: string, value: Uint8Array, critical = false): Extension {
  return { oid, der: der.sequence(der.oid(oid), ...(critical ? [der.boolean(true)] : []), der.octetString(value)) };
}

/** RFC 5280 4.2.1.1. The issuer's own identifier is copied as it is, however it was derived. */
export function authorityKeyIdentifier(
  issuer: Pick<Certificate, 'subjectPublicKeyInfo'> & { readonly subjectKeyIdentifier?: Uint8Array | undefined },
): Extension {
  const identifier = issuer.subjectKeyIdentifier ?? keyIdentifier(issuer.subjectPublicKeyInfo);
  return extension(oids.authorityKeyIdentifier, der.sequence(der.implicitPrimitive(0, identifier)));
}

/** RFC 5280 4.2.1.2. */
export function subjectKeyIdentifier(subjectPublicKeyInfo: Uint8Array): Extension {
  return extension(oids.subjectKeyIdentifier, der.octetString(keyIdentifier(subjectPublicKeyInfo)));
}

type KeyUsage = CertificateProfile['keyUsage'][number];

const keyUsageBits = {
  digitalSignature: 0,
  contentCommitment: 1,
  keyEncipherment: 2,
  keyCertSign: 5,
  cRLSign: 6,
} as const satisfies Record<KeyUsage, number>;

/** RFC 5280 4.2.1.3: critical, and without trailing zero bits (X.690 11.2.2). */
export function keyUsage(usages: readonly KeyUsage[]): Extension {
  const bits: number[] = usages.map((usage) => keyUsageBits[usage]);
  const octet = bits.reduce<number>((total, bit) => total | (0x80 >> bit), 0);
  return extension(oids.keyUsage, der.bitString(Uint8Array.of(octet), 7 - Math.max(...bits)), true);
}

/** RFC 5280 4.2.1.4. A policy has no qualifier, or the URL of its practice statement. */
export function certificatePolicies(policies: readonly Policy[]): Extension {
  return extension(oids.certificatePolicies, der.sequence(...policies.map(policyInformation)));
}

function policyInformation(policy: Policy): Uint8Array {
  if (typeof policy === 'string') return der.sequence(der.oid(policy));
  const qualifier = der.sequence(der.oid(oids.practiceStatement), der.ia5String(policy.practiceStatementUrl));
  return der.sequence(der.oid(policy.policy), der.sequence(qualifier));
}

/** GeneralNames (RFC 5280 4.2.1.6) of e-mail addresses. */
export function generalNames(mailboxes: readonly string[]): Uint8Array {
  return der.sequence(...mailboxes.map((mailbox) => der.implicitPrimitive(1, Buffer.from(mailbox, 'latin1'))));
}

/** RFC 5280 4.2.1.9: critical; for certification authorities only. */
export function basicConstraints(pathLength?: number): Extension {
  const limit = pathLength === undefined ? [] : [der.integer(pathLength)];
  return extension(oids.basicConstraints, der.sequence(der.boolean(true), ...limit), true);
}

/** RFC 5280 4.2.1.12. */
export function extendedKeyUsage(purposes: readonly string[]): Extension {
  return extension(oids.extendedKeyUsage, der.sequence(...purposes.map(der.oid)));
}

/** RFC 5280 4.2.1.13 and 4.2.2.1; empty lists are omitted. */
export function publicationExtensions({ crl = [], ocsp = [], caIssuers = [] }: PublicationUrls): Extension[] {
  const access = [
    ...ocsp.map((url) => der.sequence(der.oid(oids.accessOcsp), uri(url))),
    ...caIssuers.map((url) => der.sequence(der.oid(oids.accessCaIssuers), uri(url))),
  ];
  const point = der.explicit(0, der.implicitConstructed(0, der.concat(...crl.map(uri))));
  return [
    ...(crl.length === 0 ? [] : [extension(oids.crlDistributionPoints, der.sequence(der.sequence(point)))]),
    ...(access.length === 0 ? [] : [extension(oids.authorityInfoAccess, der.sequence(...access))]),
  ];
}

function uri(url: string): Uint8Array {
  return der.implicitPrimitive(6, Buffer.from(new URL(url).href, 'latin1'));
}
