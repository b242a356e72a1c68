import { X509Certificate } from 'node:crypto';
import { certificateDetails } from '../audit/announced-uses.ts';
import type { CertificateDetails } from '../audit/record.ts';
import { spkiSha256 } from '../clients/registry.ts';
import { readCertificate } from '../x509/certificate.ts';
import { CommandRefused } from './protocol.ts';

/** No handshake reads a longer one (native/peer-certificates.cc). */
const maxBytes = 32 * 1024;

/** The certificate of a client that is to be registered. */
export interface NewClientCertificate {
  readonly certificate: X509Certificate;
  /** SHA-256 of its SubjectPublicKeyInfo, hexadecimal. */
  readonly publicKey: string;
  readonly details: CertificateDetails;
}

/**
 * Reads a certificate as OpenSSL does, which judges it at each connection, and as RFC 5280 has it.
 * @param text DER, base64
 * @throws {CommandRefused} for one that either does not read, or that no connection could present
 */
export function readClientCertificate(text: string): NewClientCertificate {
  const der = Buffer.from(text, 'base64');
  if (der.length > maxBytes) throw new CommandRefused(`certificate: more than ${maxBytes} bytes; no connection is accepted with it`);
  try {
    const certificate = new X509Certificate(der);
    return { certificate, publicKey: spkiSha256(certificate), details: certificateDetails(readCertificate(der)) };
  } catch {
    throw new CommandRefused('certificate: this is not an X.509 certificate (RFC 5280) with a known kind of public key');
  }
}
