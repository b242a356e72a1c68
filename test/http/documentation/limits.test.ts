import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { beforeAll, expect, it } from 'vitest';
import { operationName } from '../../../src/http/documentation/openapi.ts';
import { resolved, type Schema, type Schemas } from '../../../src/http/documentation/schema.ts';
import { operations } from '../../../src/operations/table.ts';
import { root, send, textOf } from '../../support/api.ts';

/** A member, the first entry of a list, or a variant of a choice. */
type Step = string | 0 | { readonly variant: number };

/** A place in a request, with its schema. */
interface Place {
  readonly path: readonly Step[];
  readonly schema: Schema;
}

/** A value at a limit, or just beyond it. */
interface Trial {
  readonly operation: string;
  readonly at: string;
  readonly limit: string;
  readonly body: unknown;
  readonly isBeyond: boolean;
}

let schemas: Schemas = {};
let paths: Readonly<Record<string, string>> = {};

beforeAll(async () => {
  const { text } = await send('app', { path: '/openapi.json', method: 'GET' });
  const document = JSON.parse(text) as {
    readonly components: { readonly schemas: Schemas };
    readonly paths: Readonly<Record<string, { readonly post?: { readonly operationId: string } }>>;
  };
  ({ schemas } = document.components);
  paths = Object.fromEntries(Object.entries(document.paths).map(([path, { post }]) => [post?.operationId ?? '', path]));
});

function placesIn(schema: Schema, path: readonly Step[] = []): readonly Place[] {
  const whole = resolved(schema, schemas);
  return [
    { path, schema: whole },
    ...(whole.oneOf ?? []).flatMap((one, variant) => placesIn(one, [...path, { variant }])),
    ...Object.entries(whole.properties ?? {}).flatMap(([name, member]) => placesIn(member, [...path, name])),
    ...(whole.items === undefined ? [] : placesIn(whole.items, [...path, 0])),
  ];
}

const pointerOf = (path: readonly Step[]): string => path.flatMap((step) => (typeof step === 'object' ? [] : [`/${step}`])).join('');

/** A request that has this value at this place, and whatever else its schema requires. */
function withValue(schema: Schema, [step, ...rest]: readonly Step[], value: unknown): unknown {
  const whole = resolved(schema, schemas);
  if (step === undefined) return value;
  if (step === 0) return [withValue(whole.items ?? {}, rest, value)];
  if (typeof step === 'object') return withValue(whole.oneOf?.[step.variant] ?? {}, rest, value);
  return { ...(sample(whole) as object), [step]: withValue(whole.properties?.[step] ?? {}, rest, value) };
}

const certificate = readFileSync(root, 'utf8');
/** Values whose form the schema does not tell in full. */
const samples: Readonly<Record<string, unknown>> = {
  signerCertificate: certificate,
  certificateChain: [certificate],
  XP7Format: 'PXP_7',
  signaturePolicy: 'EXPLICIT',
  identifier: '2.5.4.13',
  identifierType: 'OID',
  emailAddress: 'a@example.org',
  RFC822Name: 'a@example.org',
  phoneNumber: '+33612345678',
  fontColor: '000000',
  countryCode: 'FR',
  URL: 'https://example.org',
  namespaceURI: 'urn:example',
  any: {},
  hashAlgo: '2.16.840.1.101.3.4.2.1',
  hashAlgorithmOID: '2.16.840.1.101.3.4.2.1',
  signAlgo: '1.2.840.113549.1.1.11',
};

function sample(schema: Schema, name = ''): unknown {
  if (samples[name] !== undefined) return samples[name];
  const {
    type,
    oneOf,
    enum: values,
    const: only,
    required = [],
    properties = {},
    items,
    minItems,
    minLength,
    pattern,
    ...rest
  } = resolved(schema, schemas);
  if (oneOf !== undefined) return sample(oneOf[0] ?? {});
  if (values !== undefined) return values[0];
  if (only !== undefined) return only;
  switch (type ?? 'string') {
    case 'object':
      return Object.fromEntries(required.map((member) => [member, sample(properties[member] ?? {}, member)]));
    case 'array':
      return Array.from({ length: Number(minItems ?? 0) }, () => sample(items ?? {}));
    case 'integer':
      return Number(rest['minimum'] ?? 1);
    case 'boolean':
      return true;
    default:
      return rest['contentEncoding'] === 'base64' ? 'QUJD' : textSample(typeof pattern === 'string' ? pattern : '', Number(minLength ?? 1));
  }
}

const forms: readonly (readonly [form: RegExp, text: string])[] = [
  [/^[0-9a-f]{40}$/, '0'.repeat(40)],
  [/./, '2.5.29.17'],
];

function textSample(pattern: string, minLength: number): string {
  if (pattern === '') return 'a'.repeat(minLength);
  return forms.map(([, text]) => text).find((text) => new RegExp(pattern, 'u').test(text)) ?? 'a';
}

const secret = (length: number): string => randomBytes(length).toString('hex').slice(0, length);

function mailbox(length: number): string {
  const left = length - 'a@.de'.length;
  return `a@${left % 2 === 0 ? 'bb' : 'b'}${'.c'.repeat(Math.floor((left - 1) / 2))}.de`;
}

/** Texts of a length, in the form that the field needs. */
const texts: Readonly<Record<string, (length: number) => string>> = {
  emailAddress: mailbox,
  RFC822Name: mailbox,
  identifier: (length) => (length < 3 ? 'a' : `1.2${'.1'.repeat((length - 3) / 2)}${length % 2 === 0 ? '1' : ''}`),
  mimeType: (length) => `a/${'b'.repeat(Math.max(0, length - 2))}`.slice(0, length),
  organizationIdentifier: (length) => `VATFR-${'a'.repeat(Math.max(0, length - 6))}`.slice(0, length),
  phoneNumber: (length) => `1${' '.repeat(Math.max(0, length - 3))}23`.slice(0, length),
  namespaceURI: (length) => `u:${'a'.repeat(Math.max(0, length - 2))}`.slice(0, length),
  password: secret,
  authToken: secret,
  transactionId: secret,
};

function edges({ path, schema }: Place): readonly (readonly [limit: string, at: unknown, beyond: unknown])[] {
  const name = path.findLast((step) => typeof step === 'string') ?? '';
  const base64 = schema['contentEncoding'] === 'base64';
  const text = texts[name] ?? ((length: number) => (base64 ? 'A' : 'a').repeat(length));
  const list = (length: number): unknown =>
    Array.from({ length }, () => sample(schema.items ?? {}, samples[name] === undefined ? '' : 'signerCertificate'));
  const map = (size: number): unknown => Object.fromEntries(Array.from({ length: size }, (_, index) => [`1.2.3.${index}`, 'BQA=']));
  const found: [string, unknown, unknown][] = [];
  const each = (keyword: string, edge: (value: number) => readonly [unknown, unknown]): void => {
    const value = schema[keyword];
    if (typeof value === 'number') found.push([`${keyword} ${value}`, ...edge(value)]);
  };
  each('minLength', (value) => [text(value), text(value - 1)]);
  each('maxLength', (value) => [text(value), text(value + (base64 ? 4 : 1))]);
  each('minItems', (value) => [list(value), list(value - 1)]);
  each('maxItems', (value) => [list(value), list(value + 1)]);
  each('maxProperties', (value) => [map(value), map(value + 1)]);
  each('minimum', (value) => [value, value - 1]);
  each('maximum', (value) => [value, value + 1]);
  each('exclusiveMinimum', (value) => [value + 1, value]);
  if (schema.enum !== undefined && path.length > 0) found.push(['enum', schema.enum.at(-1), 'NO_SUCH_VALUE']);
  if (schema['const'] !== undefined) found.push(['const', schema['const'], 'NO_SUCH_VALUE']);
  if (schema['pattern'] !== undefined) found.push(['pattern', sample(schema, name), '\u0001']);
  return found;
}

const formatOfProvider: Readonly<Record<string, string>> = {
  CXP7Parameters: 'CXP_7',
  DXXP7Parameters: 'DXXP_7',
  EXXP7Parameters: 'EXXP_7',
  PXP7Parameters: 'PXP_7',
  EGXXP7Parameters: 'EGXXP_7',
};

/** Returns the request with what lets the service judge the field, and nothing be made or sent. */
function prepared(operation: string, at: string, body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body;
  const request: Readonly<Record<string, unknown>> = { ...body };
  switch (operation) {
    case 'createCertificate': {
      if (at.startsWith('/signerData')) return request;
      // Two subjects, so that no key is created.
      const subjects = { JWT: { token: 'a' }, PKCS10: sample({ $ref: '#/components/schemas/PKCS10Request' }) };
      return { ...request, certificationRequestInfo: { ...subjects, ...(request['certificationRequestInfo'] as object) } };
    }
    case 'remotePreSign':
      return { signerCertificate: certificate, ...request };
    case 'sendOTP':
      // Only with SIGN does the list count, and must have an entry.
      return at === '/signerData/digest'
        ? { ...request, action: JSON.stringify(body).includes('"digest":[]') ? 'REVOKE' : 'SIGN' }
        : request;
    case 'sign': {
      const provider = /XP7Providers\/(\w+)/.exec(at)?.[1] ?? '';
      const zip = at.includes('/zip') ? '"zipDirectoryActivated":true,"signatureContainerType":"ZIP",' : '';
      const text = JSON.stringify(request)
        .replace('"XP7Format":"PXP_7"', `"XP7Format":"${formatOfProvider[provider] ?? 'PXP_7'}"`)
        .replace('"DXXP7Parameters":{', `"DXXP7Parameters":{${zip}`);
      return JSON.parse(text);
    }
    case 'cscV1CredentialsAuthorize':
    case 'cscV2CredentialsAuthorize':
      return at.startsWith('/hash') ? { ...request, numSignatures: 100 } : request;
    default:
      return request;
  }
}

function requestSchema(operation: string): Schema {
  return { $ref: `#/components/schemas/${operation.charAt(0).toUpperCase()}${operation.slice(1)}Request` };
}

/** The outcome of a request: code and message. */
async function outcome(operation: string, body: unknown): Promise<{ readonly code: string; readonly message: string }> {
  const headers = { 'Content-Type': 'application/json' };
  const { body: answer, status } = await send('app', { path: paths[operation] ?? '', headers }, JSON.stringify(body));
  const { majorCode, minorCode, message, resultMajor, resultMinor, resultMessage } = answer['result'] ?? {};
  return {
    code: status === 200 ? `${textOf(majorCode ?? resultMajor)}/${textOf(minorCode ?? resultMinor)}` : String(status),
    message: textOf(message ?? resultMessage),
  };
}

/**
 * Whether a method of the Cloud Signature Consortium refuses the form of a parameter. Its errors do not tell a wrong form from a wrong value,
 * but an unknown parameter is refused only if the form of all others is right.
 */
async function refusesForm({ operation, body }: Trial): Promise<boolean> {
  const described = async (request: unknown): Promise<string> => {
    const headers = { 'Content-Type': 'application/json' };
    const { body: answer, status } = await send('app', { path: paths[operation] ?? '', headers }, JSON.stringify(request));
    if (status === 200) return 'success';
    expect(status).toBeGreaterThanOrEqual(400);
    return textOf(answer['error_description']);
  };
  // The number of hashes or documents is a limit of the configuration, which is compared last.
  if (/Numbers of signatures is too high|parameter numSignatures/.test(await described(body))) return true;
  return !(await described({ ...(body as object), nonsense: 1 })).startsWith('Unknown parameter nonsense');
}

/** Values that the schema of a place does not forbid, although it could: very long and very short ones. */
function extremes({ schema }: Place): readonly unknown[] {
  const unlimited = (...keywords: readonly string[]): boolean => keywords.every((keyword) => schema[keyword] === undefined);
  switch (schema.type ?? 'any') {
    case 'string':
      if (!unlimited('enum', 'const', 'pattern', 'format')) return [];
      return [
        ...(unlimited('maxLength') ? [(schema['contentEncoding'] === 'base64' ? 'A' : 'a').repeat(6000)] : []),
        ...(unlimited('minLength') ? [''] : []),
      ];
    case 'array': {
      const list = Array.from({ length: 100 }, () => sample(schema.items ?? {}));
      return [...(unlimited('maxItems') ? [list] : []), ...(unlimited('minItems') ? [[]] : [])];
    }
    case 'integer':
      return [
        ...(unlimited('maximum') ? [Number.MAX_SAFE_INTEGER] : []),
        ...(unlimited('minimum', 'exclusiveMinimum') ? [Number.MIN_SAFE_INTEGER] : []),
      ];
    default:
      return [];
  }
}

/** The form is wrong, and not the length. */
const isOfForm = /: not (?:a certificate|a valid XPath|the object identifier)/;

function untried(operation: string, at: string): boolean {
  // These are those of sign.
  if (operation === 'remotePreSign') return /^\/(?:parameters|inputDocuments)\//.test(at);
  // No session has more digests than a request has documents, so a longer list has unknown ones: 1/103, once the session is known.
  return at === '/signatureValues/signatureValueMapping';
}

function trialsOf(operation: string): readonly Trial[] {
  const schema = requestSchema(operation);
  return placesIn(schema).flatMap((place): readonly Trial[] => {
    const at = pointerOf(place.path);
    if (untried(operation, at)) return [];
    const trial = (limit: string, value: unknown, isBeyond: boolean): Trial => ({
      ...{ operation, at, limit, isBeyond },
      body: prepared(operation, at, withValue(schema, place.path, value)),
    });
    return [
      ...edges(place).flatMap(([limit, within, beyond]) => [trial(limit, within, false), trial(limit, beyond, true)]),
      ...extremes(place).map((value) => trial(`no limit: ${JSON.stringify(value).slice(0, 20)}`, value, false)),
    ];
  });
}

const names = operations.map((operation) => operationName(operation));

it.each(names)('%s has the limits of /openapi.json', async (operation) => {
  const trials = trialsOf(operation);
  const wrong: string[] = [];
  for (const trial of trials) {
    const { at, limit, body, isBeyond } = trial;
    if (operation.startsWith('csc')) {
      if ((await refusesForm(trial)) !== isBeyond) wrong.push(`${at} ${limit}, ${isBeyond ? 'beyond' : 'within'}`);
      continue;
    }
    const { code, message } = await outcome(operation, body);
    const refused = (code === '1/102' || code === '1/101') && message.startsWith(`${at}: `) && (isBeyond || !isOfForm.test(message));
    if (refused !== isBeyond) wrong.push(`${at} ${limit}, ${isBeyond ? 'beyond' : 'within'}: ${code} ${message.slice(0, 200)}`);
  }
  expect(trials.length).toBeGreaterThan(0);
  expect(wrong).toEqual([]);
});
