/**
 * The catalogue of result codes (contract §3): the one source of the codes in answers, in the documentation and in the tests.
 * Major 1: the request itself is wrong and will be wrong again. Major 2: well formed, and could not be carried out.
 */
export const resultCodes = {
  FIELD_MISSING: { major: 1, minor: 101, text: 'a required field is absent' },
  FIELD_INVALID: { major: 1, minor: 102, text: 'a field has a wrong type, format, range or value, or is not known' },
  FIELDS_INCONSISTENT: { major: 1, minor: 103, text: 'fields exclude or require each other' },
  UNSUPPORTED: { major: 1, minor: 104, text: 'this combination is not offered' },
  DOCUMENT_INVALID: { major: 1, minor: 105, text: 'the document is not what its format needs' },
  KEY_UNKNOWN: { major: 2, minor: 201, text: 'no such key' },
  ACTIVATION_FAILED: { major: 2, minor: 202, text: 'activation failed' },
  KEY_LOCKED: { major: 2, minor: 203, text: 'the key is locked after too many failed attempts' },
  KEY_STATE: { major: 2, minor: 204, text: 'the state of the key does not allow this' },
  DIGEST_NOT_AUTHORISED: { major: 2, minor: 205, text: 'what activates the key does not cover this document' },
  CERTIFICATE_UNKNOWN: { major: 2, minor: 211, text: 'this service has not issued this certificate' },
  CERTIFICATE_STATE: { major: 2, minor: 212, text: 'the state of the certificate does not allow this' },
  ISSUANCE_REFUSED: { major: 2, minor: 213, text: 'the certificate profile refuses the request' },
  SESSION_UNKNOWN: { major: 2, minor: 221, text: 'no such signature session: it was never opened, was completed, or has ended' },
  SIGNATURE_VALUE_INVALID: {
    major: 2,
    minor: 222,
    text: 'a signature value does not verify under the signer certificate; the session stays open',
  },
  TIMESTAMP_UNAVAILABLE: { major: 2, minor: 231, text: 'no time-stamp authority answered' },
  TIMESTAMP_INVALID: { major: 2, minor: 232, text: 'a time-stamp came back that does not hold' },
  REVOCATION_UNAVAILABLE: { major: 2, minor: 233, text: 'revocation data could not be had' },
  CERTIFICATE_STATUS_REFUSED: {
    major: 2,
    minor: 234,
    text: 'the certificate of the signer or of an authority is revoked, or its status is undetermined beyond what was tolerated',
  },
  EXISTING_SIGNATURE_INVALID: { major: 2, minor: 235, text: 'a signature that the document has does not hold' },
  FILE_ACCESS_DENIED: { major: 2, minor: 241, text: 'a path outside of the directories that the configuration allows' },
  FILE_NOT_FOUND: { major: 2, minor: 242, text: 'no such file or directory' },
  STORE_FULL: { major: 2, minor: 243, text: 'the disk cannot be written' },
  MESSAGE_NOT_SENT: { major: 2, minor: 251, text: 'no channel for this subscriber, or the gateway refused' },
  TOKEN_UNAVAILABLE: { major: 2, minor: 291, text: 'the token is down or did not answer in time; it is safe to repeat the request' },
  INTERNAL: { major: 2, minor: 299, text: 'a defect of the service' },
} as const satisfies Record<string, ResultCode>;

/** One row of the catalogue. `text` is the message when the place that refuses has nothing more to say. */
export interface ResultCode {
  readonly major: 1 | 2;
  readonly minor: number;
  readonly text: string;
}

export type ResultName = keyof typeof resultCodes;

/** What a refusal may add: the JSON Pointer (RFC 6901) of the field, and what was wrong or would be right. */
export interface RefusalDetail {
  readonly at?: string;
  readonly message?: string;
  /** What is answered beside the result, as the operation's description says. */
  readonly answer?: object;
  readonly cause?: unknown;
}

/** The one way in which the service says no. The http room renders it in the operation's own spelling. */
export class Refusal extends Error {
  readonly code: ResultName;
  /** JSON Pointer of the field that is wrong, where one is. */
  readonly at: string | undefined;
  /** The message without the pointer. */
  readonly text: string;
  /** Members of the answer beside the result. */
  readonly answer: object;

  constructor(code: ResultName, detail: RefusalDetail = {}) {
    const text = detail.message ?? resultCodes[code].text;
    super(detail.at === undefined ? text : `${detail.at === '' ? '(body)' : detail.at}: ${text}`, { cause: detail.cause });
    this.name = 'Refusal';
    this.code = code;
    this.at = detail.at;
    this.text = text;
    this.answer = detail.answer ?? {};
  }
}
