import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Audit } from '../../audit/audit.ts';
import type { AuditedRequest } from '../../audit/audited-request.ts';
import type { Admission } from '../../clients/admission.ts';
import type { Caller, Role } from '../../clients/caller.ts';
import type { TransferStore } from '../../documents/transfer/transfer-store.ts';
import { resultCodes } from '../../result-codes.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { RequestMetrics } from '../../telemetry/http-metrics.ts';
import { admitted } from '../api/admitted.ts';
import { success } from '../api/answer.ts';
import { endingOf } from '../api/ending-of.ts';
import type { Guard } from '../api/guard.ts';
import { Problem } from '../problem.ts';
import { checkServing, reach, stillAdmitted } from '../api/reach.ts';
import { recorded, type Ending } from '../api/recorded.ts';

/** What the paths of the file transfer store need of the service. */
export interface FileOptions {
  readonly ftmRoot: string;
  readonly transfers?: TransferStore | undefined;
  readonly guard: Guard;
  readonly log: Logger;
  readonly audit: Audit;
  readonly metrics?: RequestMetrics;
  draining(): boolean;
  callerOf(request: IncomingMessage): Promise<Caller | undefined>;
  admit(caller: Caller, role: Role, cut: () => void): Admission;
}

/** A request of a client that may use the store. */
export interface FileRequest {
  readonly caller: Caller;
  readonly audited: AuditedRequest;
  readonly transfers: TransferStore;
}

export interface FileWork<T> {
  /** Name of it in metrics and in the audit log. */
  readonly path: `files/${string}`;
  /** Before the client's registration is looked at once more. @throws {Problem} */
  check?(): void;
  run(request: FileRequest): Promise<T>;
  /** Nothing of it may stay: the request ends otherwise. */
  undo?(value: T, request: FileRequest): Promise<void>;
  /** Once the record is on the disk. */
  answer(value: T, request: FileRequest): Promise<void>;
}

/** Lets in, carries out, records, answers: as operations have it, with HTTP statuses for outcomes. @throws {Problem} */
export async function fileRequest<T>(
  options: FileOptions,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  work: FileWork<T>,
): Promise<void> {
  const { transfers, log } = options;
  if (transfers === undefined) throw new Error('without a transfer store nothing is mounted');
  checkServing(options);
  const reached = await reach({ role: 'files' }, options, request, response);
  const { caller, admission, address } = reached;
  await admitted(reached, response, async () => {
    let done: { readonly value: T; readonly request: FileRequest } | undefined;
    let isAnswered = false;
    try {
      const ending = await recorded(options, { operation: work, caller, address }, async (audited): Promise<Ending | Problem> => {
        try {
          work.check?.();
          await admission.enter();
          const one = { caller, audited, transfers };
          done = { value: await options.audit.carryOut(audited, async () => work.run(one)), request: one };
          await admission.confirm();
          return { result: success, answer: {}, echo: {} };
        } catch (error) {
          return endingOf(error, { path: work.path, echo: {}, log });
        }
      });
      if (ending instanceof Problem) throw ending;
      if (ending.result.major !== 0) throw problemOf(ending);
      await stillAdmitted(admission);
      options.guard.refusals.served();
      isAnswered = true;
    } finally {
      if (!isAnswered && done !== undefined) await work.undo?.(done.value, done.request);
    }
    if (done !== undefined) await work.answer(done.value, done.request);
  });
}

/** A result code as a status of HTTP. */
function problemOf({ result }: Ending): Problem {
  const { major, minor, message } = result;
  const status = minor === resultCodes.STORE_FULL.minor ? 507 : 500;
  return new Problem(status, message, { members: { resultMajor: major, resultMinor: minor } });
}
