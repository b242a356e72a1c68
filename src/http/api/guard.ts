import type { IncomingMessage } from 'node:http';
import type { LimitsInForce } from '../../config/limits-in-force.ts';
import type { WorkThreads } from '../../threads/work-threads.ts';
import { RequestQuota, type QuotaSurroundings } from '../limits/request-quota.ts';
import { EarlyAnswers } from './early-answer.ts';
import { MalformedRequests } from '../limits/malformed.ts';
import { OperationPace } from '../limits/operation-pace.ts';
import { RefusalPace } from '../limits/refusal-pace.ts';

/**
 * Guards the operations against overload: quotas, paces, and refusals before a request costs
 * anything.
 */
export class Guard {
  readonly threads: WorkThreads;
  readonly quota: RequestQuota;
  readonly pace: OperationPace;
  readonly malformed = new MalformedRequests();
  readonly early = new EarlyAnswers();
  readonly refusals = new RefusalPace();
  /** Returns an identifier of the request's client, whether it is registered or not. */
  readonly clientOf: (request: IncomingMessage) => string;

  /** `limits`: returns those in force. */
  constructor(
    limits: () => LimitsInForce,
    threads: WorkThreads,
    clientOf: (request: IncomingMessage) => string,
    surroundings: QuotaSurroundings,
  ) {
    this.threads = threads;
    this.quota = new RequestQuota(limits, surroundings);
    this.pace = new OperationPace(limits, surroundings);
    this.clientOf = clientOf;
  }
}
