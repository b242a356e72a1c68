import type { IncomingMessage } from 'node:http';
import type { Express, Response } from 'express';
import type { Caller } from '../../clients/caller.ts';
import type { Operation } from '../../operations/operation.ts';
import { Problem, sendProblem } from '../problem.ts';
import { pageSender, send } from '../send.ts';
import { filePaths } from './file-paths.ts';
import { openApiDocument, operationPaths } from './openapi.ts';
import { documentationPage, type PageLimits } from './page.ts';
import { styleHash } from './style-sheet.ts';

export interface DocumentationOptions extends PageLimits {
  readonly operations: readonly Operation[];
  readonly signRoot: string;
  readonly ftmRoot: string;
  callerOf(request: IncomingMessage): Promise<Caller | undefined>;
}

/** `/openapi.json` and `/docs`, for registered clients (contract §1). The page has the limits that are valid now. */
export function mountDocumentation(app: Express, options: DocumentationOptions, current: () => DocumentationOptions): void {
  const paths = { operations: operationPaths(options.operations, options.signRoot), files: filePaths(options.ftmRoot) };
  const document = openApiDocument(paths.operations, paths.files);
  const json = JSON.stringify(document);
  const pageWith = (limits: PageLimits): { limits: PageLimits; send: (response: Response) => void } => {
    const page = documentationPage(document, paths, limits);
    const sendPage = pageSender(styleHash(page));
    return {
      limits,
      send: (response) => {
        sendPage(response, page);
      },
    };
  };
  let made = pageWith(options);
  for (const path of ['/openapi.json', '/docs']) {
    app
      .route(path)
      .get(async (request, response) => {
        const now = current();
        if ((await now.callerOf(request)) === undefined) throw new Problem(403, 'this client certificate is not registered');
        if (made.limits !== now) made = pageWith(now);
        if (path === '/docs') made.send(response);
        else send(response, 200, 'application/json', json);
      })
      .all((_request, response) => {
        sendProblem(response, new Problem(405, 'this is read with GET', { headers: { Allow: 'GET, HEAD' } }));
      });
  }
}
