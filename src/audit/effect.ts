import { z } from 'zod';

const Milliseconds = z.int().nonnegative();

/**
 * A change to be applied again to a state store that is older than the log: as much as can be
 * reconstructed, and nothing secret.
 */
export const StateChange = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('revocation'),
    authority: z.string(),
    /** Hexadecimal. */
    serialNumber: z.string(),
    /** CRLReason (RFC 5280 5.3.1); null: released from hold. */
    reason: z.int().nonnegative().nullable(),
    /** Revocation date as in CRLs. */
    date: Milliseconds,
    notAfter: Milliseconds,
  }),
  z.object({
    kind: z.literal('client revocation'),
    /** Revocation date as in CRLs. */
    date: Milliseconds,
    /** Certificates of the service's own CA of clients; serial numbers are hexadecimal. */
    certificates: z.array(z.object({ authority: z.string(), serialNumber: z.string(), notAfter: Milliseconds })),
    // Absent in records of earlier versions.
    /** SHA-256 of the client's SubjectPublicKeyInfo, hexadecimal. */
    publicKey: z.string().optional(),
    /** When the client was revoked, and when it had been registered. */
    at: Milliseconds.optional(),
    registered: Milliseconds.optional(),
    /** End of the newest certificate of its key that was known; null if none was. */
    notAfter: Milliseconds.nullable().optional(),
  }),
  z.object({ kind: z.literal('key end'), state: z.enum(['CONSUMED', 'REMOVED']) }),
  // `identity`: the key is that of a digital identity, which has this reference in the state store.
  z.object({ kind: z.literal('password'), identity: z.string().optional() }),
  z.object({ kind: z.literal('failed attempt'), identity: z.string().optional() }),
  z.object({
    kind: z.literal('creation'),
    authority: z.string(),
    /** Serial number of the certificate, hexadecimal. */
    serialNumber: z.string(),
    /** CKA_ID of the private key, hexadecimal. */
    tokenKey: z.string(),
  }),
]);
export type StateChange = z.output<typeof StateChange>;

/** Effect of one commit to the state store. */
export const Effect = z.object({
  /** Text such as `the key and its certificate exist`. */
  effect: z.string(),
  change: StateChange.optional(),
});
export type Effect = z.output<typeof Effect>;
