import type { IncomingMessage, ServerResponse } from 'node:http';
import { StoreUnavailable } from '../../state/store-unavailable.ts';
import type { Logger } from '../../telemetry/log.ts';
import { resultOf } from './answer.ts';
import { rest } from './early-answer.ts';
import { storeAway } from './ending-of.ts';
import type { RequestServices } from './request-services.ts';
import { Problem, sendProblem } from '../problem.ts';

/** Answers an error that was thrown before a request had a result. */
export function answerError(
  error: unknown,
  { guard, log, metrics }: Pick<RequestServices, 'guard' | 'log' | 'metrics'>,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const path = request.url?.split('?', 1)[0] ?? '';
  if (response.headersSent) {
    resultOf(error, path, log);
    // The client must not mistake a truncated answer for a complete one.
    response.destroy();
    return;
  }
  const problem = problemOf(error, path, log);
  metrics?.problem(problem.status);
  const headers = { ...guard.early.headers(request, response, problem) };
  if (problem === error) restAfter(request, response, headers, guard);
  sendProblem(response, new Problem(problem.status, problem.message, { members: problem.members, headers }));
}

function problemOf(error: unknown, path: string, log: Logger): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof StoreUnavailable) return storeAway(error, path, log);
  if (error instanceof URIError) return new Problem(400, 'the path is not percent-encoded UTF-8');
  return new Problem(500, resultOf(error, path, log).message);
}

/**
 * After an answer with Retry-After, the connection is left unread for a while, at most for that
 * time.
 */
function restAfter(
  request: IncomingMessage,
  response: ServerResponse,
  headers: Record<string, string>,
  { refusals }: RequestServices['guard'],
): void {
  const seconds = headers['Retry-After'];
  if (seconds === undefined || headers['Connection'] !== undefined) return;
  const restMs = refusals.restMs();
  headers['Retry-After'] = String(Math.max(Number(seconds), Math.ceil(restMs / 1000)));
  response.once('finish', () => {
    rest(request, restMs);
  });
}
