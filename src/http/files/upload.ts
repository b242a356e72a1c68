import type { Request, Response } from 'express';
import { bodyPieces } from '../body/body-pieces.ts';
import { send } from '../send.ts';
import { uploadHeaders, type UploadHeaders } from './file-headers.ts';
import { fileRequest, type FileOptions } from './file-request.ts';
import { filesPath } from './paths.ts';

/** `POST {ftm_root}/files`: 201 with the file's identifier and size, once it is whole on the disk. */
export async function upload(options: FileOptions, request: Request, response: Response): Promise<void> {
  const maxBytes = options.transfers?.config.fileMaxBytes ?? 0;
  let headers: UploadHeaders | undefined;
  await fileRequest(
    options,
    { request, response },
    {
      path: 'files/upload',
      check() {
        headers = uploadHeaders(request, maxBytes);
      },
      async run({ caller, audited, transfers }) {
        const { mediaType, fileName, announced } = headers ?? uploadHeaders(request, maxBytes);
        if (request.headers.expect !== undefined) response.writeContinue();
        const stored = await transfers.receive(bodyPieces(request, maxBytes), { tenant: caller.tenant, mediaType, fileName, announced });
        audited.digests.push(`sha256:${stored.sha256}`);
        return stored;
      },
      async undo({ fileID }, { caller, transfers }) {
        await transfers.remove(caller.tenant, fileID);
      },
      async answer({ fileID, fileSize }) {
        const location = { Location: `${options.ftmRoot}${filesPath}/${fileID}` };
        send(response, 201, 'application/json', JSON.stringify({ fileID, fileSize }), location);
        return Promise.resolve();
      },
    },
  );
}
