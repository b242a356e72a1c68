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

const Tolerance = z.strictObject({
  /** Worst status of the signer certificate with which a signature is made. */
  ofSigner: z.enum(['VALID', 'UNDETERMINED', 'REVOKED']),
  /**
   * Whether a signature is refused, and not made at a lower level, if revocation data is
   * unavailable.
   */
  cancelOnError: z.boolean(),
});
/** What is tolerated of revocation data (formats.md, `PXP7Parameters.revocationData`). */
export type Tolerance = z.output<typeof Tolerance>;

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
  /** Absent: the status must be good. */
  tolerance: Tolerance.optional(),
});
export type AskedLevel = z.output<typeof AskedLevel>;
