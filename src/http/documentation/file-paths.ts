import { answerHeaders, problemResponses, type OpenApiResponse } from './problems.ts';
import { reference, type Schema } from './schema.ts';

/** An operation of the file transfer store as OpenAPI writes it. */
export interface FileOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly responses: Readonly<Record<string, OpenApiResponse>>;
  readonly [member: string]: unknown;
}

export type FilePaths = Readonly<Record<string, Readonly<Record<string, FileOperation>>>>;

/** A body of any bytes (OpenAPI 3.1, 4.8.14.2; the format is that of 3.0, which generators read). */
const bytes: Schema = { type: 'string', format: 'binary' };
const nameHeader = {
  description: 'the name of the file, percent-encoded UTF-8',
  schema: { type: 'string', pattern: "^(?:[A-Za-z0-9._~!$&()*+,;=:@'-]|%[0-9A-Fa-f]{2})+$" },
};
const fileID = { name: 'fileID', in: 'path', required: true, description: 'as the upload answered it', schema: { type: 'string' } };
const fileHeaders = {
  'Content-Length': { description: 'size of the file in bytes', required: true, schema: { type: 'integer' } },
  'Content-Disposition': { description: 'attachment, with the name of the file', required: true, schema: { type: 'string' } },
  'X-File-Name': nameHeader,
};
const needsRole = 'Needs the role `files`.';
const tags = ['files'];

/** Answer of an upload. */
export const storedFileSchema: Schema = {
  type: 'object',
  description: 'a file of the transfer store; as FTMData it is a document of requests',
  properties: {
    fileID: { type: 'string', description: 'names the file from now on, for its tenant' },
    fileSize: { type: 'integer', format: 'int64', description: 'size of the file in bytes' },
  },
  required: ['fileID', 'fileSize'],
};

/** The paths of the file transfer store (contract §1), below its prefix. */
export function filePaths(ftmRoot: string): FilePaths {
  return {
    [`${ftmRoot}/files`]: {
      post: {
        operationId: 'uploadFile',
        tags,
        summary: 'Uploads a file to the transfer store, for the documents of later requests.',
        description: `${needsRole} The body is the file itself, of any media type.`,
        parameters: [{ name: 'X-File-Name', in: 'header', required: false, ...nameHeader }],
        requestBody: {
          required: true,
          description: 'the bytes of the file. Any other media type may be sent, and is kept.',
          content: { 'application/octet-stream': { schema: bytes } },
        },
        responses: {
          201: {
            description: 'The file is stored, whole.',
            headers: answerHeaders({ Location: { description: 'path of the file', required: true, schema: { type: 'string' } } }),
            content: { 'application/json': { schema: reference('StoredFile') } },
          },
          ...problemResponses([404, 413, 415, 507]),
        },
      },
    },
    [`${ftmRoot}/files/{fileID}`]: {
      get: {
        operationId: 'downloadFile',
        tags,
        parameters: [fileID],
        summary: 'Downloads a file.',
        description: `${needsRole} The answer has the media type and the name that the file was uploaded with. A range is not supported: the whole file is sent.`,
        responses: {
          200: {
            description: 'The file.',
            headers: answerHeaders(fileHeaders),
            content: { 'application/octet-stream': { schema: bytes }, '*/*': {} },
          },
          ...problemResponses([404]),
        },
      },
      head: {
        operationId: 'describeFile',
        tags,
        parameters: [fileID],
        summary: 'Returns the size, the media type and the name of a file.',
        description: needsRole,
        responses: {
          200: { description: 'The headers of a download, without the file.', headers: answerHeaders(fileHeaders) },
          ...problemResponses([404]),
        },
      },
      delete: {
        operationId: 'deleteFile',
        tags,
        parameters: [fileID],
        summary: 'Deletes a file.',
        description: needsRole,
        responses: { 204: { description: 'From now on it is 404.', headers: answerHeaders() }, ...problemResponses([404]) },
      },
    },
  };
}
