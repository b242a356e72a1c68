import { z } from 'zod';
import { requestJsonSchema } from '../../fields/long-values.ts';
import type { Operation } from '../../operations/operation.ts';
import { offeredOperations, operationPath, type OperationRoots } from '../api/operation-path.ts';
import { apiVersion } from '../send.ts';
import { Components, open, type DocumentedLimits } from './components.ts';
import { filePaths, storedFileSchema, type FilePaths } from './file-paths.ts';
import { cscErrorReferences, cscErrorSchema, cscErrors } from './csc-errors.ts';
import { answerHeaders, headers, problemResponses, problemSchema, responses, type OpenApiResponse } from './problems.ts';
import { resultReference, resultSchemas } from './results.ts';
import type { Schema, Schemas } from './schema.ts';

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
  readonly components: { readonly schemas: Schemas; readonly [member: string]: unknown };
  readonly [member: string]: unknown;
}

/** What the document describes. */
export interface DocumentedPaths extends OperationRoots {
  readonly operations: readonly Operation[];
  readonly ftmRoot: string;
}

/** The document, and its paths by kind. */
export interface Documentation {
  readonly document: OpenApiDocument;
  readonly operations: OperationPaths;
  readonly files: FilePaths;
}

/** Describes the interface as OpenAPI 3.1, with the limits in force. */
export function describeInterface({ operations: all, ftmRoot, ...roots }: DocumentedPaths, limits: DocumentedLimits): Documentation {
  const operations = offeredOperations(all, roots);
  const components = new Components(limits);
  const requests = operations.map((operation) => requestOf(operation, components));
  const closed = new Set(Object.keys(components.schemas));
  const paths = Object.fromEntries(
    operations.map((operation, index) => {
      const post = operationObject(operation, requests[index] ?? {}, answerOf(operation, components));
      return [operationPath(operation, roots), { post }];
    }),
  );
  const hasCsc = operations.some(isCsc);
  const schemas = {
    ...{ ...resultSchemas, Problem: problemSchema, StoredFile: storedFileSchema },
    ...(hasCsc ? { CscError: cscErrorSchema } : {}),
    ...opened(components.schemas, closed),
  };
  const files = filePaths(ftmRoot);
  return { document: documentOf({ ...paths, ...files }, inOrder(schemas), hasCsc), operations: paths, files };
}

/** Answers get further members in later versions, so only the objects of requests are closed. */
function opened(schemas: Schemas, closed: ReadonlySet<string>): Schemas {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, closed.has(name) ? schema : open(schema)]));
}

function inOrder(schemas: Schemas): Schemas {
  return Object.fromEntries(Object.entries(schemas).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

function documentOf(paths: OpenApiDocument['paths'], schemas: Schemas, hasCsc: boolean): OpenApiDocument {
  return {
    openapi: '3.1.0',
    info: {
      title: 'signetd',
      version: apiVersion,
      description:
        'Keys, certificates and signatures whose private keys stay on a PKCS#11 token. A business outcome, a failure included, is HTTP 200 with a result object.' +
        (hasCsc ? ' The methods of the Cloud Signature Consortium answer as their standard has it.' : '') +
        ' Later versions may add members to answers: ignore those that you do not know.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ clientCertificate: [] }],
    tags: [
      { name: 'signature', description: 'Signatures' },
      { name: 'pki', description: 'Keys and certificates' },
      { name: 'creator', description: '2D-Doc codes' },
      { name: 'files', description: 'The file transfer store' },
      ...(hasCsc ? [{ name: 'csc', description: 'The API of the Cloud Signature Consortium' }] : []),
    ],
    paths,
    components: {
      securitySchemes: { clientCertificate: { type: 'mutualTLS', description: 'a registered client certificate' } },
      schemas,
      responses: hasCsc ? { ...responses, ...cscErrors } : responses,
      headers,
    },
  };
}

/** Returns the part of a component name that an operation's request and answer share. */
function componentName(operation: Pick<Operation, 'path'>): string {
  const name = operationName(operation);
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** The name of an operation: that in the interface; of a method with versions, all parts of its path. */
export function operationName({ path }: Pick<Operation, 'path'>): string {
  const [group, ...parts] = path.split('/');
  if (group !== 'csc') return parts.join('/');
  return `csc${parts.map((part) => part.charAt(0).toUpperCase() + part.slice(1)).join('')}`;
}

function requestOf(operation: Operation, components: Components): Schema {
  const schema = components.take(requestJsonSchema(operation.request) as Schema);
  return components.add(`${componentName(operation)}Request`, { description: `request of ${operation.path}`, ...schema });
}

function answerOf(operation: Operation, components: Components): Schema {
  const { properties, required } = components.take(z.toJSONSchema(operation.answer) as Schema);
  if (operation.spelling === 'csc without answer') return {};
  if (operation.spelling === 'csc') {
    return components.add(`${componentName(operation)}Response`, {
      ...{ type: 'object', description: `answer of ${operation.path}`, properties: properties ?? {} },
      ...(required === undefined ? {} : { required }),
    });
  }
  return components.add(`${componentName(operation)}Response`, {
    type: 'object',
    description: `answer of ${operation.path}`,
    properties: {
      result: resultReference(operation.spelling),
      requestID: { type: 'string', description: 'that of the request' },
      ...properties,
    },
    required: ['result', ...Object.keys(operation.failure ?? {})],
  });
}

function operationObject(operation: Operation, request: Schema, answer: Schema): OpenApiOperation {
  const [tag = ''] = operation.path.split('/');
  return {
    operationId: operationName(operation),
    tags: [tag],
    summary: operation.summary,
    description: descriptionOf(operation),
    ...(operation.takesIdempotencyKey ? { parameters: [idempotencyKey] } : {}),
    requestBody: { required: true, content: { 'application/json': { schema: request, example: operation.example } } },
    responses: isCsc(operation)
      ? cscResponses(operation, answer)
      : {
          '200': {
            description: `The outcome. Members beside \`result\` and \`requestID\` are there after a success.${othersOf(operation)}`,
            headers: answerHeaders(),
            content: { 'application/json': { schema: answer } },
          },
          ...problemResponses(operation.takesIdempotencyKey ? [413, 415, 422] : [413, 415]),
        },
  };
}

/** Whether an operation answers in the form of the Cloud Signature Consortium. */
function isCsc({ spelling }: Operation): boolean {
  return spelling === 'csc' || spelling === 'csc without answer';
}

function cscResponses({ spelling }: Operation, answer: Schema): OpenApiOperation['responses'] {
  const success =
    spelling === 'csc without answer'
      ? { '204': { description: 'A success is 204, without a body.', headers: answerHeaders() } }
      : {
          '200': {
            description: 'A success has these members.',
            headers: answerHeaders(),
            content: { 'application/json': { schema: answer } },
          },
        };
  return { ...success, ...cscErrorReferences };
}

function descriptionOf({ role, takesIdempotencyKey, pace, details }: Operation): string {
  return [
    `Needs the role \`${role}\`.`,
    ...(takesIdempotencyKey ? ['Takes an `Idempotency-Key`.'] : []),
    ...(pace === undefined ? [] : ['Each client has a number of these requests a minute.']),
    ...(details === undefined ? [] : [details]),
  ].join(' ');
}

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'The same for a request that is sent again: it is carried out once.',
  schema: { type: 'string', minLength: 8, maxLength: 128, pattern: '^[\\x21-\\x7e]+$' },
};

/** Describes the members of a failure. */
function othersOf({ failure }: Operation): string {
  if (failure === undefined) return '';
  return ` After a failure, ${Object.entries(failure)
    .map(([name, value]) => `\`${name}\` is ${String(value)}`)
    .join(' and ')}.`;
}
