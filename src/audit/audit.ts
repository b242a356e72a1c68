import type { Step } from '../state/step.ts';
import { AuditedRequest, type Requester } from './audited-request.ts';
import type { AdministrationEntry } from './record.ts';

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
  /**
   * Runs an operator's command and records it, also where it fails. A command that changes the state store puts `settlement` into the commit.
   * `said` is the entry with what became known of it. @throws {Refusal} STORE_FULL, before anything is done, while nothing can be recorded
   */
  administer<T>(entry: AdministrationEntry, work: AdministrationWork<T>): Promise<T>;
  /** Whether no record of the request is missing that a commit of it has promised. */
  isRecorded(request: string): boolean;
  /** What the token did for no request and no command: it gets a record of its own, soon. */
  useOutside(use: string): void;
  /** A client that reaches no operation. `reason` is one of a few texts, never what the client sent. */
  refuseClient(reason: string, address: string | undefined): void;
}

export type Administered<T> = { readonly value: T; readonly said?: Partial<AdministrationEntry> };
/** `settlement` makes the record of what a commit does, for the same commit. */
export type AdministrationWork<T> = (settlement: (said: Partial<AdministrationEntry>) => readonly Step[]) => Promise<Administered<T>>;

/** With `audit.enabled: false`. */
export const noAudit: Audit = {
  begin: (requester) => new AuditedRequest('', requester),
  carryOut: async (_request, work) => work(),
  finish: async () => Promise.resolve(),
  administer: async (_entry, work) => (await work(() => [])).value,
  isRecorded: () => true,
  useOutside: () => undefined,
  refuseClient: () => undefined,
};
