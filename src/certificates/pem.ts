/** PEM (RFC 7468) of one object. */
export function pem(label: 'CERTIFICATE' | 'CERTIFICATE REQUEST', der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
