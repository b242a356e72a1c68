import type { IncomingMessage } from 'node:http';
import type { LimitsConfig } from '../../config/limits-config.ts';
import type { WorkThreads } from '../../threads/work-threads.ts';
import { RequestQuota } from '../limits/request-quota.ts';
import { EarlyAnswers } from './early-answer.ts';
import { MalformedRequests } from '../limits/malformed.ts';
import { OperationPace } from '../limits/operation-pace.ts';
import { RefusalPace } from '../limits/refusal-pace.ts';

/** What stands between the connections and the operations: limits, and what is refused before it costs anything. */
export class Guard {
  limits: LimitsConfig;
  readonly threads: WorkThreads;
  readonly quota: RequestQuota;
  readonly pace: OperationPace;
  readonly malformed = new MalformedRequests();
  readonly early = new EarlyAnswers();
  readonly refusals = new RefusalPace();
  /** What tells the client of a request from others, whether it is registered or not. */
  readonly clientOf: (request: IncomingMessage) => string;

  constructor(limits: LimitsConfig, threads: WorkThreads, clientOf: (request: IncomingMessage) => string) {
    this.limits = limits;
    this.threads = threads;
    this.quota = new RequestQuota(limits);
    this.pace = new OperationPace(limits);
    this.clientOf = clientOf;
  }

  /** Goes by other limits from the next request on; those of connections stay as they were at the start. */
  use(limits: LimitsConfig): void {
    this.limits = limits;
    this.quota.use(limits);
    this.pace.use(limits);
  }
}
