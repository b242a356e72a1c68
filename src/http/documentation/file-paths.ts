import type { Schema } from './schema.ts';

/** An operation of the file transfer store as OpenAPI writes it. */
export interface FileOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly responses: Readonly<Record<string, { readonly description: string; readonly [member: string]: unknown }>>;
  readonly [member: string]: unknown;
}

export type FilePaths = Readonly<Record<string, Readonly<Record<string, FileOperation>>>>;

const problem = (description: string): { description: string; content: object } => ({
  description,
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
});

const retryAfter = { 'Retry-After': { description: 'seconds', schema: { type: 'integer', minimum: 1 } } };
const common = {
  403: problem('The client certificate is not registered, or lacks the role `files`.'),
  405: {
    ...problem('The method is not supported.'),
    headers: { Allow: { description: 'the methods that the path takes', schema: { type: 'string' } } },
  },
  429: { ...problem('This client exceeds its limits.'), headers: retryAfter },
  503: { ...problem('The service is overloaded or shutting down.'), headers: retryAfter },
};
const notFound = problem('There is no such file for this tenant: never stored, deleted, or expired.');
/**
 * A body of any bytes. A download has no schema: its media type is what the uploader said, and need
 * not be true (OpenAPI 3.1, 4.8.14.2).
 */
const bytes: Schema = { type: 'string', format: 'binary' };
const nameHeader = { description: 'the name of the file, percent-encoded UTF-8', schema: { type: 'string' } };
const fileID = { name: 'fileID', in: 'path', required: true, description: 'as the upload answered it', schema: { type: 'string' } };
const fileHeaders = {
  'Content-Length': { description: 'bytes of the file', schema: { type: 'integer' } },
  'Content-Disposition': { description: 'attachment, with the name of the file', schema: { type: 'string' } },
  'X-File-Name': nameHeader,
};

/** The paths of the file transfer store (contract §1), below its prefix. */
export function filePaths(ftmRoot: string): FilePaths {
  const tags = ['files'];
  return {
    [`${ftmRoot}/files`]: {
      post: {
        operationId: 'uploadFile',
        tags,
        summary: 'Uploads a file to the transfer store, for the documents of later requests.',
        parameters: [{ name: 'X-File-Name', in: 'header', required: false, ...nameHeader }],
        requestBody: { required: true, content: { '*/*': { schema: bytes } } },
        responses: {
          201: {
            description: 'The file is stored, whole.',
            headers: { Location: { description: 'path of the file', schema: { type: 'string' } } },
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  properties: {
                    fileID: { type: 'string', description: 'names the file from now on, for its tenant' },
                    fileSize: { type: 'integer', description: 'bytes' },
                  },
                  required: ['fileID', 'fileSize'],
                },
              },
            },
          },
          400: problem('A header is malformed, or the body ended early.'),
          413: problem('The file is too large.'),
          415: problem('No media type, or a Content-Encoding.'),
          507: problem("The tenant's quota is reached, or the disk is full."),
          ...common,
        },
      },
    },
    [`${ftmRoot}/files/{fileID}`]: {
      get: {
        operationId: 'downloadFile',
        tags,
        parameters: [fileID],
        summary: 'Downloads a file with the media type and the name that it was uploaded with; HEAD answers the headers alone.',
        responses: {
          200: { description: 'The file.', headers: fileHeaders, content: { '*/*': {} } },
          404: notFound,
          ...common,
        },
      },
      delete: {
        operationId: 'deleteFile',
        tags,
        parameters: [fileID],
        summary: 'Deletes a file.',
        responses: { 204: { description: 'From now on it is 404.' }, 404: notFound, ...common },
      },
    },
  };
}
