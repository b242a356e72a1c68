import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import { Problem } from '../problem.ts';
import { beginAnswer } from '../send.ts';
import { nameHeaders } from './file-headers.ts';
import { fileRequest, type FileOptions } from './file-request.ts';

/** What is read and encrypted at a time. */
const pieceBytes = 128 * 1024;

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
          if (request.method === 'HEAD' || file.bytes === 0) {
            response.end();
            return;
          }
          await pipeline(handle.createReadStream({ highWaterMark: pieceBytes, start: 0, end: file.bytes - 1, autoClose: false }), response);
          transfers.sent(file.bytes);
        } catch (error) {
          // The client has gone, or the disk fails: what it got has not the length that was announced.
          if (!request.socket.destroyed)
            options.log.error('a file could not be sent whole', { reason: error instanceof Error ? error.message : String(error) });
          response.destroy();
        } finally {
          await handle.close();
        }
      },
    },
  );
}
