import { oids } from '../asn1/object-identifiers.ts';
import { issueAuthorityCertificate, type CertificateIssuer } from './issue.ts';
import { signedCertificate, type CertificateContent, type CertificateSigner } from './signed-certificate.ts';
import * as standard from './standard-extensions.ts';
import type { PublicationUrls } from '../config/profile.ts';

type Lifetime = Pick<CertificateContent, 'notBefore' | 'notAfter' | 'serialNumber'>;

/** `crl`: where the root's own CRL is. Who asks for the status of every certificate of a chain (OpenSSL's crl_check_all) asks for the root's too. */
type RootRequest = CertificateSigner & Lifetime & { readonly crl?: readonly string[] };

interface IssuingCaRequest extends Lifetime {
  /** DER of the Name. */
  readonly name: Uint8Array;
  readonly subjectPublicKeyInfo: Uint8Array;
  /** How many authorities may stand below it; absent: none. */
  readonly above?: number;
  /** Where the root publishes its CRL and certificate. */
  readonly urls?: PublicationUrls;
}

/** A self-signed certificate of a certification authority (RFC 5280 §3.2), in DER. Errors as of `signedCertificate`. */
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

/** The certificate of an authority under `root` that issues to end entities only, unless others stand below it, in DER. Errors as of `issueAuthorityCertificate`. */
export async function createIssuingCa(root: CertificateIssuer, request: IssuingCaRequest): Promise<Uint8Array> {
  const { name, subjectPublicKeyInfo, notBefore, notAfter, serialNumber, above = 0, urls = {} } = request;
  const extensions = [
    standard.authorityKeyIdentifier(root.certificate),
    standard.subjectKeyIdentifier(subjectPublicKeyInfo),
    standard.basicConstraints(above),
    standard.keyUsage(['keyCertSign', 'cRLSign']),
    // Without anyPolicy no policy of an end entity's certificate would survive path validation (RFC 5280 6.1.3 d).
    standard.certificatePolicies([oids.anyPolicy]),
    ...standard.publicationExtensions(urls),
  ].map((extension) => extension.der);
  return issueAuthorityCertificate(root, { subject: name, subjectPublicKeyInfo, extensions, notBefore, notAfter, serialNumber });
}
