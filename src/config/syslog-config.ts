import { resolve } from 'node:path';
import { z } from 'zod';
import { absoluteReference, SecretReference } from './state-config.ts';

const FilePath = z.string().min(1);

/** A syslog server that receives the audit records. */
export const SyslogConfig = z
  .strictObject({
    host: z.string().min(1).describe('Host name or address of the syslog server (RFC 5424).'),
    port: z.int().min(1).max(65_535).default(6514).describe('TCP port of the server; messages are counted in octets (RFC 5425, RFC 6587).'),
    facility: z.int().min(0).max(23).default(13).describe('Facility of the messages (RFC 5424); 13 is log audit.'),
    tls: z
      .strictObject({
        certificateAuthority: FilePath.optional().describe(
          'PEM file with the authorities trusted to issue the server certificate, which must contain host. Default: those that Node trusts.',
        ),
        certificate: FilePath.optional().describe('PEM file with a client certificate.'),
        key: SecretReference.optional().describe('Location of its key: file:<path> or credential:<name>.'),
      })
      .refine(({ certificate, key }) => (certificate === undefined) === (key === undefined), 'certificate and key must be given together')
      .optional()
      .describe('TLS to the server. Required unless host is this machine.'),
  })
  .refine(({ host, tls }) => tls !== undefined || /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/.test(host), {
    path: ['tls'],
    message: 'required unless host is localhost, 127.0.0.1 or ::1',
  });
export type SyslogConfig = z.output<typeof SyslogConfig>;

/** Makes the paths absolute. */
export function absoluteSyslog(syslog: SyslogConfig, base: string): SyslogConfig {
  const { tls } = syslog;
  if (tls === undefined) return syslog;
  const { certificateAuthority, certificate, key } = tls;
  return {
    ...syslog,
    tls: {
      ...(certificateAuthority === undefined ? {} : { certificateAuthority: resolve(base, certificateAuthority) }),
      ...(certificate === undefined ? {} : { certificate: resolve(base, certificate) }),
      ...(key === undefined ? {} : { key: absoluteReference(key, base) }),
    },
  };
}
