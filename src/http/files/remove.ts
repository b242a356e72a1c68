import type { Request, Response } from 'express';
import { Problem } from '../problem.ts';
import { sendNothing } from '../send.ts';
import { fileRequest, type FileOptions } from './file-request.ts';

/** `DELETE {ftm_root}/files/{fileID}`: 204, and 404 from then on. */
export async function remove(options: FileOptions, request: Request<{ fileID: string }>, response: Response): Promise<void> {
  await fileRequest(
    options,
    { request, response },
    {
      path: 'files/delete',
      async run({ caller, transfers }) {
        if (!(await transfers.remove(caller.tenant, request.params.fileID))) throw new Problem(404, 'there is no such file');
      },
      async answer() {
        sendNothing(response);
        return Promise.resolve();
      },
    },
  );
}
