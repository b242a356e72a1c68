import { isIP } from 'node:net';
import { z } from 'zod';

/** Connection limits of the operations listener and the public listener. */
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
      .describe('Maximum number of open connections; further ones are closed immediately.'),
    idleTimeoutSeconds: z
      .number()
      .positive()
      .max(3600)
      .default(defaults.idleTimeoutSeconds)
      .describe('Seconds after which a connection without a request is closed.'),
  };
}

export const ClientRevocationLists = z
  .array(z.string().min(1))
  .default([])
  .describe(
    'Files with the CRLs of the client CAs, in PEM or DER; each CA in clientCertificateAuthority needs one. Empty: revocation is not checked. The files are read again on reload; once a CRL has expired, all clients of its CA are refused.',
  );

const Network = z.string().refine((text) => {
  const [, address = '', prefix = ''] = /^([0-9a-f.:]+)\/(\d{1,3})$/i.exec(text) ?? [];
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return prefix !== '' && Number(prefix) <= bits;
}, 'not a network such as 192.0.2.7/32 or 2001:db8::/32');

export const SharedAddresses = z
  .array(Network)
  .default([])
  .describe(
    'Networks of load balancers, proxies and gateways that make many clients appear under one address. The limits per address do not apply to these addresses.',
  );
