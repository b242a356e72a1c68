import type { Request, Response } from 'express';
import { Problem } from '../problem.ts';
import { beginAnswer, sendFile } from '../send.ts';
import { nameHeaders } from './file-headers.ts';
import { fileRequest, type FileOptions } from './file-request.ts';

/** `GET {ftm_root}/files/{fileID}`, and HEAD. */
export async function download(options: FileOptions, request: Request<{ fileID: string }>, response: Response): Promise<void> {
  await fileRequest(
    options,
    { request, response },
    {
      path: 'files/download',
      async run({ caller, audited, transfers }) {
        const opened = await transfers.openFile(caller.tenant, request.params.fileID);
        if (opened === undefined) throw new Problem(404, 'there is no such file');
        if (opened.file.sha256 !== null) audited.digests.push(`sha256:${opened.file.sha256}`);
        return opened;
      },
      async undo({ handle }) {
        await handle.close();
      },
      async answer({ handle, file }, { transfers }) {
        try {
          beginAnswer(response, { mediaType: file.media_type, bytes: file.bytes, headers: nameHeaders(file.file_name) });
          if (request.method === 'HEAD') {
            response.end();
            return;
          }
          await sendFile(response, handle, file.bytes);
          if (!response.destroyed) transfers.sent(file.bytes);
        } catch (error) {
          // What the client got has not the length that was announced, so it knows.
          options.log.error('a file could not be sent whole', { reason: error instanceof Error ? error.message : String(error) });
          response.destroy();
        } finally {
          await handle.close();
        }
      },
    },
  );
}
