import { resolve } from 'node:path';
import { z } from 'zod';

const FilePath = z.string().min(1);
const Host = z
  .string()
  .regex(
    /^((\*\.)?[a-z0-9.-]+|\[[0-9a-f:]+\])(:\d{1,5})?$/,
    'a host such as tsa.example.org, tsa.example.org:8080, *.example.org, *.example.org:8080 or [2001:db8::1]',
  );
const Network = z.string().regex(/^[0-9a-f.:]+\/\d{1,3}$/i, 'a network such as 10.0.0.0/8');
const Url = z.url({ protocol: /^https?$/ });

/** Requests to servers that certificates, callers or this configuration name. */
export const OutgoingConfig = z.strictObject({
  clientHosts: z
    .array(Host)
    .default([])
    .describe(
      'Hosts that the URLs of callers (URLSource CLIENT) may name, each with a port where one is given; *.example.org stands for all below it, *.example.org:8080 for that port of them.',
    ),
  privateNetworks: z.array(Network).default([]).describe('Networks that are asked although their addresses are not public.'),
  timeoutSeconds: z.number().positive().max(120).default(10).describe('For one exchange as a whole.'),
  totalSeconds: z
    .number()
    .positive()
    .max(140)
    .default(60)
    .describe('For all that one request wants of other servers, further attempts (recovery) included; then it fails.'),
  connectionsMax: z
    .int()
    .positive()
    .max(1000)
    .default(64)
    .describe('Exchanges at once, at most half of them for one tenant; the rest wait within their time.'),
  certificateAuthority: FilePath.optional().describe('PEM file of the authorities for https; absent: those that Node trusts.'),
});
export type OutgoingConfig = z.output<typeof OutgoingConfig>;

export function absoluteOutgoing(config: OutgoingConfig, base: string): OutgoingConfig {
  const { certificateAuthority } = config;
  return certificateAuthority === undefined ? config : { ...config, certificateAuthority: resolve(base, certificateAuthority) };
}

/** What URLSource SERVER means for the status of certificates. */
export const RevocationConfig = z.strictObject({
  crlUrls: z.array(Url).default([]).describe('CRLs that URLSource SERVER means.'),
  ocspUrls: z.array(Url).default([]).describe('OCSP responders that URLSource SERVER means.'),
});
export type RevocationConfig = z.output<typeof RevocationConfig>;
