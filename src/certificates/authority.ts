import { oids } from '../asn1/object-identifiers.ts';
import { issueAuthorityCertificate, type CertificateIssuer } from './issue.ts';
import { signedCertificate, type CertificateContent, type CertificateSigner, signedStructure } from './signed-certificate.ts';
import * as standard from './standard-extensions.ts';
import type { PublicationUrls } from '../config/profile.ts';
import * as der from '../asn1/der.ts';

type Lifetime = Pick<CertificateContent, 'notBefore' | 'notAfter' | 'serialNumber'>;

/**
 * `crl`: URLs of the root's own CRL. Validators that check every certificate of a chain (OpenSSL's
 * crl_check_all) also check the root.
 */
type RootRequest = CertificateSigner & Lifetime & { readonly crl?: readonly string[] };

interface IssuingCaRequest extends Lifetime {
  /** DER of the Name. */
  readonly name: Uint8Array;
  readonly subjectPublicKeyInfo: Uint8Array;
  /** pathLenConstraint: how many levels of authorities may be below this one; default 0. */
  readonly above?: number;
  /** URLs at which the root publishes its CRL and certificate. */
  readonly urls?: PublicationUrls;
}

/**
 * Creates the self-signed certificate of a certification authority (RFC 5280 §3.2), in DER. Throws
 * the same errors as `signedCertificate`.
 */
export async function createRoot(request: RootRequest): Promise<Uint8Array> {
  const { name, subjectPublicKeyInfo, notBefore, notAfter, serialNumber, crl = [] } = request;
  const extensions = [
    standard.basicConstraints(),
    standard.keyUsage(['keyCertSign', 'cRLSign']),
    standard.subjectKeyIdentifier(subjectPublicKeyInfo),
    standard.authorityKeyIdentifier({ subjectPublicKeyInfo }),
    ...standard.publicationExtensions({ crl: [...crl] }),
  ].map((extension) => extension.der);
  return signedCertificate(request, { subject: name, subjectPublicKeyInfo, extensions, notBefore, notAfter, serialNumber });
}

/**
 * Creates the certificate of an authority under `root`, in DER. By default it may issue to end
 * entities only. Throws the same errors as `issueAuthorityCertificate`.
 */
export async function createIssuingCa(root: CertificateIssuer, request: IssuingCaRequest): Promise<Uint8Array> {
  const { name, subjectPublicKeyInfo, notBefore, notAfter, serialNumber, above = 0, urls = {} } = request;
  const extensions = [
    standard.authorityKeyIdentifier(root.certificate),
    standard.subjectKeyIdentifier(subjectPublicKeyInfo),
    standard.basicConstraints(above),
    standard.keyUsage(['keyCertSign', 'cRLSign']),
    // Without anyPolicy, path validation would reject all policies of end-entity certificates (RFC
    // 5280 6.1.3 d).
    standard.certificatePolicies([oids.anyPolicy]),
    ...standard.publicationExtensions(urls),
  ].map((extension) => extension.der);
  return issueAuthorityCertificate(root, { subject: name, subjectPublicKeyInfo, extensions, notBefore, notAfter, serialNumber });
}

/**
 * Creates the certification request (PKCS #10, RFC 2986) of an issuing authority, in DER, signed
 * with its own key. It requests the extensions of an authority that issues to end entities only.
 * @throws {Error} if the signature does not verify
 */
export async function authorityRequest(signer: CertificateSigner): Promise<Uint8Array> {
  return certificationRequest(signer, [
    standard.basicConstraints(0),
    standard.keyUsage(['keyCertSign', 'cRLSign']),
    standard.subjectKeyIdentifier(signer.subjectPublicKeyInfo),
  ]);
}

/** Does the same for any key, with the extensions that it requests (RFC 2985 §5.4.2). */
export async function certificationRequest(signer: CertificateSigner, requested: readonly standard.Extension[]): Promise<Uint8Array> {
  const asked = der.sequence(der.oid(oids.extensionRequest), der.set(der.sequence(...requested.map((extension) => extension.der))));
  return signedStructure(signer, der.sequence(der.integer(0), signer.name, signer.subjectPublicKeyInfo, der.implicitConstructed(0, asked)));
}
