import { constants } from 'node:crypto';
import type { SecureContextOptions } from 'node:tls';

const signatureAlgorithms = [
  'ecdsa_secp256r1_sha256',
  'ecdsa_secp384r1_sha384',
  'ecdsa_secp521r1_sha512',
  'ed25519',
  ...['sha256', 'sha384', 'sha512'].flatMap((hash) => [`rsa_pss_rsae_${hash}`, `rsa_pss_pss_${hash}`]),
  // TLS 1.2 clients without PSS, such as keys in older smart cards.
  ...['sha256', 'sha384', 'sha512'].map((hash) => `rsa_pkcs1_${hash}`),
];

const cipherSuites = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_AES_128_GCM_SHA256',
  ...['AES256-GCM-SHA384', 'CHACHA20-POLY1305', 'AES128-GCM-SHA256'].flatMap((cipher) => [`ECDHE-ECDSA-${cipher}`, `ECDHE-RSA-${cipher}`]),
  // At least 112 bits: no RSA key below 2048 bits and no SHA-1 in a certificate, whatever the
  // library's own default.
  '@SECLEVEL=2',
];

/**
 * The TLS policy of the API: TLS 1.2 and 1.3 (RFC 8446; RFC 9325 §4.2 for 1.2), with forward
 * secrecy and authenticated encryption alone.
 *
 * Nothing is resumed: a resumed session brings the verdict on the client's certificate from its
 * first handshake, when it was not yet revoked. Without tickets, and with no store of sessions,
 * each connection proves anew who it is. Nor is anything renegotiated.
 */
export const tlsPolicy: SecureContextOptions = {
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.3',
  ciphers: cipherSuites.join(':'),
  honorCipherOrder: true,
  // P-521 is last, but there: TLS 1.2 takes no client certificate on a curve that is not listed.
  ecdhCurve: 'X25519MLKEM768:X25519:P-256:P-384:P-521',
  sigalgs: signatureAlgorithms.join(':'),
  secureOptions:
    constants.SSL_OP_NO_TICKET |
    constants.SSL_OP_NO_RENEGOTIATION |
    constants.SSL_OP_NO_COMPRESSION |
    constants.SSL_OP_CIPHER_SERVER_PREFERENCE,
};
