/**
 * `unavailable`: the server does not answer, or cannot serve now; `refused`: it will not serve this
 * request, whenever it is repeated; `full`: it has no space left.
 */
export type S3FailureKind = 'unavailable' | 'refused' | 'full';

/**
 * Thrown if a request to an object store failed. The message gives the reason, and nothing of what
 * was sent: the server's own texts repeat signed headers.
 */
export class S3Failed extends Error {
  readonly kind: S3FailureKind;

  constructor(kind: S3FailureKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'S3Failed';
    this.kind = kind;
  }
}

/**
 * Codes that say that the server's state passes by itself, whatever the status (Amazon S3, List of
 * error codes).
 */
const passing = new Set(['InternalError', 'OperationAborted', 'RequestTimeout', 'ServiceUnavailable', 'SlowDown']);

/** Returns the failure that an answer with a status other than 2xx stands for. `body`: its XML. */
export function answeredFailure(status: number, body: string): S3Failed {
  const code = errorCodeOf(body);
  const text = `the object store answered ${status}${code === undefined ? '' : ` (${code})`}`;
  if (status === 507) return new S3Failed('full', text);
  const passes = status >= 500 || status === 408 || status === 429 || (code !== undefined && passing.has(code));
  return new S3Failed(passes ? 'unavailable' : 'refused', text);
}

/** Returns the error code of an answer, such as NoSuchKey (Amazon S3, REST error responses). */
export function errorCodeOf(body: string): string | undefined {
  return /<Code>([A-Za-z0-9]{1,64})<\/Code>/.exec(body)?.[1];
}
