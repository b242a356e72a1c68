import { Refusal } from '../../result-codes.ts';

/**
 * Parses one JSON object, and throws for input that parsers read differently, such as duplicate
 * member names.
 */
export type ParseJson = (bytes: Buffer) => Readonly<Record<string, unknown>>;

/** Maximum length of a token; those of providers have a few thousand characters. */
const maxCharacters = 32 * 1024;

/** Pointer to the token in a request. */
export const tokenAt = '/certificationRequestInfo/JWT/token';

/** An unverified token in compact serialization. */
export interface CompactToken {
  readonly text: string;
  readonly kind: 'signed' | 'encrypted';
  readonly header: Readonly<Record<string, unknown>> & { readonly alg: string };
  /** Octets of the second part: the claims of a signed token. */
  readonly payload: Buffer;
}

/**
 * Parses a token: signed (RFC 7515 §7.1: three parts) or encrypted (RFC 7516 §7.1: five).
 * @throws {Refusal} FIELD_INVALID if it is not a token
 */
export function parseCompact(text: string, parseJson: ParseJson): CompactToken {
  if (text.length > maxCharacters) throw notAToken(`longer than ${maxCharacters} characters`);
  const parts = text.split('.');
  if (parts.length !== 3 && parts.length !== 5) throw notAToken('not three or five parts separated by dots');
  const [header = Buffer.alloc(0), payload = Buffer.alloc(0)] = parts.map(fromBase64Url);
  const fields = jsonObject(header, 'header', parseJson);
  const { alg } = fields;
  if (typeof alg !== 'string' || alg === '') throw notAToken('its header names no algorithm (alg)');
  return { text, kind: parts.length === 3 ? 'signed' : 'encrypted', header: { ...fields, alg }, payload };
}

/**
 * Returns the claims of a signed token, not verified.
 * @throws {Refusal} FIELD_INVALID if they are not a claims set (RFC 7519 §4)
 */
export function claimsOf({ payload }: CompactToken, parseJson: ParseJson): Readonly<Record<string, unknown>> {
  return jsonObject(payload, 'content', parseJson);
}

function jsonObject(bytes: Buffer, what: string, parseJson: ParseJson): Readonly<Record<string, unknown>> {
  try {
    return parseJson(bytes);
  } catch (error) {
    throw notAToken(`its ${what} is not a JSON object with unique names`, error);
  }
}

/** Decodes base64url without padding (RFC 4648 §5); each value has a single encoding. */
function fromBase64Url(part: string): Buffer {
  const bytes = Buffer.from(part, 'base64url');
  if (bytes.toString('base64url') !== part) throw notAToken('a part is not base64url');
  return bytes;
}

function notAToken(fault: string, cause?: unknown): Refusal {
  return new Refusal('FIELD_INVALID', { at: tokenAt, message: `not a JSON Web Token: ${fault}`, cause });
}

/**
 * Returns the refusal of a token's contents. The text is for the caller, and contains nothing of
 * the token.
 */
export function refusedToken(fault: string, cause?: unknown): Refusal {
  return new Refusal('ISSUANCE_REFUSED', { at: tokenAt, message: fault, cause });
}
