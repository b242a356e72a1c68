import type { AuditedRequest } from '../../audit/audited-request.ts';
import type { TransferStore } from '../../documents/transfer/transfer-store.ts';
import { resultCodes } from '../../result-codes.ts';
import { success } from '../api/answer.ts';
import { whileAdmitted, type AdmittedRequest, type RequestWork } from '../api/pipeline.ts';
import type { Ending } from '../api/recorded.ts';
import { Problem } from '../problem.ts';

/** A request that may use the file transfer store. */
export interface FileRequest extends AdmittedRequest {
  readonly audited: AuditedRequest;
  readonly transfers: TransferStore;
}

/** What is done with a file. */
export interface FileTask<T> {
  /**
   * Checks the headers, before the client's registration is looked at once more.
   * @throws {Problem}
   */
  check?(admitted: AdmittedRequest): void;
  run(request: FileRequest): Promise<T>;
  /** Undoes all of it: the request ends as a failure. */
  undo?(value: T, request: FileRequest): Promise<void>;
  /** Sends the answer, once the record is on the disk. */
  answer(value: T, request: FileRequest): Promise<void>;
}

/** A request for the file transfer store: its outcome is a status of HTTP. */
export class FileWork<T> implements RequestWork {
  readonly echo = {};
  readonly #task: FileTask<T>;
  readonly #admitted: AdmittedRequest;
  readonly #transfers: TransferStore;
  #done: { readonly value: T; readonly request: FileRequest } | undefined;

  constructor(task: FileTask<T>, admitted: AdmittedRequest, transfers: TransferStore) {
    this.#task = task;
    this.#admitted = admitted;
    this.#transfers = transfers;
  }

  async carryOut(audited: AuditedRequest): Promise<Ending> {
    this.#task.check?.(this.#admitted);
    const request = { ...this.#admitted, audited, transfers: this.#transfers };
    await whileAdmitted(this.#admitted, audited, async () => {
      this.#done = { value: await this.#task.run(request), request };
    });
    return { result: success, answer: {}, echo: {} };
  }

  answer(ending: Ending): () => Promise<void> {
    const done = this.#done;
    if (ending.result.major !== 0 || done === undefined) throw problemOf(ending);
    return async () => this.#task.answer(done.value, done.request);
  }

  async undo(): Promise<void> {
    if (this.#done !== undefined) await this.#task.undo?.(this.#done.value, this.#done.request);
  }
}

/** Returns a result code as a status of HTTP. */
function problemOf({ result }: Ending): Problem {
  const { major, minor, message } = result;
  const status = minor === resultCodes.STORE_FULL.minor ? 507 : 500;
  return new Problem(status, message, { members: { resultMajor: major, resultMinor: minor } });
}
