import { z } from 'zod';
import { checkPattern } from './email-config.ts';
import { placeholdersOf, TemplateError } from './message-template.ts';
import { SecretReference } from './secret-reference.ts';
import { isLoopback } from './tls-client-config.ts';

const recipient = ['phoneNumber', 'phoneDigits', 'id', 'secret'];
/**
 * Placeholders allowed in each place. The text is not allowed in a path or header, where it cannot
 * be encoded safely.
 */
export const placeholdersIn = {
  path: recipient,
  query: [...recipient, 'text'],
  header: recipient,
  body: [...recipient, 'text'],
} as const;

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
/** Headers that belong to the transport or are derived from the body. */
const ownHeaders = new Set([
  ...['accept-encoding', 'connection', 'content-encoding', 'content-length', 'content-type', 'expect', 'host'],
  ...['keep-alive', 'proxy-authorization', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
]);

/** A pointer into a JSON response, or a pattern for any response. */
const AnswerPart = z
  .strictObject({
    jsonPointer: z
      .string()
      .regex(/^(?:\/(?:[^~]|~[01])*)*$/, 'not a JSON Pointer (RFC 6901) such as /messages/0/id')
      .optional()
      .describe('JSON Pointer (RFC 6901) of a string, number or boolean in a JSON response.'),
    pattern: z
      .string()
      .superRefine(checkPattern)
      .optional()
      .describe('Regular expression applied to the first 4096 characters of the response; its first group is the value.'),
  })
  .refine(
    ({ jsonPointer, pattern }) => (jsonPointer === undefined) !== (pattern === undefined),
    'exactly one of jsonPointer and pattern is required',
  )
  .optional();

const Answer = z.strictObject({
  statuses: z
    .array(z.int().min(200).max(299))
    .min(1)
    .optional()
    .describe('HTTP statuses that mean that the gateway accepted the message. Default: 200 to 299.'),
  messageId: AnswerPart.describe("Location of the gateway's message identifier."),
  code: AnswerPart.describe("Location of the gateway's own status code. Default: the HTTP status is the code."),
  codes: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe('Codes that mean that the gateway accepted the message. Default: every code, given an accepted HTTP status.'),
  text: AnswerPart.describe("Location of the gateway's text. Default: the whole response, shortened."),
});

const Body = z
  .strictObject({
    json: z.json().optional().describe('Any JSON value. Placeholders may be used in its strings; their values always remain strings.'),
    form: z
      .record(z.string(), z.string())
      .optional()
      .describe('Fields of application/x-www-form-urlencoded. Placeholders may be used in their values.'),
  })
  .refine(({ json, form }) => (json === undefined) !== (form === undefined), 'exactly one of json and form is required');

/** HTTP gateway for SMS: the request, and how its response is read. */
export const SmsConfig = z
  .strictObject({
    method: z.enum(['POST', 'PUT', 'GET']).default('POST').describe('HTTP method.'),
    url: z
      .string()
      .describe(
        'URL of the gateway. Placeholders {{phoneNumber}} (+33612345678), {{phoneDigits}} (33612345678), {{id}} and {{secret.<name>}} may be used in its path and query, {{text}} in its query.',
      ),
    allowUnencrypted: z
      .boolean()
      .default(false)
      .describe('Whether the URL may be http:// to another machine, which sends the texts unencrypted.'),
    headers: z
      .record(z.string(), z.string())
      .default({})
      .describe(
        'Further headers. Placeholders {{phoneNumber}}, {{phoneDigits}}, {{id}} and {{secret.<name>}} may be used in their values.',
      ),
    basicAuthentication: z
      .strictObject({
        user: z
          .string()
          .regex(/^[^\p{Cc}:]+$/u, 'no control characters, and no colon')
          .describe('User name for HTTP basic authentication.'),
        password: SecretReference.describe('Location of the password: file:<path> or credential:<name>.'),
      })
      .optional()
      .describe('HTTP basic authentication (RFC 7617).'),
    body: Body.optional().describe('Request body: json or form. Default: no body.'),
    secrets: z
      .record(z.string(), SecretReference)
      .default({})
      .describe('Secrets for the placeholders {{secret.<name>}}, each as file:<path> or credential:<name>.'),
    answer: Answer.prefault({}).describe('How the response of the gateway is read.'),
    certificateAuthority: z
      .string()
      .min(1)
      .optional()
      .describe("PEM file with the authorities trusted to issue the gateway's certificate. Default: those that Node trusts."),
    totalTimeoutSeconds: z
      .number()
      .positive()
      .max(120)
      .default(10)
      .describe('Maximum time in seconds for one message, including connecting.'),
    answerMaxBytes: z
      .int()
      .min(256)
      .max(1_048_576)
      .default(65_536)
      .describe('Maximum size of a response in bytes; a longer one counts as a failure.'),
    connectionsMax: z.int().min(1).max(100).default(8).describe('Maximum number of connections.'),
  })
  .superRefine((sms, context) => {
    const fault = (path: (string | number)[], message: string): void => {
      context.addIssue({ code: 'custom', path, message });
    };
    const check = (path: (string | number)[], template: string, allowed: readonly string[]): void => {
      try {
        for (const name of placeholdersOf(template, allowed)) {
          if (name.startsWith('secret.') && !Object.hasOwn(sms.secrets, name.slice('secret.'.length)))
            fault(path, `no secret "${name.slice('secret.'.length)}" in secrets`);
        }
      } catch (error) {
        if (!(error instanceof TemplateError)) throw error;
        fault(path, error.message);
      }
    };
    const split = splitUrl(sms.url);
    if (split === undefined) {
      fault(['url'], 'must be an http or https URL with a literal host, and without user, password and fragment');
    } else {
      check(['url'], split.path, placeholdersIn.path);
      check(['url'], split.query, placeholdersIn.query);
      const { protocol, hostname } = new URL(split.origin);
      if (protocol === 'http:' && !isLoopback(hostname) && !sms.allowUnencrypted)
        fault(['url'], 'http:// to another machine sends the texts unencrypted; use https:// or set allowUnencrypted: true');
    }
    for (const [name, template] of Object.entries(sms.headers)) {
      if (!/^[\x20-\x7e]*$/.test(template)) fault(['headers', name], 'a header may contain only visible ASCII characters and spaces');
      check(['headers', name], template, placeholdersIn.header);
      if (!headerName.test(name)) fault(['headers', name], 'not a valid header name');
      if (ownHeaders.has(name.toLowerCase())) fault(['headers', name], 'signetd sets this header itself or does not send it');
      if (name.toLowerCase() === 'authorization' && sms.basicAuthentication !== undefined)
        fault(['headers', name], 'basicAuthentication sets this header');
    }
    for (const name of Object.keys(sms.secrets)) {
      if (!/^[A-Za-z0-9-]+$/.test(name)) fault(['secrets', name], 'the name of a secret may contain only letters, digits and hyphens');
    }
    if (sms.body !== undefined && sms.method === 'GET') fault(['body'], 'a GET request has no body');
    for (const template of sms.body === undefined ? [] : bodyTexts(sms.body)) check(['body'], template, placeholdersIn.body);
  });
export type SmsConfig = z.output<typeof SmsConfig>;
export type AnswerPart = z.output<typeof AnswerPart>;

/** Splits a URL template into parts. Undefined if it is invalid or its host is not literal. */
export function splitUrl(template: string): { origin: string; path: string; query: string } | undefined {
  const match = /^(https?:\/\/[^/?#\\@{}\s\p{Cc}]+)(\/[^?#\\\s\p{Cc}]*)?(?:\?([^#\s\p{Cc}]*))?$/u.exec(template);
  const origin = match?.[1];
  if (origin === undefined || !URL.canParse(origin)) return undefined;
  return { origin, path: match?.[2] ?? '/', query: match?.[3] ?? '' };
}

function bodyTexts({ json, form }: z.output<typeof Body>): string[] {
  return [...Object.values(form ?? {}), ...textsIn(json ?? null)];
}

function textsIn(value: z.core.util.JSONType): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}
