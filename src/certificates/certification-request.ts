import * as der from '../asn1/der.ts';
import { oids } from '../asn1/object-identifiers.ts';
import { signedStructure, type CertificateSigner } from './signed-certificate.ts';
import * as standard from './standard-extensions.ts';

/**
 * Creates the certification request (PKCS #10, RFC 2986) of an issuing authority, in DER, signed
 * with its own key. It requests the extensions of an authority that issues to end entities only.
 * @throws {Error} if the signature does not verify
 */
export async function authorityRequest(signer: CertificateSigner): Promise<Uint8Array> {
  const extensions = [
    standard.basicConstraints(0),
    standard.keyUsage(['keyCertSign', 'cRLSign']),
    standard.subjectKeyIdentifier(signer.subjectPublicKeyInfo),
  ].map((extension) => extension.der);
  const asked = der.sequence(der.oid(oids.extensionRequest), der.set(der.sequence(...extensions)));
  return signedStructure(signer, der.sequence(der.integer(0), signer.name, signer.subjectPublicKeyInfo, der.implicitConstructed(0, asked)));
}
