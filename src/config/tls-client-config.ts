import { resolve } from 'node:path';
import { z } from 'zod';
import { absoluteReference, SecretReference } from './secret-reference.ts';

const FilePath = z.string().min(1);

/**
 * TLS to a server whose name is the member `host` beside it, with or without a client certificate.
 */
export const TlsClientConfig = z
  .strictObject({
    certificateAuthority: FilePath.optional().describe(
      'PEM file with the authorities trusted to issue the server certificate, which must contain host. Default: those that Node trusts.',
    ),
    certificate: FilePath.optional().describe('PEM file with a client certificate.'),
    key: SecretReference.optional().describe('Location of its key: file:<path> or credential:<name>.'),
  })
  .refine(({ certificate, key }) => (certificate === undefined) === (key === undefined), 'certificate and key must be given together');
export type TlsClientConfig = z.output<typeof TlsClientConfig>;

/** Makes the paths absolute. */
export function absoluteTlsClient({ certificateAuthority, certificate, key }: TlsClientConfig, base: string): TlsClientConfig {
  return {
    ...(certificateAuthority === undefined ? {} : { certificateAuthority: resolve(base, certificateAuthority) }),
    ...(certificate === undefined ? {} : { certificate: resolve(base, certificate) }),
    ...(key === undefined ? {} : { key: absoluteReference(key, base) }),
  };
}

/**
 * Whether a server is on this machine, so that no TLS is needed.
 * @param host as in the configuration or in a URL
 */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/.test(host);
}
