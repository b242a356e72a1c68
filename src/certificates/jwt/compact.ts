import { Refusal } from '../../result-codes.ts';

/**
 * Reads one JSON object, and throws for whatever parsers read differently, such as duplicate member
 * names.
 */
export type ParseJson = (bytes: Buffer) => Readonly<Record<string, unknown>>;

/** What a token may have in all; those of providers have some thousand. */
const maxCharacters = 32 * 1024;

/** Where a token stands in a request. */
export const tokenAt = '/certificationRequestInfo/JWT/token';

/** A token in compact serialization, nothing of it verified. */
export interface CompactToken {
  readonly text: string;
  readonly kind: 'signed' | 'encrypted';
  readonly header: Readonly<Record<string, unknown>> & { readonly alg: string };
  /** The octets of the second part: of a signed token its claims. */
  readonly payload: Buffer;
}

/**
 * Takes a token apart: signed (RFC 7515 §7.1: three parts) or encrypted (RFC 7516 §7.1: five).
 * @throws {Refusal} FIELD_INVALID for what is no token
 */
export function parseCompact(text: string, parseJson: ParseJson): CompactToken {
  if (text.length > maxCharacters) throw notAToken(`longer than ${maxCharacters} characters`);
  const parts = text.split('.');
  if (parts.length !== 3 && parts.length !== 5) throw notAToken('not three or five parts with dots between them');
  const [header = Buffer.alloc(0), payload = Buffer.alloc(0)] = parts.map(fromBase64Url);
  const fields = jsonObject(header, 'header', parseJson);
  const { alg } = fields;
  if (typeof alg !== 'string' || alg === '') throw notAToken('its header names no algorithm (alg)');
  return { text, kind: parts.length === 3 ? 'signed' : 'encrypted', header: { ...fields, alg }, payload };
}

/**
 * The claims of a signed token, not verified.
 * @throws {Refusal} FIELD_INVALID for what is no claims set (RFC 7519 §4)
 */
export function claimsOf({ payload }: CompactToken, parseJson: ParseJson): Readonly<Record<string, unknown>> {
  return jsonObject(payload, 'content', parseJson);
}

function jsonObject(bytes: Buffer, what: string, parseJson: ParseJson): Readonly<Record<string, unknown>> {
  try {
    return parseJson(bytes);
  } catch (error) {
    throw notAToken(`its ${what} is not one JSON object with distinct names`, error);
  }
}

/** RFC 4648 §5 without padding, and one spelling for each value. */
function fromBase64Url(part: string): Buffer {
  const bytes = Buffer.from(part, 'base64url');
  if (bytes.toString('base64url') !== part) throw notAToken('a part is not base64url');
  return bytes;
}

function notAToken(fault: string, cause?: unknown): Refusal {
  return new Refusal('FIELD_INVALID', { at: tokenAt, message: `not a JSON Web Token: ${fault}`, cause });
}

/**
 * A token that says what is not accepted. The text is for the caller, and holds nothing of the
 * token.
 */
export function refusedToken(fault: string, cause?: unknown): Refusal {
  return new Refusal('ISSUANCE_REFUSED', { at: tokenAt, message: fault, cause });
}
