import { tooManySignatures } from '../../keys/activation-data.ts';
import { stateTexts } from '../../keys/states.ts';
import { Refusal, resultCodes, type ResultName } from '../../result-codes.ts';

/**
 * Errors of the standard (Cloud Signature Consortium API 2.0, clause 10.2 and the methods' tables).
 */
export type CscError =
  | 'invalid_request'
  | 'invalid_pin'
  | 'invalid_otp'
  | 'invalid_authentication_data'
  | 'access_denied'
  | 'temporarily_unavailable'
  | 'server_error';

export type CscVersion = 'v1' | 'v2';

/** An error as the answer has it. */
export interface CscErrorAnswer {
  readonly status: number;
  readonly error: CscError;
  readonly error_description: string;
}

export function isCscError(answer: object): answer is CscErrorAnswer {
  return 'error' in answer;
}

type Outcome = readonly [status: number, error: CscError];

const wrongRequest: Outcome = [400, 'invalid_request'];
const notNow: Outcome = [503, 'temporarily_unavailable'];

/** The error for each code of the catalogue. */
export const cscOutcomes: Readonly<Record<ResultName, Outcome>> = {
  FIELD_MISSING: wrongRequest,
  FIELD_INVALID: wrongRequest,
  FIELDS_INCONSISTENT: wrongRequest,
  UNSUPPORTED: wrongRequest,
  DOCUMENT_INVALID: wrongRequest,
  KEY_UNKNOWN: wrongRequest,
  ACTIVATION_FAILED: wrongRequest,
  KEY_LOCKED: wrongRequest,
  KEY_STATE: wrongRequest,
  DIGEST_NOT_AUTHORISED: wrongRequest,
  TOO_MANY_WRONG_SECRETS: [429, 'temporarily_unavailable'],
  CERTIFICATE_UNKNOWN: wrongRequest,
  CERTIFICATE_STATE: wrongRequest,
  ISSUANCE_REFUSED: wrongRequest,
  SESSION_UNKNOWN: wrongRequest,
  SIGNATURE_VALUE_INVALID: wrongRequest,
  TIMESTAMP_UNAVAILABLE: notNow,
  TIMESTAMP_INVALID: [500, 'server_error'],
  REVOCATION_UNAVAILABLE: notNow,
  CERTIFICATE_STATUS_REFUSED: wrongRequest,
  EXISTING_SIGNATURE_INVALID: wrongRequest,
  NOT_PERMITTED_BY_DOCUMENT: wrongRequest,
  FILE_ACCESS_DENIED: wrongRequest,
  FILE_NOT_FOUND: wrongRequest,
  STORE_FULL: notNow,
  MESSAGE_NOT_SENT: notNow,
  IDENTITY_NOT_ALLOWED: wrongRequest,
  TOKEN_UNAVAILABLE: notNow,
  TOKEN_FULL: notNow,
  INTERNAL: [500, 'server_error'],
};

const namesByMinor: ReadonlyMap<number, ResultName> = new Map(
  Object.entries(resultCodes).map(([name, { minor }]) => [minor, name as ResultName]),
);

/**
 * Returns the answer for an outcome that no method described: of the token, or of the service
 * itself.
 */
export function cscAnswerOf({ minor, message }: { readonly minor: number; readonly message: string }): CscErrorAnswer {
  const [status, error] = cscOutcomes[namesByMinor.get(minor) ?? 'INTERNAL'];
  return { status, error, error_description: message };
}

/** Returns the answer for an HTTP problem (clause 10.1). */
export function cscAnswerOfStatus(status: number, message: string): CscErrorAnswer {
  return { status, error: errorOfStatus(status), error_description: message };
}

function errorOfStatus(status: number): CscError {
  if (status === 403) return 'access_denied';
  if (status === 429 || status === 503) return 'temporarily_unavailable';
  return status >= 500 && status !== 501 ? 'server_error' : 'invalid_request';
}

/** What a method says about its refusals, besides what all methods have in common. */
export interface RefusalWords {
  /** For 2/202: which secret was wrong, and why. */
  readonly activation?: (refusal: Pick<Refusal, 'at' | 'text'>) => readonly [CscError, string];
  /** For 2/205. */
  readonly notAuthorised?: string;
  /**
   * For a field of `sign` that the parameters were translated to: the parameter that it came from.
   */
  readonly parameterOf?: (at: string) => string | undefined;
}

/** Returns a refusal with the error that the standard has for it. */
export function cscRefusal(refusal: Refusal, version: CscVersion, words: RefusalWords): Refusal {
  const { code, at, text, answer, recorded } = refusal;
  if ('error' in answer) return refusal;
  const [status, error] = cscOutcomes[code];
  const [name, description] = describe({ code, at, text, error }, version, words);
  return new Refusal(code, {
    ...(at === undefined ? {} : { at }),
    message: text,
    answer: { status, error: name, error_description: description } satisfies CscErrorAnswer,
    cause: refusal,
    recorded,
  });
}

interface Refused extends Pick<Refusal, 'code' | 'at' | 'text'> {
  readonly error: CscError;
}

function describe({ code, at, text, error }: Refused, version: CscVersion, words: RefusalWords): readonly [CscError, string] {
  if (code === 'KEY_UNKNOWN') return [error, 'Invalid parameter credentialID'];
  if (code === 'ACTIVATION_FAILED') return words.activation?.({ at, text }) ?? [error, 'Invalid parameter credentialID'];
  if (code === 'KEY_LOCKED') return [error, version === 'v1' ? 'PIN locked' : 'Credential locked'];
  if (code === 'KEY_STATE') return [error, text === stateTexts.EXPIRED ? 'Signing certificate is expired' : disabled];
  if (code === 'DIGEST_NOT_AUTHORISED') {
    return [error, text === tooManySignatures ? 'Numbers of signatures is too high' : (words.notAuthorised ?? notAuthorised)];
  }
  const parameter = at === undefined ? undefined : words.parameterOf?.(at);
  return [error, parameter === undefined ? text : `${parameter}: ${text}`];
}

const disabled = 'The credential identified by credentialID is disabled';
const notAuthorised = 'Hash is not authorized by the SAD';

/** A refusal in the standard's own words. */
export function invalidRequest(description: string, code: ResultName = 'FIELD_INVALID', at?: string, recorded?: string): Refusal {
  return new Refusal(code, {
    ...(at === undefined ? {} : { at }),
    message: description,
    recorded,
    answer: { status: 400, error: 'invalid_request', error_description: description } satisfies CscErrorAnswer,
  });
}
