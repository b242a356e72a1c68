import { createPublicKey } from 'node:crypto';
import { isIP } from 'node:net';
import * as der from '../asn1/der.ts';
import { oids } from '../asn1/object-identifiers.ts';
import { attributeTypeAndValue, attributeTypeOfOid } from './attribute-types.ts';
import { isHostName } from './internet-names.ts';
import { issueCertificate, type CertificateIssuer } from './issue.ts';
import * as standard from './standard-extensions.ts';

const dayMs = 24 * 60 * 60 * 1000;
const minRsaBits = 2048;

/** A certificate for one end of a TLS connection. */
export interface TlsCertificateRequest {
  /** DER of the Name. */
  readonly name: Uint8Array;
  /** DER. */
  readonly subjectPublicKeyInfo: Uint8Array;
  readonly end: 'client' | 'server';
  /** Host names and IP addresses of a server (RFC 9525); none for a client. */
  readonly hosts: readonly string[];
  /** URLs of the issuer's CRL, for a client (RFC 5280 §4.2.1.13). */
  readonly crlUrls?: readonly string[];
  /** Days from now on, limited by the issuer's notAfter. */
  readonly days: number;
  readonly serialNumber: Uint8Array;
}

/**
 * Issues the certificate of a TLS client or server (RFC 5280 §4.2.1.12), in DER. Throws the same
 * errors as `issueCertificate`.
 */
export async function issueTlsCertificate(issuer: CertificateIssuer, request: TlsCertificateRequest): Promise<Uint8Array> {
  const { name, subjectPublicKeyInfo, end, hosts, days, serialNumber, crlUrls = [] } = request;
  const purpose = end === 'client' ? oids.clientAuth : oids.serverAuth;
  const extensions = [
    standard.authorityKeyIdentifier(issuer.certificate),
    standard.subjectKeyIdentifier(subjectPublicKeyInfo),
    standard.keyUsage(['digitalSignature']),
    standard.extendedKeyUsage([purpose]),
    ...hostExtensions(hosts),
    ...standard.publicationExtensions({ crl: [...crlUrls] }),
  ].map((extension) => extension.der);
  const startMs = Math.floor(Date.now() / 1000) * 1000;
  const endMs = Math.min(startMs + days * dayMs, issuer.certificate.notAfter.getTime());
  const lifetime = { notBefore: new Date(startMs), notAfter: new Date(endMs) };
  return issueCertificate(issuer, { subject: name, subjectPublicKeyInfo, extensions, serialNumber, ...lifetime });
}

/**
 * Returns the DER of a Name with only a common name (X.520 6.2.2); undefined if the text cannot be
 * one.
 */
export function commonName(text: string): Uint8Array | undefined {
  const type = attributeTypeOfOid(oids.commonName);
  if (type === undefined || !/^[^\p{C}\s]([^\p{C}]{0,62}[^\p{C}\s])?$/u.test(text)) return undefined;
  return der.sequence(der.set(attributeTypeAndValue(type, text)));
}

/** subjectAltName with host names and IP addresses (RFC 5280 4.2.1.6); none without hosts. */
export function hostExtensions(hosts: readonly string[]): standard.Extension[] {
  return hosts.length === 0 ? [] : [standard.extension(oids.subjectAltName, der.sequence(...hosts.map(hostName)))];
}

/** Whether a certificate can name this host. */
export function isHost(text: string): boolean {
  return (isIP(text) !== 0 && !text.includes('%')) || isHostName(text);
}

function hostName(host: string): Uint8Array {
  const version = isIP(host);
  if (version === 0) return der.implicitPrimitive(2, Buffer.from(host, 'latin1'));
  return der.implicitPrimitive(7, version === 4 ? Uint8Array.from(host.split('.'), Number) : ipv6Octets(host));
}

/** The 16 octets of an address that `isIP` accepts, without a zone. */
function ipv6Octets(host: string): Uint8Array {
  // URL writes the last two groups of a mapped IPv4 address in hexadecimal.
  const [head = '', tail] = new URL(`http://[${host}]`).hostname.slice(1, -1).split('::');
  const groups = (text: string): string[] => text.split(':').filter((group) => group !== '');
  const [before, after] = [groups(head), groups(tail ?? '')];
  const all = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => '0'), ...after];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}

/**
 * Returns why a client should not use this key; undefined if it may: RSA of at least 2048 bits, or
 * one of the curves of the API's TLS policy.
 * @param subjectPublicKeyInfo DER
 */
export function tlsKeyFault(subjectPublicKeyInfo: Uint8Array): string | undefined {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = createPublicKey({
    key: Buffer.from(subjectPublicKeyInfo),
    format: 'der',
    type: 'spki',
  });
  if (type === 'rsa')
    return (details?.modulusLength ?? 0) >= minRsaBits ? undefined : `an RSA key of ${details?.modulusLength ?? 0} bits is too short`;
  if (type === 'ed25519') return undefined;
  const curves = ['prime256v1', 'secp384r1', 'secp521r1'];
  if (type === 'ec' && curves.includes(details?.namedCurve ?? '')) return undefined;
  return 'the key is neither RSA, nor on P-256, P-384 or P-521, nor Ed25519';
}
