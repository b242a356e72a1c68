import { z } from 'zod';
import { SecretReference } from './secret-reference.ts';

const noControls = /^\P{Cc}+$/u;

/** SMTP server for e-mail (RFC 5321, RFC 6409). */
export const EmailConfig = z
  .strictObject({
    host: z
      .string()
      .regex(/^[A-Za-z0-9.:_-]{1,253}$/, 'not a host name or address')
      .describe('Host name or address of the server, which its certificate must contain.'),
    port: z.int().min(1).max(65_535).default(587).describe('Port: 587 for submission with STARTTLS, 465 for implicit TLS.'),
    security: z
      .enum(['STARTTLS', 'TLS', 'NONE'])
      .default('STARTTLS')
      .describe(
        'STARTTLS: required; nothing is sent to a server without it. TLS: implicit TLS. NONE: unencrypted and without authentication.',
      ),
    certificateAuthority: z
      .string()
      .min(1)
      .optional()
      .describe("PEM file with the authorities trusted to issue the server's certificate. Default: those that Node trusts."),
    user: z.string().min(1).regex(noControls, 'no control characters').optional().describe('User name for authentication.'),
    password: SecretReference.optional().describe('Location of the password: file:<path> or credential:<name>.'),
    from: z
      .email({ pattern: z.regexes.html5Email })
      .max(254)
      .describe('Sender in envelope and header: only an address, such as signatures@example.org.'),
    fromName: z.string().max(100).regex(noControls, 'no control characters').optional().describe('Display name of the sender.'),
    subject: z
      .string()
      .max(200)
      .regex(noControls, 'no control characters')
      .default('Message')
      .describe('Subject of every message. It has no placeholders, since subjects are shown in places where the text is not.'),
    messageIdPattern: z
      .string()
      .default('queued as ([!-~]{1,128})')
      .superRefine(checkPattern)
      .describe("Regular expression applied to the server's last reply; its first group is the server's message identifier."),
    connectTimeoutSeconds: z.number().positive().max(60).default(5).describe('Maximum time in seconds to connect, including the greeting.'),
    replyTimeoutSeconds: z.number().positive().max(300).default(10).describe('Maximum time in seconds to wait for a reply.'),
    totalTimeoutSeconds: z
      .number()
      .positive()
      .max(300)
      .default(20)
      .describe('Maximum time in seconds for one message, including the wait for a connection; then its connection is closed.'),
    connectionsMax: z.int().min(1).max(100).default(4).describe('Maximum number of connections, which are reused.'),
  })
  .refine(({ user, password }) => (user === undefined) === (password === undefined), 'user and password must be given together')
  .refine(({ user, security }) => user === undefined || security !== 'NONE', {
    path: ['security'],
    message: 'a password is never sent unencrypted; use STARTTLS or TLS',
  });
export type EmailConfig = z.output<typeof EmailConfig>;

/** Checks that a pattern is a regular expression with a group. */
export function checkPattern(pattern: string, context: z.RefinementCtx): void {
  try {
    // The empty alternative always matches, so the result shows the number of groups.
    const groups = new RegExp(`${pattern}|`, 'u').exec('')?.length ?? 0;
    if (groups < 2) context.addIssue({ code: 'custom', message: 'a group in parentheses is required; it marks the text to be read' });
  } catch {
    context.addIssue({ code: 'custom', message: 'not a valid JavaScript regular expression' });
  }
}
