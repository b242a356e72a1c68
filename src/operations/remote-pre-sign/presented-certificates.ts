import { DerError } from '../../asn1/reader.ts';
import { checkedCertificate } from '../../certificates/signer-certificate.ts';
import { Refusal } from '../../result-codes.ts';
import { areLight, elementsMax } from '../../x509/certificate-load.ts';
import type { CertificatesText } from '../fields/certificate-field.ts';

export const maxChainCertificates = 16;
/** All of them together; decoding them takes some milliseconds. */
const textMaxBytes = 2 * 1024 * 1024;
const notCertificate = 'not a certificate: base64 of its DER, or PEM text';

interface Presented {
  readonly der: Uint8Array;
  /** JSON Pointer of the field. */
  readonly at: string;
}

/**
 * Returns the signer's certificate and those of its CAs, parsed, once it is known that there are few
 * and that parsing them takes no longer than the event loop may be held: anybody may have made them.
 * @throws {Refusal} FIELD_INVALID
 */
export function presentedCertificates(own: CertificatesText | undefined, chain: readonly CertificatesText[] = []): readonly Uint8Array[] {
  const fields = [
    ...(own === undefined ? [] : [{ text: own, at: '/signerCertificate' }]),
    ...chain.map((text, index) => ({ text, at: `/certificateChain/${index}` })),
  ];
  if (fields.reduce((total, { text }) => total + text.length, 0) > textMaxBytes)
    throw refused('/certificateChain', `the certificates have more than ${textMaxBytes} octets together`);
  const all = fields.flatMap(({ text, at }): Presented[] => parsing(at, () => text.certificates().map((der) => ({ der, at }))));
  const above = all.length - (own === undefined ? 0 : 1);
  if (above > maxChainCertificates)
    throw refused('/certificateChain', `${above} certificates; at most ${maxChainCertificates} are allowed`);
  if (!areLight(all.map(({ der }) => der)))
    throw refused('/certificateChain', `the certificates have more than ${elementsMax.together} elements together`);
  return all.map(({ der, at }) => parsing(at, () => checkedCertificate(der)));
}

function parsing<T>(at: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (error instanceof DerError) throw refused(at, notCertificate);
    throw error;
  }
}

function refused(at: string, message: string): Refusal {
  return new Refusal('FIELD_INVALID', { at, message });
}
