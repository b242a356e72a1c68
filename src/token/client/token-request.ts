import type { OperationName } from '../wire/frames.ts';
import type { Answer } from '../wire/frames.ts';

/** A request on its way: what is sent, and who waits. Times are milliseconds of the monotonic clock. */
export interface TokenRequest {
  readonly id: number;
  readonly operation: OperationName;
  readonly code: number;
  readonly body: Uint8Array;
  readonly queuedAtMs: number;
  readonly deadlineMs: number;
  /** May be sent again after the host died: everything but the creation of a key. */
  readonly repeatable: boolean;
  repeated: boolean;
  /** Keeps its thread busy for long (the generation of a key). */
  readonly slow: boolean;
  settle(answer: Answer): void;
  fail(error: Error): void;
}
