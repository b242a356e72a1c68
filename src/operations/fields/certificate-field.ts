import { DerError } from '../../asn1/reader.ts';
import { certificateTexts } from '../../certificates/signer-certificate.ts';
import { LongText } from '../../documents/long-text.ts';
import { MaybeLong } from '../../fields/long-values.ts';

/** Certificates as a request has them. */
export interface CertificatesText {
  /** Octets of the text, or of what it encodes. */
  readonly length: number;
  /** Returns them in DER, not yet parsed. @throws {DerError} for anything else */
  certificates(): readonly Uint8Array[];
}

/**
 * X.509 certificates: base64 of the DER of one, or PEM text with at least one. In a large body it may
 * be a LongText, like any string. It is decoded where it is known how many there are.
 */
export const CertificatesField = MaybeLong.transform((text): CertificatesText =>
  text instanceof LongText
    ? { length: text.bytes.length, certificates: () => certificateTexts(bytesOfLong(text)) }
    : { length: text.length, certificates: () => certificateTexts(bytesOf(text)) },
);

/** Decodes base64, or returns PEM text as bytes. @throws {DerError} */
function bytesOf(text: string): Uint8Array {
  if (isPem(text)) return Buffer.from(text, 'latin1');
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text) throw new DerError('not base64', 0);
  return bytes;
}

/** Returns the bytes of a long text. @throws {DerError} */
function bytesOfLong({ kind, bytes }: LongText): Uint8Array {
  // Bytes that are kept are copied out of shared memory.
  const own = Buffer.from(bytes);
  if (kind === 'text' && !isPem(own.toString('latin1'))) throw new DerError('neither base64 nor PEM', 0);
  return own;
}

function isPem(text: string): boolean {
  return text.includes('-----BEGIN');
}
