import type { IncomingMessage } from 'node:http';
import type { Express } from 'express';
import type { Caller } from '../../clients/caller.ts';
import type { Operation } from '../../operations/operation.ts';
import { Problem, sendProblem } from '../problem.ts';
import { pageSender, send } from '../send.ts';
import { openApiDocument } from './openapi.ts';
import { documentationPage, type PageLimits } from './page.ts';
import { styleHash } from './style-sheet.ts';

export interface DocumentationOptions extends PageLimits {
  readonly operations: readonly Operation[];
  readonly signRoot: string;
  callerOf(request: IncomingMessage): Promise<Caller | undefined>;
}

/** `/openapi.json` and `/docs`, for registered clients (contract §1). */
export function mountDocumentation(app: Express, options: DocumentationOptions): void {
  const document = openApiDocument(options.operations, options.signRoot);
  const json = JSON.stringify(document);
  const page = documentationPage(document, options);
  const sendPage = pageSender(styleHash(page));
  for (const path of ['/openapi.json', '/docs']) {
    app
      .route(path)
      .get(async (request, response) => {
        if ((await options.callerOf(request)) === undefined) throw new Problem(403, 'this client certificate is not registered');
        if (path === '/docs') sendPage(response, page);
        else send(response, 200, 'application/json', json);
      })
      .all((_request, response) => {
        sendProblem(response, new Problem(405, 'this is read with GET', { headers: { Allow: 'GET, HEAD' } }));
      });
  }
}
