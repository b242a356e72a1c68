import { resultNames, type ResultName } from './result-names.ts';

/** Everything that is known about a failed request. */
export interface SignetdErrorDetails {
  /** `major/minor` of a result object, such as `2/202`; undefined for a problem of HTTP. */
  readonly code?: string;
  /** JSON Pointer (RFC 6901) of the member of the request that is at fault. */
  readonly pointer?: string;
  /** Status of the HTTP answer; undefined if there was none. */
  readonly status?: number;
  /** `X-Request-Id` of the answer: finds the request in the log and the audit log of the service. */
  readonly requestId?: string;
  /** Seconds after which the service asks to be called again (`Retry-After`). */
  readonly retryAfterSeconds?: number;
  /** The answer, as far as it could be read. */
  readonly answer?: unknown;
  readonly cause?: unknown;
}

/**
 * Name of an outcome: that of the result code (`ACTIVATION_FAILED`), `HTTP_403` for a problem
 * document, `NO_ANSWER` if the connection failed or the time was up.
 */
export type SignetdErrorName = ResultName | `HTTP_${number}` | 'NO_ANSWER' | 'UNKNOWN';

/** A request that failed: the service refused it, or there was no answer. */
export class SignetdError extends Error {
  override readonly name = 'SignetdError';
  readonly outcome: SignetdErrorName;
  readonly code: string | undefined;
  readonly pointer: string | undefined;
  readonly status: number | undefined;
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly answer: unknown;

  constructor(outcome: SignetdErrorName, message: string, details: SignetdErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.outcome = outcome;
    this.code = details.code;
    this.pointer = details.pointer;
    this.status = details.status;
    this.requestId = details.requestId;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.answer = details.answer;
  }
}

/** The two forms of a result object. */
interface Result {
  readonly majorCode?: number;
  readonly minorCode?: number;
  readonly message?: string;
  readonly resultMajor?: number;
  readonly resultMinor?: number;
  readonly resultMessage?: string;
}

/** The error of an answer with status 200, or undefined if it reports a success. */
export function errorOfResult(answer: unknown, requestId: string | undefined): SignetdError | undefined {
  const result = (answer as { result?: Result } | null)?.result;
  const major = result?.majorCode ?? result?.resultMajor;
  const minor = result?.minorCode ?? result?.resultMinor;
  if (major === 0) return undefined;
  const details = { status: 200, answer, ...(requestId === undefined ? {} : { requestId }) };
  if (major === undefined || minor === undefined) return new SignetdError('UNKNOWN', 'the answer has no result', details);
  const code = `${major}/${minor}`;
  const text = result?.message ?? result?.resultMessage ?? '';
  const [, pointer, message = text] = /^(\/\S*?): (.*)$/s.exec(text) ?? [];
  const name = Object.hasOwn(resultNames, code) ? resultNames[code as keyof typeof resultNames] : 'UNKNOWN';
  return new SignetdError(name, `${code} ${message}`, { ...details, code, ...(pointer === undefined ? {} : { pointer }) });
}

/** The error of an answer with another status than expected: a problem document (RFC 9457), or anything else. */
export function errorOfStatus(status: number, body: string, headers: { requestId?: string; retryAfterSeconds?: number }): SignetdError {
  let answer: unknown = body;
  try {
    answer = JSON.parse(body);
  } catch {
    // Not a problem document: a proxy between client and service may have answered.
  }
  const { detail, title, resultMajor, resultMinor } = (typeof answer === 'object' && answer !== null ? answer : {}) as {
    detail?: string;
    title?: string;
    resultMajor?: number;
    resultMinor?: number;
  };
  const code = resultMajor === undefined || resultMinor === undefined ? {} : { code: `${resultMajor}/${resultMinor}` };
  return new SignetdError(`HTTP_${status}`, `${status} ${detail ?? title ?? 'unexpected answer'}`, { status, answer, ...code, ...headers });
}
