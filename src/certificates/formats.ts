import * as der from '../asn1/der.ts';
import { oids } from '../asn1/object-identifiers.ts';

/** The API's `certificateFormat`. */
type CertificateFormat = 'CERTIFICATE' | 'PKCS_7' | 'PKCS_7_WITH_CHAIN';

/**
 * Returns a certificate in the requested format. `chain` begins with the issuing authority and ends
 * with the root.
 */
export function certificateInFormat(certificate: Uint8Array, chain: readonly Uint8Array[], format: CertificateFormat): Uint8Array {
  switch (format) {
    case 'CERTIFICATE':
      return certificate;
    case 'PKCS_7':
      return certificatesOnly([certificate]);
    case 'PKCS_7_WITH_CHAIN':
      return certificatesOnly([certificate, ...chain]);
  }
}

/**
 * Returns a certs-only SignedData in a ContentInfo (RFC 5652 §3, §5.1). The certificates are in DER
 * SET OF order.
 */
function certificatesOnly(certificates: readonly Uint8Array[]): Uint8Array {
  const sorted = certificates.toSorted((a, b) => Buffer.compare(a, b));
  const signedData = der.sequence(
    der.integer(1),
    der.setOf([]),
    der.sequence(der.oid(oids.data)),
    der.implicitConstructed(0, der.concat(...sorted)),
    der.setOf([]),
  );
  return der.sequence(der.oid(oids.signedData), der.explicit(0, signedData));
}
