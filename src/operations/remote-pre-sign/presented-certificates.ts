import { DerError } from '../../asn1/reader.ts';
import { Refusal } from '../../result-codes.ts';
import { areLight, elementsMax } from '../../x509/certificate-load.ts';
import type { CertificatesText } from '../fields/certificate-field.ts';

export const maxChainCertificates = 16;
/** All of them together; decoding them takes some milliseconds. */
const textMaxBytes = 2 * 1024 * 1024;

/** A certificate in DER, not yet parsed. */
export interface PresentedCertificate {
  readonly der: Uint8Array;
  /** JSON Pointer of the field. */
  readonly at: string;
}

/**
 * Returns the signer's certificate and those of its CAs, once it is known that there are few, and
 * that parsing them takes some milliseconds: anybody may have made them.
 * @throws {Refusal} FIELD_INVALID
 */
export function presentedCertificates(
  own: CertificatesText | undefined,
  chain: readonly CertificatesText[] = [],
): readonly PresentedCertificate[] {
  const fields = [
    ...(own === undefined ? [] : [{ text: own, at: '/signerCertificate' }]),
    ...chain.map((text, index) => ({ text, at: `/certificateChain/${index}` })),
  ];
  if (fields.reduce((total, { text }) => total + text.length, 0) > textMaxBytes)
    throw refused('/certificateChain', `the certificates have more than ${textMaxBytes} octets together`);
  const all = fields.flatMap(certificatesIn);
  const above = all.length - (own === undefined ? 0 : 1);
  if (above > maxChainCertificates)
    throw refused('/certificateChain', `${above} certificates; at most ${maxChainCertificates} are allowed`);
  if (!areLight(all.map(({ der }) => der)))
    throw refused('/certificateChain', `the certificates have more than ${elementsMax.together} elements together`);
  return all;
}

export function notACertificate({ at }: Pick<PresentedCertificate, 'at'>): Refusal {
  return refused(at, 'not a certificate: base64 of its DER, or PEM text');
}

function certificatesIn({ text, at }: { readonly text: CertificatesText; readonly at: string }): PresentedCertificate[] {
  try {
    // Copies: they are kept longer than the body that they may be a part of.
    return text.certificates().map((der) => ({ der: Uint8Array.from(der), at }));
  } catch (error) {
    throw error instanceof DerError ? notACertificate({ at }) : error;
  }
}

function refused(at: string, message: string): Refusal {
  return new Refusal('FIELD_INVALID', { at, message });
}
