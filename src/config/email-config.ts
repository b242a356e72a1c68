import { z } from 'zod';
import { SecretReference } from './state-config.ts';

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/;
const noControls = /^\P{Cc}+$/u;

/** The SMTP server (RFC 5321, RFC 6409) that takes e-mail. */
export const EmailConfig = z
  .strictObject({
    host: z
      .string()
      .regex(/^[A-Za-z0-9.:_-]{1,253}$/, 'a host name or an address')
      .describe('Host name or address of the server; its certificate has to name it.'),
    port: z.int().min(1).max(65_535).default(587).describe('587 is the port of submission with STARTTLS, 465 that of TLS from the start.'),
    security: z
      .enum(['STARTTLS', 'TLS', 'NONE'])
      .default('STARTTLS')
      .describe('STARTTLS: a server that does not offer it gets nothing. TLS: from the start. NONE: in clear; then nobody authenticates.'),
    certificateAuthority: z
      .string()
      .min(1)
      .optional()
      .describe("PEM file with the authorities that may have issued the server's certificate. Absent: those that Node trusts."),
    user: z.string().min(1).regex(noControls, 'no control characters').optional().describe('Name that signetd authenticates with.'),
    password: SecretReference.optional().describe("Where the user's password lies."),
    from: z
      .email({ pattern: z.regexes.html5Email })
      .max(254)
      .describe('Sender of the messages, in the envelope and in the header; an address alone, such as signatures@example.org.'),
    fromName: z
      .string()
      .max(100)
      .regex(noControls, 'no control characters')
      .optional()
      .describe('Name that is shown beside the address of the sender.'),
    subject: z
      .string()
      .max(200)
      .regex(noControls, 'no control characters')
      .default('Message')
      .describe('Subject of every message. It has no placeholders: subjects are shown where texts are not.'),
    messageIdPattern: z
      .string()
      .default('queued as ([!-~]{1,128})')
      .superRefine(checkPattern)
      .describe("Regular expression for the server's last reply, whose first group is the identifier that it gave the message."),
    connectTimeoutSeconds: z.number().positive().max(60).default(5).describe('How long a connection may take, its greeting included.'),
    replyTimeoutSeconds: z.number().positive().max(300).default(10).describe('How long the server may be silent.'),
    totalTimeoutSeconds: z
      .number()
      .positive()
      .max(300)
      .default(20)
      .describe('How long one message may take in all, waiting for a connection included. Afterwards its connection is closed.'),
    connectionsMax: z.int().min(1).max(100).default(4).describe('Connections at a time; they are kept for the next messages.'),
  })
  .refine(({ user, password }) => (user === undefined) === (password === undefined), 'user and password belong together')
  .refine(({ user, security }) => user === undefined || security !== 'NONE', {
    path: ['security'],
    message: 'a password is not sent in clear; STARTTLS and TLS are offered',
  });
export type EmailConfig = z.output<typeof EmailConfig>;

/** A regular expression with a group. */
export function checkPattern(pattern: string, context: z.RefinementCtx): void {
  try {
    // The alternative that is empty always matches, and tells how many groups there are.
    const groups = new RegExp(`${pattern}|`, 'u').exec('')?.length ?? 0;
    if (groups < 2) context.addIssue({ code: 'custom', message: 'a group in parentheses is missing, which says what is to be read' });
  } catch {
    context.addIssue({ code: 'custom', message: 'not a regular expression as JavaScript has them' });
  }
}

export function isLoopback(host: string): boolean {
  return loopback.test(host.replaceAll(/^\[|\]$/g, ''));
}
