import type { IncomingMessage, RequestListener } from 'node:http';
import express, { type NextFunction, type Request, type Response } from 'express';
import type { Operation } from '../../operations/operation.ts';
import { closestName } from '../../config/closest-name.ts';
import { asRequest } from '../../telemetry/current-request.ts';
import { mountDocumentation } from '../documentation/mount.ts';
import { fileRoutes } from '../files/file-routes.ts';
import { Problem, sendProblem, useErrorObject } from '../problem.ts';
import { answerError } from './answer-error.ts';
import { offeredOperations, operationPath, type OperationRoots } from './operation-path.ts';
import { OperationWork } from './operation-work.ts';
import { serve } from './pipeline.ts';
import { checkShape } from './request-shape.ts';
import type { RequestServices } from './request-services.ts';
import { limitTime } from './request-time.ts';
import { Routes, serveRoute, type Route } from './routes.ts';

/** What the API serves, and below which paths. A reload does not change it. */
export interface ApiPaths extends OperationRoots {
  readonly operations: readonly Operation[];
  readonly ftmRoot: string;
}

/**
 * The handler of the API's listener: one table of paths for operations and files, and Express for
 * the pages of the documentation. A request uses what `current` returns when it comes, whatever a
 * reload changes meanwhile.
 */
export function createApi({ operations: all, ...roots }: ApiPaths, current: () => RequestServices): RequestListener {
  const operations = offeredOperations(all, roots);
  const paths = { operations, ...roots };
  const { ftmRoot, cscRoot } = roots;
  const routes = new Routes({
    ...Object.fromEntries(operations.map((operation) => [operationPath(operation, paths), operationRoute(operation)])),
    ...fileRoutes(ftmRoot),
  });
  const pages = documentationPages(paths, current);
  return (request, response) => {
    const services = current();
    if (isBelow(request.url, cscRoot)) useErrorObject(response);
    const found = routes.find(request.url ?? '');
    services.guard.malformed.follow(request, response);
    limitTime(request, services, found?.route.uploadMethod === request.method);
    try {
      checkShape(request);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      services.metrics?.problem(error.status);
      sendProblem(response, error);
      return;
    }
    if (!readsBody(found?.route, request)) services.guard.early.discard(request, response);
    asRequest(request.headers, () => {
      if (found === undefined) {
        pages(request, response);
        return;
      }
      serveRoute(found, services, { request, response }).catch((error: unknown) => {
        answerError(error, services, request, response);
      });
    });
  };
}

function operationRoute(operation: Operation): Route {
  const { path, role, pace } = operation;
  const kind = { path, role, pace, usesToken: true };
  return {
    methods: {
      POST: async (services, exchange) => serve(kind, services, exchange, (admitted) => new OperationWork(operation, admitted)),
    },
    otherMethods: 'operations accept only POST',
  };
}

/** Only handlers of POST read a body; what comes with other requests means nothing (RFC 9110 §9.3.1). */
function readsBody(route: Route | undefined, { method }: IncomingMessage): boolean {
  return method === 'POST' && route?.methods['POST'] !== undefined;
}

function isBelow(url: string | undefined, root: string | undefined): boolean {
  return root !== undefined && url?.startsWith(`${root}/`) === true;
}

/** The paths that a client may have meant. */
function servedPaths({ operations, ftmRoot, ...roots }: ApiPaths): readonly string[] {
  return [...operations.map((operation) => operationPath(operation, roots)), `${ftmRoot}/files`, '/openapi.json', '/docs'];
}

/** What is at no path of the table: the documentation, or nothing. */
function documentationPages(paths: ApiPaths, current: () => RequestServices): RequestListener {
  const app = express();
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing').enable('strict routing');
  mountDocumentation(app, paths, () => {
    const { limits, callerOf } = current();
    const check = async (request: IncomingMessage): Promise<void> => {
      if ((await callerOf(request)) === undefined) throw new Problem(403, 'this client certificate is not registered');
    };
    return { limits, check };
  });
  const served = servedPaths(paths);
  app.use((request, response) => {
    if (isBelow(request.url, paths.cscRoot)) {
      current().metrics?.problem(501);
      sendProblem(response, new Problem(501, 'this method is not offered; info lists those that are'));
      return;
    }
    current().metrics?.problem(404);
    const meant = closestName(request.path.replace(/\/$/, ''), served);
    sendProblem(response, new Problem(404, `nothing is served at this path${meant === undefined ? '' : `; did you mean ${meant}?`}`));
  });
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    answerError(error, current(), request, response);
  });
  return app;
}
