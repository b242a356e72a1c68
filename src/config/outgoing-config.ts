import { resolve } from 'node:path';
import { z } from 'zod';

const FilePath = z.string().min(1);
const Host = z
  .string()
  .regex(
    /^((\*\.)?[a-z0-9.-]+|\[[0-9a-f:]+\])(:\d{1,5})?$/,
    'not a host such as tsa.example.org, tsa.example.org:8080, *.example.org, *.example.org:8080 or [2001:db8::1]',
  );
const Network = z.string().regex(/^[0-9a-f.:]+\/\d{1,3}$/i, 'not a network such as 10.0.0.0/8');
const Url = z.url({ protocol: /^https?$/ });

/** Requests to servers named by certificates, callers or this configuration. */
export const OutgoingConfig = z.strictObject({
  clientHosts: z
    .array(Host)
    .default([])
    .describe(
      "Hosts allowed in callers' URLs (URLSource CLIENT), optionally with a port. *.example.org allows all hosts below it, *.example.org:8080 only that port.",
    ),
  privateNetworks: z.array(Network).default([]).describe('Networks with non-public addresses to which requests are allowed.'),
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

/** Sources of revocation data for URLSource SERVER. */
export const RevocationConfig = z.strictObject({
  crlUrls: z.array(Url).default([]).describe('URLs of CRLs for URLSource SERVER.'),
  ocspUrls: z.array(Url).default([]).describe('URLs of OCSP responders for URLSource SERVER.'),
});
export type RevocationConfig = z.output<typeof RevocationConfig>;
