import { z } from 'zod';

const Addresses = z.discriminatedUnion('source', [
  z.strictObject({ source: z.enum(['CERTIFICATE', 'SERVER']) }),
  z.strictObject({ source: z.literal('CLIENT'), urls: z.array(z.string()) }),
]);
/** Where addresses come from (contract §5, URLSource): the certificate in question, the configuration, or the caller. */
export type Addresses = z.output<typeof Addresses>;

const StatusData = z.strictObject({ choice: z.enum(['OCSP', 'CRL', 'BOTH']).optional(), ocsp: Addresses, crl: Addresses });
/** What is wanted of the status of certificates. `choice` absent: OCSP where the certificate names a responder, else CRL. */
export type StatusData = z.output<typeof StatusData>;

/** A level above baseline B as a caller asks for it (contract §5, Levels). Plain JSON: sessions store it. */
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
