import { z } from 'zod';
import { roles } from '../clients/caller.ts';

/*
 * The admin socket: the service greets with one line, takes one line and answers one line, each a JSON object, then ends the connection.
 * A new form of these lines is a new number of the protocol.
 */
export const adminProtocol = 2;
/** A certificate with all that may be in it is far smaller. */
export const requestMaxBytes = 128 * 1024;
/** Keys in one answer of `key list`. */
export const keyPageSize = 500;

/** A name that an operator reads in lists and in the audit log. */
const ClientName = z.string().regex(/^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,62}[\p{L}\p{N}]$|^[\p{L}\p{N}]$/u, {
  error: '1 to 64 letters, digits, spaces and . _ @ -, with a letter or digit at both ends',
});
const Fingerprint = z.string().regex(/^[0-9a-f]{40}$/, 'a keyReference.reference: 40 hexadecimal digits');

export const AdminRequest = z.discriminatedUnion('command', [
  z.strictObject({
    command: z.literal('client add'),
    /** DER, base64. */
    certificate: z.base64().min(1),
    name: ClientName,
    tenant: z.string().min(1).max(64),
    roles: z
      .array(z.enum(roles, { error: `the roles are ${roles.join(', ')}` }))
      .min(1, 'at least one role')
      .refine((names) => new Set(names).size === names.length, 'each role once'),
    /** Changes what is registered under this public key. */
    replace: z.boolean(),
  }),
  z.strictObject({ command: z.literal('client list') }),
  z.strictObject({
    command: z.literal('client revoke'),
    /** Its name, or the SHA-256 of its public key. */
    client: z.string().min(1).max(64),
  }),
  z.strictObject({ command: z.literal('client reload') }),
  z.strictObject({
    command: z.literal('key list'),
    tenant: z.string().min(1).max(64).optional(),
    /** The last reference of the page before. */
    after: Fingerprint.optional(),
  }),
  z.strictObject({ command: z.literal('key show'), reference: Fingerprint }),
  z.strictObject({ command: z.literal('key unlock'), reference: Fingerprint }),
  z.strictObject({ command: z.literal('key remove'), reference: Fingerprint }),
  z.strictObject({ command: z.literal('state compare') }),
  z.strictObject({ command: z.literal('state confirm') }),
  z.strictObject({ command: z.literal('status') }),
  z.strictObject({ command: z.literal('reload') }),
]);
export type AdminRequest = z.output<typeof AdminRequest>;
export type CommandName = AdminRequest['command'];
export type RequestOf<C extends CommandName> = Extract<AdminRequest, { command: C }>;

/** The first line of the service. */
export const AdminGreeting = z.object({ protocol: z.int() });

/** `refused`: it must not be done as things are, or the request is wrong. `failed`: it could not be done now. */
export const AdminAnswer = z.discriminatedUnion('outcome', [
  z.strictObject({ outcome: z.literal('done'), result: z.unknown(), notes: z.array(z.string()) }),
  z.strictObject({ outcome: z.enum(['refused', 'failed']), faults: z.array(z.string()).min(1) }),
]);
export type AdminAnswer = z.output<typeof AdminAnswer>;
