import { z } from 'zod';
import { absoluteTlsClient, isLoopback, TlsClientConfig } from './tls-client-config.ts';

/** A syslog server that receives the audit records. */
export const SyslogConfig = z
  .strictObject({
    host: z.string().min(1).describe('Host name or address of the syslog server (RFC 5424).'),
    port: z.int().min(1).max(65_535).default(6514).describe('TCP port of the server; messages are counted in octets (RFC 5425, RFC 6587).'),
    facility: z.int().min(0).max(23).default(13).describe('Facility of the messages (RFC 5424); 13 is log audit.'),
    tls: TlsClientConfig.optional().describe('TLS to the server. Required unless host is this machine.'),
    required: z.boolean().default(false).describe('True: requests are refused with 503 while records cannot be handed over to the server.'),
    lagMaxSeconds: z
      .int()
      .min(15)
      .max(3600)
      .default(30)
      .describe('With required: seconds after which requests are refused if a record has not been handed over, or the server is away.'),
  })
  .refine(({ host, tls }) => tls !== undefined || isLoopback(host), {
    path: ['tls'],
    message: 'required unless host is localhost, 127.0.0.1 or ::1',
  });
export type SyslogConfig = z.output<typeof SyslogConfig>;

/** Makes the paths absolute. */
export function absoluteSyslog(syslog: SyslogConfig, base: string): SyslogConfig {
  const { tls } = syslog;
  return tls === undefined ? syslog : { ...syslog, tls: absoluteTlsClient(tls, base) };
}
