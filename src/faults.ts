import { Refusal, type RefusalDetail, type ResultName } from './result-codes.ts';

/**
 * The catalogue of faults: internal errors that some caller further up must distinguish from all
 * others. Each has its text, and the result of a request that ends with it.
 */
export const faults = {
  /** Faults of a commit, of which nothing was done: */
  USE_LOST: { text: 'another request was faster with the key or its one-time password', result: 'ACTIVATION_FAILED' },
  TENANT_FULL: { text: 'the tenant has reached its limit of keys', result: 'ISSUANCE_REFUSED' },
  IDENTITY_TAKEN: { text: 'the tenant already has a key for this identity', result: 'INTERNAL' },
  CREATION_LOST: { text: 'the creation of the key is no longer announced', result: 'INTERNAL' },
  IDENTITY_TOKEN_USED: { text: 'the token of the identity provider is already used', result: 'ISSUANCE_REFUSED' },
  CERTIFICATE_CHANGED: { text: 'the certificate was revoked, held or released meanwhile', result: 'CERTIFICATE_STATE' },
  CLAIM_LOST: { text: 'the claim on the request has expired', result: 'INTERNAL' },
  SESSION_ENDED: { text: 'the signature session has ended', result: 'SESSION_UNKNOWN' },
  TRANSFER_ENDED: { text: 'the file was given up while it arrived', result: 'INTERNAL' },
  /** Nothing is known to have been done. Callers of the service receive 503 instead of a result. */
  STORE_UNAVAILABLE: { text: 'the state store is not available', result: 'INTERNAL' },
  /** The only fault after which a commit may have been done. */
  COMMIT_UNKNOWN: { text: 'the state store cannot tell whether a commit was done', result: 'INTERNAL' },
  /** The same of files in the transfer store. */
  TRANSFER_STORE_UNAVAILABLE: { text: 'the transfer store is not available', result: 'INTERNAL' },
  /** The thread of a task was ended: a document can be crafted so that reading it takes hours. */
  TASK_TIMEOUT: { text: 'the work took longer than allowed', result: 'UNSUPPORTED' },
  /** Nobody waits for the answer any more, and the work had no effect yet. */
  CLIENT_GONE: { text: 'the client closed the connection before the answer', result: 'INTERNAL' },
  /** Work on the event loop would hold it too long: it belongs into a thread. */
  NOT_QUICK: { text: 'the work takes too long for the event loop', result: 'INTERNAL' },
  /** The token made a value that is not the key's signature of what was to be signed. */
  WRONG_VALUE: { text: 'the token made a signature value that does not verify', result: 'TOKEN_UNAVAILABLE' },
  /** A file has changed since it was opened or signed. */
  CONTENT_CHANGED: { text: 'the file has changed since it was opened', result: 'DOCUMENT_INVALID' },
} as const satisfies Record<string, { readonly text: string; readonly result: ResultName }>;

export type FaultCode = keyof typeof faults;

/** A fault of the catalogue. It keeps its code when it is sent between threads. */
export class Fault extends Error {
  readonly code: FaultCode;

  constructor(code: FaultCode, { message, cause }: { readonly message?: string; readonly cause?: unknown } = {}) {
    super(message ?? faults[code].text, { cause });
    this.name = 'Fault';
    this.code = code;
  }
}

export function isFault(error: unknown, code: FaultCode): error is Fault {
  return error instanceof Fault && error.code === code;
}

/**
 * Returns the refusal of a request that ends with a fault. `detail`: further details that the code
 * does not give.
 */
export function refusalOf(fault: Fault, detail: Pick<RefusalDetail, 'at' | 'message'> = {}): Refusal {
  return new Refusal(faults[fault.code].result, { ...detail, cause: fault });
}

/**
 * An error with a code in the form sent between threads: structured clone keeps neither the class
 * of an error nor its members.
 */
export type SentError =
  | { readonly kind: 'fault'; readonly code: FaultCode; readonly text: string }
  | {
      readonly kind: 'refusal';
      readonly code: ResultName;
      readonly at: string | undefined;
      readonly text: string;
      readonly answer: object;
      readonly cause: string | undefined;
      readonly recorded: string | undefined;
    };

/** Returns an error in the form sent between threads; undefined for an error without a code. */
export function sentError(error: unknown): SentError | undefined {
  if (error instanceof Fault) return { kind: 'fault', code: error.code, text: error.message };
  return error instanceof Refusal ? sentRefusal(error) : undefined;
}

export function sentRefusal({ code, at, text, answer, cause, recorded }: Refusal): SentError {
  return { kind: 'refusal', code, at, text, answer, cause: cause instanceof Error ? cause.message : undefined, recorded };
}

/** Returns the error that another thread sent. */
export function revivedError(sent: SentError): Fault | Refusal {
  if (sent.kind === 'fault') return new Fault(sent.code, { message: sent.text });
  const { code, at, text, answer, cause, recorded } = sent;
  return new Refusal(code, { ...(at === undefined ? {} : { at }), message: text, answer, cause, recorded });
}
