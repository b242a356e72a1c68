import { z } from 'zod';

const Addresses = z.discriminatedUnion('source', [
  z.strictObject({ source: z.enum(['CERTIFICATE', 'SERVER']) }),
  z.strictObject({ source: z.literal('CLIENT'), urls: z.array(z.string()) }),
]);
/**
 * Source of addresses (contract §5, URLSource): the certificate, the configuration or the caller.
 */
export type Addresses = z.output<typeof Addresses>;

const StatusData = z.strictObject({ choice: z.enum(['OCSP', 'CRL', 'BOTH']).optional(), ocsp: Addresses, crl: Addresses });
/**
 * Requested revocation data. Without `choice`: OCSP if the certificate names a responder, otherwise
 * CRL.
 */
export type StatusData = z.output<typeof StatusData>;

/**
 * A level above baseline B as requested (contract §5, Levels). It is plain JSON, which sessions
 * store.
 */
export const AskedLevel = z.strictObject({
  level: z.enum(['T', 'LT', 'LTA']),
  timeStamp: z.strictObject({
    addresses: Addresses,
    hash: z.enum(['sha1', 'sha256', 'sha384', 'sha512']),
    /** Dotted text. */
    policy: z.string().optional(),
    nonce: z.boolean(),
    /** `user:password` for HTTP Basic. */
    credentials: z.string().optional(),
    recovery: z.strictObject({ intervalSeconds: z.number(), maxAttempts: z.int() }).optional(),
  }),
  ofSigner: StatusData,
  ofAuthorities: StatusData,
});
export type AskedLevel = z.output<typeof AskedLevel>;
