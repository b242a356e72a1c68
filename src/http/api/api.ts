import type { IncomingMessage, RequestListener } from 'node:http';
import express, { type NextFunction, type Request, type Response } from 'express';
import type { Operation } from '../../operations/operation.ts';
import { closestName } from '../../config/closest-name.ts';
import { asRequest } from '../../telemetry/current-request.ts';
import { mountDocumentation } from '../documentation/mount.ts';
import { fileRoutes } from '../files/file-routes.ts';
import { Problem, sendProblem } from '../problem.ts';
import { answerError } from './answer-error.ts';
import { operationPath, type OperationRoots } from './operation-path.ts';
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
export function createApi(paths: ApiPaths, current: () => RequestServices): RequestListener {
  const { operations, ftmRoot } = paths;
  const routes = new Routes({
    ...Object.fromEntries(operations.map((operation) => [operationPath(operation, paths), operationRoute(operation)])),
    ...fileRoutes(ftmRoot),
  });
  const pages = documentationPages(paths, current);
  return (request, response) => {
    const services = current();
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
    current().metrics?.problem(404);
    const meant = closestName(request.path.replace(/\/$/, ''), served);
    sendProblem(response, new Problem(404, `nothing is served at this path${meant === undefined ? '' : `; did you mean ${meant}?`}`));
  });
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    answerError(error, current(), request, response);
  });
  return app;
}
