import { hash } from 'node:crypto';
import * as der from '../../../src/asn1/der.ts';
import { oids } from '../../../src/asn1/object-identifiers.ts';
import { children, readAll } from '../../../src/asn1/reader.ts';
import type { Certificate } from '../../../src/x509/certificate.ts';

type Hash = 'sha1' | 'sha256' | 'sha384' | 'sha512';

/** CertID of a certificate of the issuer, as clients write it. */
export function certId(
  { subject, subjectPublicKeyInfo }: Pick<Certificate, 'subject' | 'subjectPublicKeyInfo'>,
  serialNumber: string,
  algorithm: Hash = 'sha1',
  parameters: readonly Uint8Array[] = [der.nullValue()],
): Uint8Array {
  const key = children(readAll(subjectPublicKeyInfo))[1]?.content.subarray(1) ?? new Uint8Array();
  return der.sequence(
    der.sequence(der.oid(oids[algorithm]), ...parameters),
    der.octetString(hash(algorithm, subject, 'buffer')),
    der.octetString(hash(algorithm, key, 'buffer')),
    der.integer(Buffer.from(serialNumber, 'hex')),
  );
}

export function extension(oid: string, value: Uint8Array, isCritical = false): Uint8Array {
  return der.sequence(der.oid(oid), ...(isCritical ? [der.boolean(true)] : []), der.octetString(value));
}

export function nonceExtension(nonce: Uint8Array): Uint8Array {
  return extension(oids.ocspNonce, der.octetString(nonce));
}

/** OCSPRequest (RFC 6960 4.1.1). */
export function ocspRequest(certIds: readonly Uint8Array[], ...extensions: readonly Uint8Array[]): Uint8Array {
  const list = der.sequence(...certIds.map((one) => der.sequence(one)));
  return der.sequence(der.sequence(list, ...(extensions.length === 0 ? [] : [der.explicit(2, der.sequence(...extensions))])));
}
