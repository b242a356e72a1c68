/**
 * Values of the signed attributes that callers can request (ETSI EN 319 122-1 §5.2, in the syntax
 * of RFC 5126 §5.8 and §5.11 with explicit tags).
 */
import * as der from '../../asn1/der.ts';
import { oids } from '../../asn1/object-identifiers.ts';
import { hashAlgorithmIdentifier } from '../../cms/algorithm-identifier.ts';
import type { CommitmentType, ExplicitPolicy, ProductionPlace } from '../request/signed-properties.ts';

const commitmentOids = {
  ORIGIN: oids.proofOfOrigin,
  RECEIPT: oids.proofOfReceipt,
  DELIVERY: oids.proofOfDelivery,
  SENDER: oids.proofOfSender,
  APPROVAL: oids.proofOfApproval,
} as const satisfies Record<CommitmentType, string>;

/**
 * Returns CommitmentTypeIndication (§5.2.3). The attribute has one value, so there is at most one
 * commitment. A reason in words is its qualifier: an SPUserNotice with an explicitText of 1 to 200
 * characters (RFC 5126 §5.8.1). Without a commitment it qualifies a proof of approval.
 */
export function commitmentTypeIndication(type: CommitmentType, text: string | undefined): Uint8Array {
  const id = der.oid(commitmentOids[type]);
  if (text === undefined) return der.sequence(id);
  const notice = der.sequence(der.oid(oids.userNoticeQualifier), der.sequence(der.utf8String(text)));
  return der.sequence(id, der.sequence(notice));
}

/**
 * Returns SignaturePolicy (§5.2.9): SignaturePolicyImplied, or SignaturePolicyId with the URL of
 * the policy document as SPuri.
 */
export function signaturePolicy(policy: 'IMPLICIT' | ExplicitPolicy): Uint8Array {
  if (policy === 'IMPLICIT') return der.nullValue();
  return der.sequence(
    der.oid(policy.oid),
    der.sequence(hashAlgorithmIdentifier(policy.hash), der.octetString(policy.digest)),
    der.sequence(der.sequence(der.oid(oids.uriQualifier), der.ia5String(policy.url))),
  );
}

/**
 * Returns SignerLocation (§5.2.5). It has no fields for postal code and state or province, which
 * become lines of the postal address.
 */
export function signerLocation({ city, stateOrProvince, postalCode, countryCode }: ProductionPlace): Uint8Array {
  const lines = [postalCode, stateOrProvince].filter((line) => line !== undefined);
  return der.sequence(
    der.explicit(0, der.utf8String(countryCode)),
    ...(city === undefined ? [] : [der.explicit(1, der.utf8String(city))]),
    ...(lines.length === 0 ? [] : [der.explicit(2, der.sequence(...lines.map((line) => der.utf8String(line))))]),
  );
}

/**
 * Returns SignerAttributeV2 (§5.2.6) with only claimed attributes: the roles are values of title
 * (X.520), the attribute type of a position or function.
 */
export function signerAttributes(claimedRoles: readonly string[]): Uint8Array {
  const roles = Array.from(new Set(claimedRoles), (role) => der.utf8String(role));
  const title = der.sequence(der.oid(oids.title), der.setOf(roles));
  return der.sequence(der.explicit(0, der.sequence(title)));
}
