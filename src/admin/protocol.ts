import { z } from 'zod';
import { roles } from '../clients/caller.ts';
import { CaIdentifier, CertificateIdentifier } from '../config/two-d-doc-config.ts';
import { assignablePurposes } from '../token/wire/messages.ts';

/*
 * The protocol of the admin socket: the service sends a greeting, reads one request and sends one
 * answer, each a JSON object on one line, then closes the connection. Before the answer it says that a
 * command waits for its approval, if it does. Any change to the form of
 * these lines increments the protocol number.
 */
export const adminProtocol = 9;
/** Far longer than any certificate. */
export const requestMaxBytes = 128 * 1024;
/** Maximum number of keys in one answer of `key list`. */
export const keyPageSize = 500;

/** Name of a client in lists and in the audit log. */
const ClientName = z.string().regex(/^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,62}[\p{L}\p{N}]$|^[\p{L}\p{N}]$/u, {
  error: '1 to 64 letters, digits, spaces and . _ @ -, beginning and ending with a letter or digit',
});
const Fingerprint = z.string().regex(/^[0-9a-f]{40}$/, 'a keyReference.reference: 40 hexadecimal digits');

const registration = {
  name: ClientName,
  tenant: z.string().min(1).max(64),
  roles: z
    .array(z.enum(roles, { error: `valid roles are ${roles.join(', ')}` }))
    .min(1, 'at least one role')
    .refine((names) => new Set(names).size === names.length, 'duplicate role'),
  /** Replaces the registration of this public key. */
  replace: z.boolean(),
};

/** The registration of a client, apart from its certificate. */
const Registration = z.strictObject(registration);
export type Registration = z.output<typeof Registration>;

/** A request that waits for approval, and the digest of what the approver was shown of it. */
const Decision = {
  id: z.string().regex(/^[a-z2-9]{8}$/, 'the id of a request, as signetctl approvals shows it'),
  digest: z.string().regex(/^[0-9a-f]{64}$/),
};

/** What names a digital identity of 2D-Doc. */
const IdentityName = { tenant: z.string().min(1).max(64), ca: CaIdentifier, certificateId: CertificateIdentifier };

/** Commands of signetctl that use the token themselves, and have the service record it first. */
export const keyUsingCommands = [
  ...([
    'ca init',
    'ca issue',
    'ca certify',
    'ca new-root',
    'ca retire',
    'ca request',
    'ca import',
    'tsa init',
    'tsa certify',
    'token purpose',
    'token destroy-key',
    'token accept',
    'token change-pin',
  ] as const),
  ...(['client issue', 'client renew', 'client new-authority', 'server renew', 'twoddoc identity add', 'setup', 'quickstart'] as const),
] as const;
export type KeyUsingCommand = (typeof keyUsingCommands)[number];

export const AdminRequest = z.discriminatedUnion('command', [
  z.strictObject({
    command: z.literal('client add'),
    /** DER, base64. */
    certificate: z.base64().min(1),
    ...registration,
    /** Also if the public key was revoked. */
    again: z.boolean().default(false),
  }),
  z.strictObject({ command: z.literal('client list') }),
  z.strictObject({ command: z.literal('client list revoked') }),
  z.strictObject({
    command: z.literal('client revoke'),
    /** Name, or SHA-256 of the public key. */
    client: z.string().min(1).max(64),
  }),
  z.strictObject({ command: z.literal('client reload') }),
  z.strictObject({
    command: z.literal('key list'),
    tenant: z.string().min(1).max(64).optional(),
    /** The last reference of the previous page. */
    after: Fingerprint.optional(),
  }),
  z.strictObject({ command: z.literal('key show'), reference: Fingerprint }),
  z.strictObject({ command: z.literal('key unlock'), reference: Fingerprint }),
  z.strictObject({ command: z.literal('key remove'), reference: Fingerprint }),
  z.strictObject({ command: z.literal('mac status') }),
  z.strictObject({ command: z.literal('mac rotate') }),
  z.strictObject({
    command: z.literal('mac destroy'),
    /** Also if secrets are lost. */
    force: z.boolean(),
  }),
  z.strictObject({ command: z.literal('answers status') }),
  z.strictObject({ command: z.literal('answers rotate') }),
  z.strictObject({ command: z.literal('audit rotate-key') }),
  z.strictObject({ command: z.literal('pool list') }),
  z.strictObject({ command: z.literal('identity list') }),
  z.strictObject({ command: z.literal('identity unlock'), ...IdentityName }),
  z.strictObject({ command: z.literal('identity remove'), ...IdentityName }),
  z.strictObject({ command: z.literal('state compare') }),
  z.strictObject({ command: z.literal('state confirm') }),
  z.strictObject({ command: z.literal('clock confirm') }),
  z.strictObject({ command: z.literal('backup create') }),
  z.strictObject({
    command: z.literal('backup end'),
    /** SHA-256 of the backup's file, hexadecimal. */
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
  }),
  z.strictObject({
    command: z.literal('audit prune'),
    /** Every removed record is older (milliseconds since the epoch). */
    before: z.int().nonnegative(),
  }),
  z.strictObject({
    command: z.literal('record use'),
    /** The command of signetctl that is about to use a key. */
    by: z.enum(keyUsingCommands),
    /** In the form of `token/uses.ts`. */
    use: z
      .string()
      .regex(/^(?:(?:sign|mac) [!-~]+ [!-~]+ [!-~]+|destroy [0-9a-f]{34})$/)
      .max(400),
    certificate: z
      .strictObject({
        serialNumber: z.string().regex(/^(?:[0-9a-f]{2}){1,64}$/),
        subject: z.string().max(4096),
        notBefore: z.iso.datetime(),
        notAfter: z.iso.datetime(),
      })
      .optional(),
    /** What is to be signed, base64: shown to the user who approves it. */
    message: z.base64().min(1).optional(),
    /** The client that is registered with the certificate, to be approved together. */
    registers: Registration.optional(),
  }),
  z.strictObject({
    command: z.literal('record purpose'),
    by: z.enum(keyUsingCommands),
    /** CKA_ID of the key, hexadecimal. */
    keyId: z.string().regex(/^[0-9a-f]{2,64}$/),
    purpose: z.enum(assignablePurposes),
  }),
  z.strictObject({
    command: z.literal('record command'),
    /** The command of signetctl that is about to change the token, apart from its keys. */
    by: z.literal('token change-pin'),
  }),
  z.strictObject({ command: z.literal('approvals') }),
  z.strictObject({ command: z.literal('approve'), ...Decision }),
  z.strictObject({ command: z.literal('refuse'), ...Decision }),
  z.strictObject({ command: z.literal('status') }),
  z.strictObject({ command: z.literal('console') }),
  z.strictObject({ command: z.literal('reload') }),
]);
export type AdminRequest = z.output<typeof AdminRequest>;
export type CommandName = AdminRequest['command'];
export type RequestOf<C extends CommandName> = Extract<AdminRequest, { command: C }>;

/** First line sent by the service. */
export const AdminGreeting = z.object({ protocol: z.int() });

/**
 * `refused`: the current state forbids it, or the request is wrong. `failed`: it could not be done
 * now. `not approved`: a second user refused it, or none approved it in time.
 */
export const AdminAnswer = z.discriminatedUnion('outcome', [
  z.strictObject({ outcome: z.literal('done'), result: z.unknown(), notes: z.array(z.string()) }),
  z.strictObject({ outcome: z.enum(['refused', 'failed', 'not approved']), faults: z.array(z.string()).min(1) }),
]);
export type AdminAnswer = z.output<typeof AdminAnswer>;

/** Line before the answer to a command that waits for a second user. */
export const AdminWaiting = z.strictObject({
  outcome: z.literal('waiting'),
  id: z.string(),
  digest: z.string(),
  /** When the command ends if nobody has approved it. */
  until: z.iso.datetime(),
  /** Group whose members can approve it. */
  approvers: z.string(),
});
export type AdminWaiting = z.output<typeof AdminWaiting>;

/** A second user refused the command, or none approved it in time. Nothing was done. */
export class NotApproved extends Error {}

/** The current state forbids a command: one line for the operator for each reason. */
export class CommandRefused extends Error {
  readonly faults: readonly string[];

  constructor(...faults: readonly string[]) {
    super(faults.join('; '));
    this.faults = faults;
  }
}

/** Result of a command, with notes. */
export interface Done {
  readonly result: unknown;
  readonly notes?: readonly string[];
}
