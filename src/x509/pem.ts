/** Returns the PEM encoding (RFC 7468) of one object. */
export function pem(label: 'CERTIFICATE' | 'CERTIFICATE REQUEST' | 'X509 CRL', der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

/** Returns the DER of every certificate in a PEM text (RFC 7468 §5). */
export function certificatesIn(text: string): Uint8Array[] {
  const blocks = text.matchAll(/-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/g);
  return [...blocks].map(([, base64 = '']) => Buffer.from(base64, 'base64'));
}
