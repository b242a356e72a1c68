import type { Express, Request, RequestHandler, Response } from 'express';
import { Problem, sendProblem } from '../problem.ts';
import { download } from './download.ts';
import type { FileOptions } from './file-request.ts';
import { filesPath } from './paths.ts';
import { remove } from './remove.ts';
import { upload } from './upload.ts';

type Work = (options: FileOptions, request: Request<{ fileID: string }>, response: Response) => Promise<void>;

/** The paths of the file transfer store (contract §1). */
export function mountFiles(app: Express, { ftmRoot }: FileOptions, current: () => FileOptions): void {
  const serve =
    (work: Work): RequestHandler<{ fileID: string }> =>
    async (request, response) => {
      const options = current();
      if (options.transfers === undefined) throw new Problem(404, 'this service has no file transfer store');
      await work(options, request, response);
    };
  const others =
    (methods: string, allowed: string): RequestHandler =>
    (_request, response) => {
      sendProblem(response, new Problem(405, methods, { headers: { Allow: allowed } }));
    };
  app
    .route(`${ftmRoot}${filesPath}`)
    .post(serve(upload) as RequestHandler)
    .all(others('files are uploaded with POST', 'POST'));
  app
    .route(`${ftmRoot}${filesPath}/:fileID`)
    .get(serve(download))
    .delete(serve(remove))
    .all(others('a file takes GET, HEAD and DELETE', 'GET, HEAD, DELETE'));
}
