import { z } from 'zod';
import { DerError } from '../../asn1/reader.ts';
import { readCertificates } from '../../certificates/signer-certificate.ts';
import { LongText } from '../../documents/long-text.ts';
import { MaybeLong } from '../../fields/long-values.ts';

/**
 * X.509 certificates as their DER: base64 of one, or PEM text with at least one. In a large body it
 * may be a LongText, like any string.
 */
export const CertificatesField = MaybeLong.transform((text, context): readonly Uint8Array[] => {
  try {
    return readCertificates(text instanceof LongText ? bytesOfLong(text) : bytesOf(text));
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    context.addIssue({ code: 'custom', message: 'not a certificate: base64 of its DER, or PEM text' });
    return z.NEVER;
  }
});

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
