import type { IncomingMessage } from 'node:http';
import type { LimitsConfig } from '../../config/limits-config.ts';
import type { WorkThreads } from '../../threads/work-threads.ts';
import { RequestQuota } from '../limits/request-quota.ts';
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

  /** @param tenants how many there are */
  constructor(limits: LimitsConfig, tenants: number, threads: WorkThreads, clientOf: (request: IncomingMessage) => string) {
    this.threads = threads;
    this.quota = new RequestQuota(limits, tenants);
    this.pace = new OperationPace(limits);
    this.clientOf = clientOf;
  }

  /**
   * Applies new limits from the next request on; the limits of connections stay as they were at the
   * start.
   */
  use(limits: LimitsConfig, tenants: number): void {
    this.quota.use(limits, tenants);
    this.pace.use(limits);
  }
}
