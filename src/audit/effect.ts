import { z } from 'zod';

const Milliseconds = z.int().nonnegative();

/** A change that a state store must be told of again where it is older than the log: as much of it as can be made again, and nothing secret. */
export const StateChange = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('revocation'),
    authority: z.string(),
    /** Hexadecimal. */
    serialNumber: z.string(),
    /** CRLReason (RFC 5280 5.3.1); null: it was released from hold. */
    reason: z.int().nonnegative().nullable(),
    /** As CRLs tell it. */
    date: Milliseconds,
    notAfter: Milliseconds,
  }),
  z.object({ kind: z.literal('key end'), state: z.enum(['CONSUMED', 'REMOVED']) }),
  z.object({ kind: z.literal('password') }),
  z.object({ kind: z.literal('failed attempt') }),
  z.object({
    kind: z.literal('creation'),
    authority: z.string(),
    /** Of the certificate, hexadecimal. */
    serialNumber: z.string(),
    /** CKA_ID of the private key, hexadecimal. */
    tokenKey: z.string(),
  }),
]);
export type StateChange = z.output<typeof StateChange>;

/** What one commit to the state store did. */
export const Effect = z.object({
  /** In words, such as `the key and its certificate exist`. */
  effect: z.string(),
  change: StateChange.optional(),
});
export type Effect = z.output<typeof Effect>;
