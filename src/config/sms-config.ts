import { z } from 'zod';
import { checkPattern, isLoopback } from './email-config.ts';
import { placeholdersOf, TemplateError } from './message-template.ts';
import { SecretReference } from './state-config.ts';

const recipient = ['phoneNumber', 'phoneDigits', 'id', 'secret'];
/** Where which placeholders may stand. The text has no place in a path or a header: nothing makes every text harmless there. */
export const placeholdersIn = {
  path: recipient,
  query: [...recipient, 'text'],
  header: recipient,
  body: [...recipient, 'text'],
} as const;

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
/** Headers that belong to the transport or follow from the body. */
const ownHeaders = new Set([
  ...['accept-encoding', 'connection', 'content-encoding', 'content-length', 'content-type', 'expect', 'host'],
  ...['keep-alive', 'proxy-authorization', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
]);

/** A place in a JSON answer, or a pattern for any answer. */
const AnswerPart = z
  .strictObject({
    jsonPointer: z
      .string()
      .regex(/^(?:\/(?:[^~]|~[01])*)*$/, 'a JSON Pointer (RFC 6901) such as /messages/0/id')
      .optional()
      .describe('JSON Pointer (RFC 6901) of a text, number or boolean in an answer that is JSON.'),
    pattern: z
      .string()
      .superRefine(checkPattern)
      .optional()
      .describe('Regular expression for the first 4096 characters of the answer; its first group is what is read.'),
  })
  .refine(({ jsonPointer, pattern }) => (jsonPointer === undefined) !== (pattern === undefined), 'jsonPointer or pattern, one of them')
  .optional();

const Answer = z.strictObject({
  statuses: z
    .array(z.int().min(200).max(299))
    .min(1)
    .optional()
    .describe('HTTP statuses that mean that the gateway has taken the message. Absent: 200 to 299.'),
  messageId: AnswerPart.describe("Where the gateway's identifier of the message is."),
  code: AnswerPart.describe("Where the gateway's own status code is. Absent: the HTTP status is the code."),
  codes: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe('Codes that mean that the gateway has taken the message. Absent: every code does, with the right HTTP status.'),
  text: AnswerPart.describe("Where the gateway's words are. Absent: the answer itself, cut short."),
});

const Body = z
  .strictObject({
    json: z.json().optional().describe('Any JSON value. Placeholders stand in its strings, and stay strings whatever their values are.'),
    form: z
      .record(z.string(), z.string())
      .optional()
      .describe('Fields of application/x-www-form-urlencoded; placeholders stand in their values.'),
  })
  .refine(({ json, form }) => (json === undefined) !== (form === undefined), 'json or form, one of them');

/** The HTTP gateway that takes SMS: what is sent to it, and how its answer is read. */
export const SmsConfig = z
  .strictObject({
    method: z.enum(['POST', 'PUT', 'GET']).default('POST').describe('HTTP method.'),
    url: z
      .string()
      .describe(
        'Where to. {{phoneNumber}} (+33612345678), {{phoneDigits}} (33612345678), {{id}} and {{secret.<name>}} may stand in its path and query, {{text}} in its query.',
      ),
    allowUnencrypted: z
      .boolean()
      .default(false)
      .describe('Whether the URL may be http:// to another machine: the texts are then sent in clear.'),
    headers: z
      .record(z.string(), z.string())
      .default({})
      .describe('Further headers. {{phoneNumber}}, {{phoneDigits}}, {{id}} and {{secret.<name>}} may stand in their values.'),
    basicAuthentication: z
      .strictObject({
        user: z
          .string()
          .regex(/^[^\p{Cc}:]+$/u, 'no control characters, and no colon')
          .describe('User of HTTP basic authentication.'),
        password: SecretReference.describe("Where the user's password lies."),
      })
      .optional()
      .describe('HTTP basic authentication (RFC 7617).'),
    body: Body.optional().describe('What is sent: json or form. Absent: no body.'),
    secrets: z.record(z.string(), SecretReference).default({}).describe('Secrets for the placeholders {{secret.<name>}}: where each lies.'),
    answer: Answer.prefault({}).describe('How the answer of the gateway is read.'),
    certificateAuthority: z
      .string()
      .min(1)
      .optional()
      .describe("PEM file with the authorities that may have issued the gateway's certificate. Absent: those that Node trusts."),
    totalTimeoutSeconds: z.number().positive().max(120).default(10).describe('How long one message may take in all, connecting included.'),
    answerMaxBytes: z.int().min(256).max(1_048_576).default(65_536).describe('A longer answer is a failure.'),
    connectionsMax: z.int().min(1).max(100).default(8).describe('Connections at a time.'),
  })
  .superRefine((sms, context) => {
    const fault = (path: (string | number)[], message: string): void => {
      context.addIssue({ code: 'custom', path, message });
    };
    const look = (path: (string | number)[], template: string, allowed: readonly string[]): void => {
      try {
        for (const name of placeholdersOf(template, allowed)) {
          if (name.startsWith('secret.') && !Object.hasOwn(sms.secrets, name.slice('secret.'.length)))
            fault(path, `secrets has no "${name.slice('secret.'.length)}"`);
        }
      } catch (error) {
        if (!(error instanceof TemplateError)) throw error;
        fault(path, error.message);
      }
    };
    const split = splitUrl(sms.url);
    if (split === undefined) {
      fault(['url'], 'not an http or https URL without user, password and fragment, whose host is literal');
    } else {
      look(['url'], split.path, placeholdersIn.path);
      look(['url'], split.query, placeholdersIn.query);
      const { protocol, hostname } = new URL(split.origin);
      if (protocol === 'http:' && !isLoopback(hostname) && !sms.allowUnencrypted)
        fault(['url'], 'http:// to another machine sends the texts in clear; use https://, or say allowUnencrypted: true');
    }
    for (const [name, template] of Object.entries(sms.headers)) {
      if (!/^[\x20-\x7e]*$/.test(template)) fault(['headers', name], 'a header has visible ASCII characters and spaces');
      look(['headers', name], template, placeholdersIn.header);
      if (!headerName.test(name)) fault(['headers', name], 'not the name of a header');
      if (ownHeaders.has(name.toLowerCase())) fault(['headers', name], 'signetd sets this header itself, or sends none');
      if (name.toLowerCase() === 'authorization' && sms.basicAuthentication !== undefined)
        fault(['headers', name], 'basicAuthentication sets this header');
    }
    for (const name of Object.keys(sms.secrets)) {
      if (!/^[A-Za-z0-9-]+$/.test(name)) fault(['secrets', name], 'the name of a secret has letters, digits and hyphens');
    }
    if (sms.body !== undefined && sms.method === 'GET') fault(['body'], 'a GET has no body');
    for (const template of sms.body === undefined ? [] : bodyTexts(sms.body)) look(['body'], template, placeholdersIn.body);
  });
export type SmsConfig = z.output<typeof SmsConfig>;
export type AnswerPart = z.output<typeof AnswerPart>;

/** A template of a URL, in parts. Undefined where it is none, or its host is not literal. */
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
