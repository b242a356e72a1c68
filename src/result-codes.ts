/**
 * The catalogue of result codes (contract §3), the only source of the codes in responses,
 * documentation and tests. Major 1: the request itself is wrong, and repeating it will not help.
 * Major 2: the request is well formed but could not be carried out.
 */
export const resultCodes = {
  FIELD_MISSING: { major: 1, minor: 101, text: 'a required field is missing' },
  FIELD_INVALID: { major: 1, minor: 102, text: 'a field has a wrong type, format, range or value, or is unknown' },
  FIELDS_INCONSISTENT: { major: 1, minor: 103, text: 'fields exclude or require each other' },
  UNSUPPORTED: { major: 1, minor: 104, text: 'this combination is not supported' },
  DOCUMENT_INVALID: { major: 1, minor: 105, text: 'the document is not valid for its format' },
  KEY_UNKNOWN: { major: 2, minor: 201, text: 'no such key' },
  ACTIVATION_FAILED: { major: 2, minor: 202, text: 'activation failed' },
  KEY_LOCKED: { major: 2, minor: 203, text: 'the key is locked after too many failed attempts' },
  KEY_STATE: { major: 2, minor: 204, text: 'the state of the key does not allow this' },
  DIGEST_NOT_AUTHORISED: { major: 2, minor: 205, text: 'the activation data does not cover this document' },
  TOO_MANY_WRONG_SECRETS: {
    major: 2,
    minor: 206,
    text: 'too many wrong secrets came from this client or its tenant; for a while none is compared',
  },
  CERTIFICATE_UNKNOWN: { major: 2, minor: 211, text: 'this service has not issued this certificate' },
  CERTIFICATE_STATE: { major: 2, minor: 212, text: 'the state of the certificate does not allow this' },
  ISSUANCE_REFUSED: { major: 2, minor: 213, text: 'the certificate profile refuses the request' },
  SESSION_UNKNOWN: { major: 2, minor: 221, text: 'no such signature session: it was never opened, was completed, or has expired' },
  SIGNATURE_VALUE_INVALID: {
    major: 2,
    minor: 222,
    text: 'a signature value does not verify under the signer certificate; the session stays open',
  },
  TIMESTAMP_UNAVAILABLE: { major: 2, minor: 231, text: 'no time-stamp authority answered' },
  TIMESTAMP_INVALID: { major: 2, minor: 232, text: 'an invalid time-stamp was returned' },
  REVOCATION_UNAVAILABLE: { major: 2, minor: 233, text: 'revocation data could not be obtained' },
  CERTIFICATE_STATUS_REFUSED: {
    major: 2,
    minor: 234,
    text: 'the certificate of the signer or of an authority is revoked, or its status is undetermined and that is not tolerated',
  },
  EXISTING_SIGNATURE_INVALID: { major: 2, minor: 235, text: 'an existing signature of the document is invalid' },
  NOT_PERMITTED_BY_DOCUMENT: { major: 2, minor: 236, text: 'the document does not allow this change' },
  FILE_ACCESS_DENIED: { major: 2, minor: 241, text: 'the path is outside the directories that the configuration allows' },
  FILE_NOT_FOUND: { major: 2, minor: 242, text: 'no such file or directory' },
  STORE_FULL: {
    major: 2,
    minor: 243,
    text: 'nothing more can be stored or recorded: a full disk, a limit of what is kept, or audit records that cannot be written or handed over',
  },
  MESSAGE_NOT_SENT: { major: 2, minor: 251, text: 'no channel for this subscriber, or the gateway refused the message' },
  IDENTITY_NOT_ALLOWED: {
    major: 2,
    minor: 261,
    text: 'no digital identity has the identifiers of the data zone, or it may not sign this document type, or not on the date of the signature',
  },
  TOKEN_UNAVAILABLE: { major: 2, minor: 291, text: 'the token is down or did not answer in time; it is safe to repeat the request' },
  TOKEN_FULL: { major: 2, minor: 292, text: 'the token has no room for another key; an operator must make room' },
  INTERNAL: { major: 2, minor: 299, text: 'internal error' },
} as const satisfies Record<string, ResultCode>;

/** One row of the catalogue. `text` is the default message. */
export interface ResultCode {
  readonly major: 1 | 2;
  readonly minor: number;
  readonly text: string;
}

export type ResultName = keyof typeof resultCodes;

/** Details of a refusal: the JSON Pointer (RFC 6901) of the field, and the fault or its remedy. */
export interface RefusalDetail {
  readonly at?: string;
  readonly message?: string;
  /** Further members of the response, according to the operation's description. */
  readonly answer?: object;
  readonly cause?: unknown;
  /**
   * The message for the audit log, where `message` may have what the caller chose, or parts of a
   * document, without quotation marks. Default for codes that are about a document: their text.
   */
  readonly recorded?: string | undefined;
}

/** Codes whose messages say what is wrong with a document, often in the document's own words. */
const codesOfDocuments: ReadonlySet<ResultName> = new Set<ResultName>([
  'DOCUMENT_INVALID',
  'EXISTING_SIGNATURE_INVALID',
  'NOT_PERMITTED_BY_DOCUMENT',
]);

/**
 * Thrown wherever the service refuses a request. The http room renders it in the form of the
 * operation.
 */
export class Refusal extends Error {
  readonly code: ResultName;
  /** JSON Pointer of the faulty field, if any. */
  readonly at: string | undefined;
  /** The message without the pointer. */
  readonly text: string;
  /** Further members of the response. */
  readonly answer: object;
  /** The message for the audit log, if it is not `text`. */
  readonly recorded: string | undefined;

  constructor(code: ResultName, detail: RefusalDetail = {}) {
    const text = detail.message ?? resultCodes[code].text;
    // The pointer of the whole request is the empty string (RFC 6901 §5).
    super(detail.at === undefined || detail.at === '' ? text : `${detail.at}: ${text}`, { cause: detail.cause });
    this.name = 'Refusal';
    this.code = code;
    this.at = detail.at;
    this.text = text;
    this.answer = detail.answer ?? {};
    this.recorded = detail.recorded ?? (codesOfDocuments.has(code) ? resultCodes[code].text : undefined);
  }
}
