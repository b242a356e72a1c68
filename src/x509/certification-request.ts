import { DerError, readAll } from '../asn1/reader.ts';
import { expectTag, SequenceFields } from '../asn1/sequence-fields.ts';
import { readPublicKey } from '../verification/public-key.ts';
import { dataVerifies } from '../verification/verify-value.ts';
import { verificationRule } from './signature-identifier.ts';

/** The parts of a certification request that a CA uses. */
export interface CertificationRequest {
  /** DER of the Name. */
  readonly subject: Uint8Array;
  /** DER. */
  readonly subjectPublicKeyInfo: Uint8Array;
}

const tagOf = { integer: 0x02, bitString: 0x03, sequence: 0x30, attributes: 0xa0 } as const;
/** Many times the size of any real request. */
const maxRequestBytes = 65_536;
const pemBlock = /-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----([A-Za-z0-9+/=\s]+)-----END (?:NEW )?CERTIFICATE REQUEST-----/;

/**
 * Reads a PKCS #10 request (RFC 2986 §4), DER or PEM, and verifies that its sender has the private
 * key. Its attributes are ignored.
 * @throws {DerError} for anything else, or a signature that does not verify
 */
export function readCertificationRequest(input: Uint8Array): CertificationRequest {
  if (input.length > maxRequestBytes) throw new DerError(`certification request of more than ${maxRequestBytes} octets`, 0);
  const [, base64] = pemBlock.exec(Buffer.from(input).toString('latin1')) ?? [];
  const outer = new SequenceFields(expectTag(readAll(base64 === undefined ? input : Buffer.from(base64, 'base64')), tagOf.sequence));
  const info = outer.next(tagOf.sequence);
  const algorithm = outer.next(tagOf.sequence);
  const value = outer.next(tagOf.bitString);
  outer.end();
  const fields = new SequenceFields(info);
  fields.next(tagOf.integer);
  const subject = fields.next(tagOf.sequence);
  const subjectPublicKeyInfo = fields.next(tagOf.sequence);
  fields.next(tagOf.attributes);
  fields.end();
  const key = readPublicKey(subjectPublicKeyInfo.raw);
  if (!dataVerifies(key, verificationRule(algorithm), info.raw, value.content.subarray(1)))
    throw new DerError('the signature of the request does not verify under its own key', value.start);
  return { subject: subject.raw, subjectPublicKeyInfo: subjectPublicKeyInfo.raw };
}
