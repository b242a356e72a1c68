import type { Step } from '../state/step.ts';
import { AuditedRequest, type Requester } from './audited-request.ts';
import type { StateChange } from './effect.ts';
import type { RefusedSecret } from './counted-refusals.ts';
import type { AdministrationEntry, FilePlace } from './record.ts';
import type { RefusedClient } from './refused-clients.ts';
import type { ForwarderStatus } from './syslog/forwarder.ts';

/** Outcome of a request: its result, or the status of an HTTP problem. */
export interface Outcome {
  readonly requestID?: string | undefined;
  readonly major?: number;
  readonly minor?: number;
  readonly status?: number;
  /** The message that the caller received for a refusal, without what the caller chose. */
  readonly reason?: string | undefined;
}

/** State of the audit log, for the health checks and `signetctl status`. */
export interface AuditStatus {
  /** Whether the last record was written to disk. */
  readonly writable: boolean;
  /** Time for which the oldest pending record has been waiting for the disk. */
  readonly lagSeconds: number;
  /** Milliseconds since epoch. */
  readonly lastCheckpointAt: number | undefined;
  readonly recordsSinceCheckpoint: number;
  /** Time of the newest record, in milliseconds since the epoch; undefined if there is none. */
  readonly newestRecordAt: number | undefined;
  /** Copies to a syslog server; absent if none is configured. */
  readonly syslog?: ForwarderStatus | undefined;
}

/** The place of the checkpoint at which a backup can be made. */
export interface BackupPoint extends FilePlace {
  /**
   * Number of requests that were running at the checkpoint and had not ended after half a minute:
   * uses of keys for them may be in the account before their records are in the log.
   */
  readonly stillRunning: number;
}

/** The audit log as the code that answers requests uses it. */
export interface Audit {
  begin(requester: Requester): AuditedRequest;
  /** @throws {NotHandedOver} while a syslog server that is required does not take records */
  checkHandedOver(): void;
  /**
   * Runs the operation.
   * @throws {Refusal} STORE_FULL, before anything is done, while nothing can be recorded
   * @throws {NotHandedOver} as `checkHandedOver`
   */
  carryOut<T>(request: AuditedRequest, work: () => Promise<T>): Promise<T>;
  /**
   * Must be awaited before the answer is sent: returns once the record is on disk.
   * @throws {Refusal} STORE_FULL
   */
  finish(request: AuditedRequest, outcome: Outcome): Promise<void>;
  /**
   * Runs an operator's command and records it, even if it fails. A command that changes the state
   * store adds `settlement` to the commit. `said` adds details that the command learns.
   * @throws {Refusal} STORE_FULL, before anything is done, while nothing can be recorded
   * @throws {NotHandedOver} as `checkHandedOver`
   */
  administer<T>(entry: AdministrationEntry, work: AdministrationWork<T>): Promise<T>;
  /** Whether every commit of the request has its record in the log. */
  isRecorded(request: string): boolean;
  /**
   * Records a use of the token outside of any request or command, in a separate record soon after.
   */
  useOutside(use: string): void;
  /**
   * Records a client that was refused before any operation. `reason` is one of a few fixed texts,
   * never what the client sent. `client`: if it is registered.
   */
  refuseClient(reason: string, address: string | undefined, client?: RefusedClient): void;
  /** Records that a secret was not compared, since too many wrong ones had come before. */
  refuseSecret(refused: RefusedSecret): void;
}

export type Administered<T> = { readonly value: T; readonly said?: Partial<AdministrationEntry> };
/**
 * Makes the record of a commit's effect, to be part of the same commit. `change`: what to apply
 * again to an older state store.
 */
type AdministrationSettlement = (said: Partial<AdministrationEntry>, change?: StateChange) => readonly Step[];
export type AdministrationWork<T> = (settlement: AdministrationSettlement) => Promise<Administered<T>>;

/** Used with `audit.enabled: false`. */
export const noAudit: Audit = {
  begin: (requester) => new AuditedRequest('', requester),
  checkHandedOver: () => undefined,
  carryOut: async (_request, work) => work(),
  finish: async () => Promise.resolve(),
  administer: async (_entry, work) => (await work(() => [])).value,
  isRecorded: () => true,
  useOutside: () => undefined,
  refuseClient: () => undefined,
  refuseSecret: () => undefined,
};
