import type { IncomingMessage } from 'node:http';
import type { Audit } from '../../audit/audit.ts';
import type { AuditDetails } from '../../audit/audited-request.ts';
import type { Admission } from '../../clients/admission.ts';
import type { Caller, Role } from '../../clients/caller.ts';
import type { LimitsConfig } from '../../config/limits-config.ts';
import type { Publications } from '../../documents/publications.ts';
import type { TransferStore } from '../../documents/transfer/transfer-store.ts';
import type { KeptAnswers } from '../../idempotency/kept-answers.ts';
import type { Context } from '../../operations/operation.ts';
import type { Draining } from '../../service/draining.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Sender } from '../../telemetry/current-request.ts';
import type { RequestMetrics } from '../../telemetry/http-metrics.ts';
import type { Guard } from './guard.ts';

/**
 * All that a request uses, under one configuration. It never changes: a reload replaces the whole
 * object, and a request keeps the one that it began with.
 */
export interface RequestServices {
  readonly limits: LimitsConfig;
  readonly guard: Guard;
  readonly log: Logger;
  readonly audit: Audit;
  readonly metrics?: RequestMetrics | undefined;
  readonly keptAnswers: Pick<KeptAnswers, 'once'>;
  readonly publications: Publications;
  /** The file transfer store, if there is one. */
  readonly transfers?: TransferStore | undefined;
  /** Refuses new work while the service is shutting down, and waits for work that has begun. */
  readonly draining: Pick<Draining, 'refusing' | 'during'>;
  /**
   * Seconds after which a retry makes sense, while the token could not serve a new request of this
   * sender in time.
   */
  readonly busySeconds: (sender: Sender | undefined) => number | undefined;
  /** As `callerOf`, unless the state store must be looked at: then undefined. */
  readonly callerAtOnce: (request: IncomingMessage) => Caller | undefined;
  /** Returns the registered client behind a connection. */
  readonly callerOf: (request: IncomingMessage) => Promise<Caller | undefined>;
  /**
   * Admits a request of a client. Revoking the client waits for the end of the admission; `cut`
   * ends its connection.
   */
  readonly admit: (caller: Caller, role: Role, cut: () => void) => Admission;
  /** Returns what an operation may use for a request of this caller. */
  readonly context: (caller: Caller, audit: AuditDetails, run: Pick<Context, 'deliveries' | 'notices'>) => Context;
}
