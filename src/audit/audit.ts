import { AuditedRequest, type Requester } from './audited-request.ts';

/** How a request ended: its result, or the status of an HTTP problem. */
export interface Outcome {
  readonly requestID?: string | undefined;
  readonly major?: number;
  readonly minor?: number;
  readonly status?: number;
}

/** What those who answer requests see of the audit log. */
export interface Audit {
  begin(requester: Requester): AuditedRequest;
  /** Runs the operation. @throws {Refusal} STORE_FULL, before anything is done, while nothing can be recorded. */
  carryOut<T>(request: AuditedRequest, work: () => Promise<T>): Promise<T>;
  /** Before the answer leaves: returns once the record is on the disk. @throws {Refusal} STORE_FULL */
  finish(request: AuditedRequest, outcome: Outcome): Promise<void>;
  /** A client that reaches no operation. `reason` is one of a few texts, never what the client sent. */
  refuseClient(reason: string, address: string | undefined): void;
}

/** With `audit.enabled: false`. */
export const noAudit: Audit = {
  begin: (requester) => new AuditedRequest('', requester),
  carryOut: async (_request, work) => work(),
  finish: async () => Promise.resolve(),
  refuseClient: () => undefined,
};
