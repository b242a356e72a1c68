import { STATUS_CODES, type ServerResponse } from 'node:http';
import { cscAnswerOfStatus } from '../operations/csc/errors.ts';
import { send } from './send.ts';

/**
 * A problem at the level of HTTP (contract §2), rendered as application/problem+json (RFC 9457).
 */
export class Problem extends Error {
  readonly status: number;
  /** Further members, such as `position`. */
  readonly members: Readonly<Record<string, string | number>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, detail: string, extra: { members?: Record<string, string | number>; headers?: Record<string, string> } = {}) {
    super(detail);
    this.status = status;
    this.members = extra.members ?? {};
    this.headers = extra.headers ?? {};
  }
}

export function problemBody({ status, message, members }: Pick<Problem, 'status' | 'message' | 'members'>): string {
  return JSON.stringify({ type: 'about:blank', title: STATUS_CODES[status] ?? 'Error', status, detail: message, ...members });
}

/** Responses whose problems have the form of the Cloud Signature Consortium. */
const withErrorObject = new WeakSet<ServerResponse>();

/** From now on problems of this response have the form of the Cloud Signature Consortium. */
export function useErrorObject(response: ServerResponse): void {
  withErrorObject.add(response);
}

export function sendProblem(response: ServerResponse, problem: Problem): void {
  if (withErrorObject.has(response)) {
    const { status, error, error_description } = cscAnswerOfStatus(problem.status, problem.message);
    send(response, status, 'application/json', JSON.stringify({ error, error_description }), problem.headers);
    return;
  }
  send(response, problem.status, 'application/problem+json', problemBody(problem), problem.headers);
}
