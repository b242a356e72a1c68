import { z } from 'zod';
import { DerError } from '../../asn1/reader.ts';
import { readCertificate } from '../../certificates/signer-certificate.ts';
import { Text } from './values.ts';

/** An X.509 certificate as its DER: base64 of that, or PEM text. */
export const CertificateField = Text.transform((text, context): Uint8Array => {
  try {
    return readCertificate(bytesOf(text));
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    context.addIssue({ code: 'custom', message: 'not a certificate: base64 of its DER, or PEM text' });
    return z.NEVER;
  }
});

/** PEM is text, in the request as it is or as base64 of it. @throws {DerError} */
function bytesOf(text: string): Uint8Array {
  if (text.includes('-----BEGIN')) return Buffer.from(text, 'latin1');
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text) throw new DerError('not base64', 0);
  return bytes;
}
