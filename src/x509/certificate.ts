import { createHash } from 'node:crypto';
import { oids } from '../asn1/object-identifiers.ts';
import { children, DerError, readAll } from '../asn1/reader.ts';
import { expectTag, SequenceFields } from '../asn1/sequence-fields.ts';
import { checkElements } from './certificate-load.ts';
import { readTbsCertificate, type ReadExtension } from './tbs-certificate.ts';

/** An X.509 certificate (RFC 5280 §4.1). The byte fields share the memory of `der`. */
export interface Certificate {
  readonly der: Uint8Array;
  /** Content octets of the INTEGER. */
  readonly serialNumber: Uint8Array;
  /** 0 for version 1, as encoded. */
  readonly version: number;
  /** DER of the Name. */
  readonly issuer: Uint8Array;
  /** DER of the Name. */
  readonly subject: Uint8Array;
  /** DER of the SubjectPublicKeyInfo. */
  readonly subjectPublicKeyInfo: Uint8Array;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly subjectKeyIdentifier: Uint8Array | undefined;
  /** Lower-case hexadecimal. */
  readonly sha1Fingerprint: string;
  readonly isCa: boolean;
  /** By OID, in the order of the certificate. */
  readonly extensions: ReadonlyMap<string, ReadExtension>;
}

const tagOf = { boolean: 0x01, bitString: 0x03, octetString: 0x04, sequence: 0x30 } as const;

/** Many times the size of any real certificate. */
const maxCertificateBytes = 262_144;

/**
 * Reads an X.509 certificate of any version (RFC 5280 §4.1). Signature and validity are not
 * checked.
 * @throws {DerError} for anything else, and for trailing bytes.
 */
export function readCertificate(der: Uint8Array): Certificate {
  if (der.length > maxCertificateBytes) throw new DerError(`certificate of more than ${maxCertificateBytes} octets`, 0);
  checkElements(der);
  const outer = new SequenceFields(expectTag(readAll(der), tagOf.sequence));
  const tbs = readTbsCertificate(outer.next(tagOf.sequence));
  const algorithm = outer.next(tagOf.sequence);
  outer.next(tagOf.bitString);
  outer.end();
  // RFC 5280 4.1.1.2: the outer signature algorithm must equal the signed one.
  if (Buffer.compare(tbs.algorithm.raw, algorithm.raw) !== 0)
    throw new DerError('inner and outer signature algorithms differ', algorithm.start);

  const { version, serialNumber, issuer, subject, subjectPublicKeyInfo, notBefore, notAfter, extensions } = tbs;
  const keyIdentifierValue = extensions.get(oids.subjectKeyIdentifier)?.value;
  return {
    der,
    version,
    serialNumber,
    issuer,
    subject,
    subjectPublicKeyInfo,
    notBefore,
    notAfter,
    subjectKeyIdentifier: keyIdentifierValue === undefined ? undefined : expectTag(readAll(keyIdentifierValue), tagOf.octetString).content,
    sha1Fingerprint: createHash('sha1').update(der).digest('hex'),
    isCa: readIsCa(extensions.get(oids.basicConstraints)?.value),
    extensions,
  };
}

/**
 * Reads a certificate from DER, or from the first `CERTIFICATE` of a PEM text (RFC 7468 §5), given
 * as bytes or as a string.
 * @throws {DerError}
 */
export function readCertificateText(input: string | Uint8Array): Certificate {
  if (typeof input !== 'string' && input[0] === tagOf.sequence) return readCertificate(input);
  const text = typeof input === 'string' ? input : Buffer.from(input).toString('latin1');
  const [, base64] = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/.exec(text) ?? [];
  if (base64 === undefined) throw new DerError('neither a DER certificate nor a PEM one', 0);
  return readCertificate(Buffer.from(base64, 'base64'));
}

function readIsCa(basicConstraints: Uint8Array | undefined): boolean {
  if (basicConstraints === undefined) return false;
  const [first] = children(expectTag(readAll(basicConstraints), tagOf.sequence));
  return first?.tag === tagOf.boolean && first.content[0] === 0xff;
}

/**
 * Returns the key identifier of RFC 7093 §2, method 1: the leftmost 160 bits of the SHA-256 of the
 * public key's BIT STRING.
 * @throws {DerError}
 */
export function keyIdentifier(subjectPublicKeyInfo: Uint8Array): Uint8Array {
  const [, publicKey] = children(readAll(subjectPublicKeyInfo));
  if (publicKey?.tag !== 0x03) throw new DerError('not a SubjectPublicKeyInfo', 0);
  return createHash('sha256').update(publicKey.content.subarray(1)).digest().subarray(0, 20);
}
