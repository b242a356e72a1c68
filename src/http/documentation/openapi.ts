import { z } from 'zod';
import { requestJsonSchema } from '../../fields/long-values.ts';
import type { Operation, ResultSpelling } from '../../operations/operation.ts';
import { resultCodes } from '../../result-codes.ts';
import { operationPath, type OperationRoots } from '../api/operation-path.ts';
import { apiVersion } from '../send.ts';
import type { FilePaths } from './file-paths.ts';
import type { Schema } from './schema.ts';

export interface OpenApiResponse {
  readonly description: string;
  readonly headers?: object;
  readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
}

/** One operation as OpenAPI writes it. */
export interface OpenApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly requestBody: {
    readonly required: true;
    readonly content: { readonly 'application/json': { readonly schema: Schema; readonly example: object } };
  };
  readonly responses: Readonly<Record<string, OpenApiResponse>>;
  readonly [member: string]: unknown;
}

export type OperationPaths = Readonly<Record<string, { readonly post: OpenApiOperation }>>;

export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: { readonly title: string; readonly version: string; readonly description: string; readonly license: object };
  readonly paths: Readonly<Record<string, object>>;
  readonly [member: string]: unknown;
}

const problemMediaType = 'application/problem+json';

/** Statuses other than 200, and when they are answered (contract §2). */
export const problemStatuses = {
  400: 'The body is not one JSON object that every parser reads alike, or a header is malformed.',
  403: 'The client certificate is not registered, or lacks the role.',
  405: 'The method is not POST.',
  413: 'The body is too large.',
  415: 'The media type is not application/json, the charset is not utf-8, or there is a Content-Encoding.',
  422: 'The Idempotency-Key was used with another body.',
  429: 'This client exceeds its limits.',
  503: 'The service is overloaded or shutting down. Nothing was done; try again after Retry-After seconds.',
} as const;

/** The operations, below their path prefixes. */
export function operationPaths(operations: readonly Operation[], roots: OperationRoots): OperationPaths {
  return Object.fromEntries(operations.map((operation) => [operationPath(operation, roots), { post: operationObject(operation) }]));
}

/** The OpenAPI 3.1 document of all paths. */
export function openApiDocument(operations: OperationPaths, files: FilePaths): OpenApiDocument {
  return {
    openapi: '3.1.0',
    info: {
      title: 'signetd',
      version: apiVersion,
      description:
        'Keys, certificates and signatures whose private keys stay on a PKCS#11 token. A business outcome, a failure included, is HTTP 200 with a result object.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ clientCertificate: [] }],
    tags: [
      { name: 'signature', description: 'Signatures' },
      { name: 'pki', description: 'Keys and certificates' },
      { name: 'creator', description: '2D-Doc codes' },
      { name: 'files', description: 'The file transfer store' },
    ],
    paths: { ...operations, ...files },
    components: {
      securitySchemes: { clientCertificate: { type: 'mutualTLS', description: 'a registered client certificate' } },
      schemas: { Problem: problemSchema, resultMajor: resultSchema('resultMajor'), majorCode: resultSchema('majorCode') },
    },
  };
}

function operationObject(operation: Operation): OpenApiOperation {
  const [tag = '', name = ''] = operation.path.split('/');
  const request = requestJsonSchema(operation.request) as Schema;
  const statuses = Object.entries(problemStatuses).filter(([status]) => status !== '422' || operation.takesIdempotencyKey);
  const problems = statuses.map(([status, description]): [string, OpenApiResponse] => {
    const content = { [problemMediaType]: { schema: { $ref: '#/components/schemas/Problem' } } };
    return [status, { description, ...headersOf(status), content }];
  });
  return {
    operationId: name,
    tags: [tag],
    summary: operation.summary,
    description: `Needs the role \`${operation.role}\`.${operation.takesIdempotencyKey ? ' Takes an `Idempotency-Key`.' : ''}${operation.pace === undefined ? '' : ' Each client has a number of these requests a minute.'}${operation.details === undefined ? '' : ` ${operation.details}`}`,
    ...(operation.takesIdempotencyKey ? { parameters: [idempotencyKey] } : {}),
    requestBody: { required: true, content: { 'application/json': { schema: withoutDialect(request), example: operation.example } } },
    responses: {
      '200': {
        description: `The outcome. Members beside \`result\` and \`requestID\` are there after a success; ${othersOf(operation)}`,
        content: { 'application/json': { schema: answerSchema(operation) } },
      },
      ...Object.fromEntries(problems),
    },
  };
}

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'The same for a request that is sent again: it is carried out once.',
  schema: { type: 'string', minLength: 8, maxLength: 128, pattern: '^[\\x21-\\x7e]+$' },
};

function headersOf(status: string): object {
  if (status === '405') return { headers: { Allow: { description: 'the methods that the path takes', schema: { type: 'string' } } } };
  if (status !== '429' && status !== '503') return {};
  return { headers: { 'Retry-After': { description: 'seconds', schema: { type: 'integer', minimum: 1 } } } };
}

function answerSchema(operation: Operation): Schema {
  const answer = z.toJSONSchema(operation.answer) as Schema;
  return {
    type: 'object',
    properties: {
      result: { $ref: `#/components/schemas/${operation.spelling}` },
      requestID: { type: 'string', description: 'that of the request' },
      ...answer.properties,
    },
    required: ['result', ...Object.keys(operation.failure ?? {})],
    additionalProperties: false,
  };
}

/** Describes the members of a failure. */
function othersOf({ failure }: Operation): string {
  if (failure === undefined) return '`senderResponses` after 2/251, too.';
  return `after a failure, ${Object.entries(failure)
    .map(([name, value]) => `\`${name}\` is ${String(value)}`)
    .join(' and ')}.`;
}

function resultSchema(spelling: ResultSpelling): Schema {
  const [major, minor, message] =
    spelling === 'resultMajor'
      ? (['resultMajor', 'resultMinor', 'resultMessage'] as const)
      : (['majorCode', 'minorCode', 'message'] as const);
  const minors = Object.values(resultCodes).map((code) => code.minor);
  return {
    type: 'object',
    description: 'The outcome (interface, Result object).',
    properties: {
      [major]: { type: 'integer', enum: [0, 1, 2], description: '0 success; 1 the request is wrong; 2 it could not be carried out' },
      [minor]: { type: 'integer', enum: [0, ...minors], description: '0 with success; else which failure it is' },
      [message]: {
        type: 'string',
        description:
          '`success`, or what the caller must know of it, such as a level that was not reached; of a wrong field: its JSON Pointer first',
      },
    },
    required: [major, minor, message],
    additionalProperties: false,
  };
}

const problemSchema: Schema = {
  type: 'object',
  description: 'RFC 9457',
  properties: {
    type: { type: 'string', description: 'about:blank: the status says what kind of problem it is' },
    title: { type: 'string', description: 'the status in words' },
    status: { type: 'integer', description: 'the HTTP status' },
    detail: { type: 'string', description: 'what was wrong' },
    position: { type: 'integer', description: 'byte offset in the body, where that is known' },
  },
  required: ['type', 'title', 'status', 'detail'],
};

function withoutDialect({ $schema: _dialect, ...schema }: Schema): Schema {
  return schema;
}
