import type { Schema } from './schema.ts';
import { reference } from './schema.ts';

/** A response as OpenAPI writes it, or a reference to one. */
export interface OpenApiResponse {
  readonly description?: string;
  readonly headers?: object;
  readonly content?: Readonly<Record<string, { readonly schema?: Schema; readonly example?: object }>>;
  readonly $ref?: string;
}

const header = (name: string): object => ({ $ref: `#/components/headers/${name}` });

/** Headers of every answer, by component name. */
const everywhere = { 'X-API-Version': header('ApiVersion'), 'X-Request-Id': header('RequestId') };

/** Returns the headers of an answer: those of every answer, and others. */
export function answerHeaders(others: Readonly<Record<string, object>> = {}): object {
  return { ...others, ...everywhere };
}

/** Components of the document: headers. */
export const headers = {
  ApiVersion: { description: 'version of the interface', required: true, schema: { type: 'string', examples: ['1.0.0'] } },
  RequestId: {
    description: 'name of the request in the logs of the service; absent if the request could not be read',
    schema: { type: 'string' },
  },
  RetryAfter: { description: 'seconds to wait', required: true, schema: { type: 'integer', minimum: 1 } },
  Allow: { description: 'the methods of the path', required: true, schema: { type: 'string' } },
};

/** Component name and meaning of each status whose answer is a problem document (contract §2). */
export const problems = {
  400: ['BadRequest', 'The body is not one JSON object that every parser reads alike, or a header is malformed.'],
  403: ['Forbidden', 'The client certificate is not registered, or lacks the role.'],
  404: [
    'NotFound',
    'There is no such file for this tenant: it was never stored, was deleted, or has expired. Or the service has no store.',
  ],
  405: ['MethodNotAllowed', 'The path does not have this method.'],
  408: ['RequestTimeout', 'The request came too slowly.'],
  413: ['ContentTooLarge', 'The body is too large, or has too many values.'],
  415: [
    'UnsupportedMediaType',
    'The media type is not application/json, the charset is not utf-8, or there is a Content-Encoding. Of an upload: the media type is malformed, or there is a Content-Encoding.',
  ],
  417: ['ExpectationFailed', 'The `Expect` header is not 100-continue.'],
  422: ['IdempotencyKeyReused', 'The `Idempotency-Key` was used with another body.'],
  429: [
    'TooManyRequests',
    'This client exceeds its limits, or it or its tenant has sent too many wrong secrets. Nothing was done; try again after `Retry-After` seconds.',
  ],
  431: ['RequestHeadTooLarge', 'The request line and the headers are larger than 16 KiB.'],
  500: ['InternalError', 'An internal error; the log of the service has the reason.'],
  503: [
    'ServiceUnavailable',
    'The service is overloaded, starting or shutting down, its state store is away, or its audit records cannot be handed over. Try again after `Retry-After` seconds.',
  ],
  507: ['InsufficientStorage', "The tenant's quota is reached, or the disk is full."],
} as const satisfies Record<number, readonly [name: string, description: string]>;

export type ProblemStatus = keyof typeof problems;

/** The statuses with their meaning, for the page. */
export const problemStatuses: readonly (readonly [status: string, text: string])[] = Object.entries(problems).map(([status, [, text]]) => [
  status,
  text,
]);

/** Statuses that any request can get, whatever its path. */
export const anyRequest = [400, 403, 405, 408, 417, 429, 431, 500, 503] as const;

/** Returns references to the problems of an operation: those of any request, and others. */
export function problemResponses(others: readonly ProblemStatus[]): Readonly<Record<string, OpenApiResponse>> {
  const statuses = [...anyRequest, ...others].toSorted((one, other) => one - other);
  return Object.fromEntries(statuses.map((status) => [String(status), { $ref: `#/components/responses/${problems[status][0]}` }]));
}

/** Components of the document: the problems. */
export const responses: Readonly<Record<string, OpenApiResponse>> = Object.fromEntries(
  Object.entries(problems).map(([status, [name, description]]) => [
    name,
    {
      description,
      headers: answerHeaders(headersOf(status)),
      content: { 'application/problem+json': { schema: reference('Problem') } },
    },
  ]),
);

export function headersOf(status: string): Readonly<Record<string, object>> {
  if (status === '405') return { Allow: header('Allow') };
  return status === '429' || status === '503' ? { 'Retry-After': header('RetryAfter') } : {};
}

const withCode =
  '2/206 with status 429, too many wrong secrets; 2/243 with status 503, audit records cannot be handed over; of a request for a file, that of an operation';

export const problemSchema: Schema = {
  type: 'object',
  description: 'a problem at the level of HTTP (RFC 9457)',
  properties: {
    type: { type: 'string', description: 'about:blank: the status says what kind of problem it is' },
    title: { type: 'string', description: 'the status in words' },
    status: { type: 'integer', description: 'the HTTP status' },
    detail: { type: 'string', description: 'what was wrong' },
    position: { type: 'integer', format: 'int64', description: 'byte offset in the body, where that is known' },
    resultMajor: { type: 'integer', description: `the result code, if the problem has one: ${withCode}` },
    resultMinor: { type: 'integer', description: 'as resultMajor' },
    code: { type: 'string', description: 'with 2/206: the same code, as `2/206`' },
  },
  required: ['type', 'title', 'status', 'detail'],
};
