import { resolve } from 'node:path';
import { z } from 'zod';
import { isPort, networkOf } from './network.ts';

const FilePath = z.string().min(1);
const Host = z
  .string()
  .regex(
    /^((\*\.)?[a-z0-9.-]+|\[[0-9a-f:]+\])(:\d{1,5})?$/,
    'not a host such as tsa.example.org, tsa.example.org:8080, *.example.org, *.example.org:8080 or [2001:db8::1]',
  )
  .refine((text) => isPort(/:(\d+)$/.exec(text)?.[1] ?? '1'), 'a port is from 1 to 65535');
const Network = networkOf(
  /^(?<address>[0-9a-f.:]+)\/(?<prefix>\d{1,3})(?::(?<port>\d{1,5}))?$/i,
  'not a network such as 10.0.0.0/8 or 10.0.0.0/8:8080',
);
const Url = z.url({ protocol: /^https?$/ });

/** Requests to servers named by certificates, callers or this configuration. */
export const OutgoingConfig = z.strictObject({
  clientHosts: z
    .array(Host)
    .default([])
    .describe(
      'Hosts that callers may name, with every port or with one: in their URLs (URLSource CLIENT), and in certificates for which no configured authority vouches (revocation.anchors). *.example.org allows all hosts below it, *.example.org:8080 only that port of them.',
    ),
  privateNetworks: z
    .array(Network)
    .default([])
    .describe(
      'Networks with non-public addresses to which requests are allowed, on every port or on one: 10.1.0.0/16, 10.1.0.0/16:8080, fd00::/8:80. The address has no bits beyond the prefix.',
    ),
  timeoutSeconds: z.number().positive().max(120).default(10).describe('Maximum duration of one exchange in seconds.'),
  totalSeconds: z
    .number()
    .positive()
    .max(140)
    .default(60)
    .describe(
      'Maximum seconds for all exchanges with other servers on behalf of one request, including retries (recovery); then the request fails.',
    ),
  connectionsMax: z
    .int()
    .positive()
    .max(1000)
    .default(64)
    .describe('Maximum number of concurrent exchanges, at most half of them for one tenant; further ones wait within their time limit.'),
  certificateAuthority: FilePath.optional().describe('PEM file with the authorities trusted for https. Default: those that Node trusts.'),
  traceContext: z
    .boolean()
    .default(true)
    .describe("False: requests to these servers do not carry the trace of the caller's request (W3C Trace Context)."),
});
export type OutgoingConfig = z.output<typeof OutgoingConfig>;

export function absoluteOutgoing(config: OutgoingConfig, base: string): OutgoingConfig {
  const { certificateAuthority } = config;
  return certificateAuthority === undefined ? config : { ...config, certificateAuthority: resolve(base, certificateAuthority) };
}

/** Sources of revocation data, and authorities whose certificates may name others. */
export const RevocationConfig = z.strictObject({
  crlUrls: z.array(Url).default([]).describe('URLs of CRLs for URLSource SERVER.'),
  ocspUrls: z.array(Url).default([]).describe('URLs of OCSP responders for URLSource SERVER.'),
  anchors: z
    .array(FilePath)
    .default([])
    .describe(
      'PEM files with authorities of other systems (CA certificates; others are refused). Servers that their certificates and those below them name are asked (URLSource CERTIFICATE), as for the authorities of this service and timeStamps.anchors. A server that any other certificate names is asked only if its host is in outgoing.clientHosts.',
    ),
});
export type RevocationConfig = z.output<typeof RevocationConfig>;

export function absoluteRevocation(config: RevocationConfig, base: string): RevocationConfig {
  return { ...config, anchors: config.anchors.map((file) => resolve(base, file)) };
}
