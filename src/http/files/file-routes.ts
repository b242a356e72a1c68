import type { TransferStore } from '../../documents/transfer/transfer-store.ts';
import { serve } from '../api/pipeline.ts';
import type { Handler, RouteTable } from '../api/routes.ts';
import { bodyPieces } from '../body/body-pieces.ts';
import { Problem } from '../problem.ts';
import { beginAnswer, send, sendFile, sendNothing } from '../send.ts';
import { nameHeaders, uploadHeaders, type UploadHeaders } from './file-headers.ts';
import { FileWork, type FileTask } from './file-work.ts';

type OpenedFile = NonNullable<Awaited<ReturnType<TransferStore['openDownload']>>>;
type StoredFile = Awaited<ReturnType<TransferStore['receive']>>;

/** The paths of the file transfer store (contract §1). */
export function fileRoutes(ftmRoot: string): RouteTable {
  const files = `${ftmRoot}/files`;
  const get = handler('files/download', download);
  return {
    [files]: {
      methods: { POST: handler('files/upload', (_fileID, transfers) => upload(files, transfers)) },
      otherMethods: 'files are uploaded with POST',
      uploadMethod: 'POST',
    },
    [`${files}/`]: {
      methods: { GET: get, HEAD: get, DELETE: handler('files/delete', remove) },
      otherMethods: 'a file accepts only GET, HEAD and DELETE',
    },
  };
}

function handler<T>(path: `files/${string}`, taskOf: (fileID: string, transfers: TransferStore) => FileTask<T>): Handler {
  const kind = { path, role: 'files', usesToken: false } as const;
  return async (services, exchange, fileID) => {
    const { transfers } = services;
    if (transfers === undefined) throw new Problem(404, 'this service has no file transfer store');
    await serve(kind, services, exchange, (admitted) => new FileWork(taskOf(fileID, transfers), admitted, transfers));
  };
}

/**
 * `POST {ftm_root}/files`: 201 with the file's identifier and size, once it is whole on the disk.
 */
function upload(files: string, { config: { fileMaxBytes } }: TransferStore): FileTask<StoredFile> {
  let headers: UploadHeaders | undefined;
  return {
    check({ request }) {
      headers = uploadHeaders(request, fileMaxBytes);
    },
    async run({ request, response, caller, audited, transfers }) {
      const { mediaType, fileName, announced } = headers ?? uploadHeaders(request, fileMaxBytes);
      if (request.headers.expect !== undefined) response.writeContinue();
      const stored = await transfers.receive(bodyPieces(request, fileMaxBytes), { tenant: caller.tenant, mediaType, fileName, announced });
      audited.digests.push(`sha256:${stored.sha256}`);
      return stored;
    },
    async undo({ fileID }, { caller, transfers }) {
      await transfers.remove(caller.tenant, fileID);
    },
    async answer({ fileID, fileSize }, { response }) {
      send(response, 201, 'application/json', JSON.stringify({ fileID, fileSize }), { Location: `${files}/${fileID}` });
      return Promise.resolve();
    },
  };
}

/** `GET {ftm_root}/files/{fileID}`, and HEAD. */
function download(fileID: string): FileTask<OpenedFile> {
  return {
    async run({ caller, audited, transfers }) {
      const opened = await transfers.openDownload(caller.tenant, fileID);
      if (opened === undefined) throw noSuchFile();
      if (opened.file.sha256 !== null) audited.digests.push(`sha256:${opened.file.sha256}`);
      return opened;
    },
    async undo({ reader }) {
      await reader.close();
    },
    async answer({ reader, file }, { request, response, services, transfers }) {
      try {
        beginAnswer(response, { mediaType: file.media_type, bytes: file.bytes, headers: nameHeaders(file.file_name) });
        if (request.method === 'HEAD') {
          response.end();
          return;
        }
        await sendFile(response, reader, file.bytes);
        if (!response.destroyed) transfers.sent(file.bytes);
      } catch (error) {
        // The client got fewer bytes than were announced, so it knows.
        services.log.error('a file could not be sent whole', { reason: error instanceof Error ? error.message : String(error) });
        response.destroy();
      } finally {
        await reader.close();
      }
    },
  };
}

/** `DELETE {ftm_root}/files/{fileID}`: 204, and 404 from then on. */
function remove(fileID: string): FileTask<void> {
  return {
    async run({ caller, transfers }) {
      if (!(await transfers.remove(caller.tenant, fileID))) throw noSuchFile();
    },
    async answer(_done, { response }) {
      sendNothing(response);
      return Promise.resolve();
    },
  };
}

function noSuchFile(): Problem {
  return new Problem(404, 'no such file');
}
