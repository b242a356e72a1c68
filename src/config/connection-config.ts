import { isIP } from 'node:net';
import { z } from 'zod';

/** What the operations and the public listener bound of their connections. */
export function connectionLimits(defaults: { readonly connectionsMax: number; readonly idleTimeoutSeconds: number }): {
  connectionsMax: z.ZodDefault<z.ZodInt>;
  idleTimeoutSeconds: z.ZodDefault<z.ZodNumber>;
} {
  return {
    connectionsMax: z
      .int()
      .positive()
      .max(1_000_000)
      .default(defaults.connectionsMax)
      .describe('Connections at once; further ones are closed at once, before TLS.'),
    idleTimeoutSeconds: z
      .number()
      .positive()
      .max(3600)
      .default(defaults.idleTimeoutSeconds)
      .describe('A connection without a request is closed after so long.'),
  };
}

export const ClientRevocationLists = z
  .array(z.string().min(1))
  .default([])
  .describe(
    'Files with the CRLs of the client CAs, in PEM or DER; each CA of clientCertificateAuthority needs one. Empty: revocation is not checked. Read again at a reload; once a CRL has expired, every client of its CA is refused.',
  );

const Network = z.string().refine((text) => {
  const [, address = '', prefix = ''] = /^([0-9a-f.:]+)\/(\d{1,3})$/i.exec(text) ?? [];
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return prefix !== '' && Number(prefix) <= bits;
}, 'a network such as 192.0.2.7/32 or 2001:db8::/32');

export const SharedAddresses = z
  .array(Network)
  .default([])
  .describe(
    'Networks of load balancers, proxies and gateways behind which many clients come from one address: no share of the places is set for one of these addresses.',
  );
