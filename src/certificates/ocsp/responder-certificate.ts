import * as der from '../../asn1/der.ts';
import { oids } from '../../asn1/object-identifiers.ts';
import { children, readAll, readObjectIdentifier, type DerElement } from '../../asn1/reader.ts';
import { issueResponderCertificate, type CertificateIssuer } from '../issue.ts';
import * as standard from '../standard-extensions.ts';

/** Allowance for client clocks that are slow. */
const backdatingMs = 5 * 60_000;
/** X.520 upper bound of commonName. */
const maxNameCharacters = 64;

interface ResponderCertificate {
  /** The authority's configured name. */
  readonly authority: string;
  readonly subjectPublicKeyInfo: Uint8Array;
  readonly serialNumber: Uint8Array;
  /** Milliseconds since epoch. */
  readonly now: number;
  readonly lifetimeMs: number;
}

/**
 * Issues the certificate of a delegated OCSP responder (RFC 6960 4.2.2.2), in DER: signed by the
 * authority itself, for id-kp-OCSPSigning only, with id-pkix-ocsp-nocheck, since its status cannot
 * be queried. Throws the same errors as `issueCertificate`.
 */
export async function responderCertificate(issuer: CertificateIssuer, request: ResponderCertificate): Promise<Uint8Array> {
  const { authority, subjectPublicKeyInfo, serialNumber, lifetimeMs } = request;
  const { certificate } = issuer;
  const now = Math.floor(request.now / 1000) * 1000;
  const extensions = [
    standard.authorityKeyIdentifier(certificate),
    standard.subjectKeyIdentifier(subjectPublicKeyInfo),
    standard.keyUsage(['digitalSignature']),
    standard.extendedKeyUsage([oids.ocspSigning]),
    standard.extension(oids.ocspNoCheck, der.nullValue()),
  ].map((extension) => extension.der);
  return issueResponderCertificate(issuer, {
    subject: nameBeside(certificate.subject, `OCSP responder ${authority}`.slice(0, maxNameCharacters)),
    subjectPublicKeyInfo,
    extensions,
    notBefore: new Date(Math.max(now - backdatingMs, certificate.notBefore.getTime())),
    notAfter: new Date(Math.min(now + lifetimeMs, certificate.notAfter.getTime())),
    serialNumber,
  });
}

/** Returns the authority's name with another commonName. */
function nameBeside(name: Uint8Array, commonName: string): Uint8Array {
  const others = children(readAll(name)).filter((part) => !hasAttribute(part, oids.commonName));
  const own = der.set(der.sequence(der.oid(oids.commonName), der.utf8String(commonName)));
  return der.sequence(...others.map(({ raw }) => raw), own);
}

function hasAttribute(relativeName: DerElement, type: string): boolean {
  return children(relativeName).some((attribute) => {
    const [identifier] = children(attribute);
    return identifier !== undefined && readObjectIdentifier(identifier) === type;
  });
}
