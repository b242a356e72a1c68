import type { IncomingMessage } from 'node:http';
import type { Express, Response } from 'express';
import type { Caller } from '../../clients/caller.ts';
import type { Operation } from '../../operations/operation.ts';
import type { OperationRoots } from '../api/operation-path.ts';
import { Problem, sendProblem } from '../problem.ts';
import { pageSender, send } from '../send.ts';
import { filePaths } from './file-paths.ts';
import { openApiDocument, operationPaths } from './openapi.ts';
import { documentationPage, type PageLimits } from './page.ts';
import { styleHash } from './style-sheet.ts';

interface DocumentedPaths extends OperationRoots {
  readonly operations: readonly Operation[];
  readonly ftmRoot: string;
}

interface PageServices {
  readonly limits: PageLimits;
  readonly callerOf: (request: IncomingMessage) => Promise<Caller | undefined>;
}

/**
 * `/openapi.json` and `/docs`, for registered clients (contract §1). The page shows the limits in
 * force.
 */
export function mountDocumentation(app: Express, { operations, ftmRoot, ...roots }: DocumentedPaths, current: () => PageServices): void {
  const paths = { operations: operationPaths(operations, roots), files: filePaths(ftmRoot) };
  const document = openApiDocument(paths.operations, paths.files);
  const json = JSON.stringify(document);
  const senders = new WeakMap<PageLimits, (response: Response) => void>();
  const senderOf = (limits: PageLimits): ((response: Response) => void) => {
    const made = senders.get(limits);
    if (made !== undefined) return made;
    const page = documentationPage(document, paths, limits);
    const sendPage = pageSender(styleHash(page));
    const sender = (response: Response): void => {
      sendPage(response, page);
    };
    senders.set(limits, sender);
    return sender;
  };
  for (const path of ['/openapi.json', '/docs']) {
    app
      .route(path)
      .get(async (request, response) => {
        const { callerOf, limits } = current();
        if ((await callerOf(request)) === undefined) throw new Problem(403, 'this client certificate is not registered');
        if (path === '/docs') senderOf(limits)(response);
        else send(response, 200, 'application/json', json);
      })
      .all((_request, response) => {
        sendProblem(response, new Problem(405, 'only GET and HEAD are supported', { headers: { Allow: 'GET, HEAD' } }));
      });
  }
}
