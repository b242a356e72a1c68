import { Refusal, type RefusalDetail, type ResultName } from './result-codes.ts';

/**
 * The catalogue of faults: what can go wrong inside the service that some caller further up has to
 * tell from everything else. Each has its text, and the result that a request ends with because of
 * it.
 */
export const faults = {
  /** Nothing of the commit was done: */
  USE_LOST: { text: 'another request was faster with the key or its one-time password', result: 'ACTIVATION_FAILED' },
  TENANT_FULL: { text: 'the tenant has as many keys as it may have', result: 'ISSUANCE_REFUSED' },
  CREATION_LOST: { text: 'the creation of the key is no longer announced', result: 'INTERNAL' },
  IDENTITY_TOKEN_USED: { text: 'the token of the identity provider is already used', result: 'ISSUANCE_REFUSED' },
  CERTIFICATE_CHANGED: { text: 'the certificate was revoked, held or released meanwhile', result: 'CERTIFICATE_STATE' },
  CLAIM_LOST: { text: 'the claim on the request has ended', result: 'INTERNAL' },
  SESSION_ENDED: { text: 'the signature session has ended', result: 'SESSION_UNKNOWN' },
  TRANSFER_ENDED: { text: 'the file was given up while it arrived', result: 'INTERNAL' },
  /** Nothing is known to have been done. Callers of the service see 503 instead of a result. */
  STORE_UNAVAILABLE: { text: 'the state store is not available', result: 'INTERNAL' },
  /** The one fault after which a commit may be done all the same. */
  COMMIT_UNKNOWN: { text: 'the state store cannot tell whether a commit was done', result: 'INTERNAL' },
  /** The thread of a task was ended: a document can be made so that reading it takes hours. */
  TASK_TIMEOUT: { text: 'the work took longer than allowed', result: 'UNSUPPORTED' },
  /** A file is no longer what it was when it was opened or signed. */
  CONTENT_CHANGED: { text: 'the file has changed since it was opened', result: 'DOCUMENT_INVALID' },
} as const satisfies Record<string, { readonly text: string; readonly result: ResultName }>;

export type FaultCode = keyof typeof faults;

/** A fault of the catalogue. It keeps its code on the way from one thread to another. */
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
 * The refusal of a request that ends with a fault. `detail`: what the place that refuses knows
 * beyond the code.
 */
export function refusalOf(fault: Fault, detail: Pick<RefusalDetail, 'at' | 'message'> = {}): Refusal {
  return new Refusal(faults[fault.code].result, { ...detail, cause: fault });
}

/**
 * An error with a code, as it is sent to another thread: structured clone keeps neither the class
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
    };

/** Undefined for an error without a code. */
export function sentError(error: unknown): SentError | undefined {
  if (error instanceof Fault) return { kind: 'fault', code: error.code, text: error.message };
  return error instanceof Refusal ? sentRefusal(error) : undefined;
}

export function sentRefusal({ code, at, text, answer, cause }: Refusal): SentError {
  return { kind: 'refusal', code, at, text, answer, cause: cause instanceof Error ? cause.message : undefined };
}

/** The error that another thread sent. */
export function revivedError(sent: SentError): Fault | Refusal {
  if (sent.kind === 'fault') return new Fault(sent.code, { message: sent.text });
  const { code, at, text, answer, cause } = sent;
  return new Refusal(code, { ...(at === undefined ? {} : { at }), message: text, answer, cause });
}
