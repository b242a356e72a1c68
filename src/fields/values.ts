import { z } from 'zod';
import { LongText } from '../documents/long-text.ts';
import { MaybeLong } from './long-values.ts';

const maxMediaTypeCharacters = 255;

/** A string without lone surrogates, which UTF-8 cannot represent. */
export const Text = z.string().refine((text) => text.isWellFormed(), 'the text contains a lone surrogate');

/** Limit for IDs of bound documents, all of which are kept in memory. */
const maxDigestIdCharacters = 255;

/** Maximum length of lists in a request, except those of documents and digests. */
export const maxListEntries = 64;

/** Longer secrets are refused before they reach the token. */
export const maxSecretBytes = 1024;

/** A secret. An empty one is a caller's mistake, and is not counted as a failed attempt. */
export const Secret = Text.min(1, 'a secret must not be empty')
  .refine((text) => Buffer.byteLength(text) <= maxSecretBytes, `a secret has at most ${maxSecretBytes} bytes`)
  .meta({ maxLength: maxSecretBytes });

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const parameter = `;[ \\t]*${token}=(?:${token}|"(?:[\\x20-\\x21\\x23-\\x5b\\x5d-\\x7e]|\\\\[\\x20-\\x7e])*")[ \\t]*`;
const mediaTypeForm = new RegExp(`^${token}/${token}[ \\t]*(?:${parameter})*$`);

/** A media type with its parameters (RFC 9110 §8.3.1), in ASCII. */
export const MediaType = z
  .string()
  .refine((text) => text.length <= maxMediaTypeCharacters && mediaTypeForm.test(text), 'not a media type such as application/pdf')
  .meta({ minLength: 3, maxLength: maxMediaTypeCharacters });

/** Strict base64 (RFC 4648 §4): padded, no other characters, no stray bits. */
export const Base64 = MaybeLong.transform((text, context): Uint8Array => {
  if (text instanceof LongText && text.kind === 'base64') return text.bytes;
  const bytes = text instanceof LongText ? undefined : Buffer.from(text, 'base64');
  if (bytes !== undefined && bytes.toString('base64') === text) return bytes;
  context.addIssue({ code: 'custom', message: 'not base64 (RFC 4648, padded, no line breaks)' });
  return z.NEVER;
}).meta({ description: 'base64 (RFC 4648, padded, no line breaks)', contentEncoding: 'base64' });

/** Text content, as UTF-8. */
export const PlainContent = MaybeLong.transform((text, context): Uint8Array => {
  if (text instanceof LongText ? text.kind === 'text' : text.isWellFormed())
    return text instanceof LongText ? text.bytes : Buffer.from(text);
  context.addIssue({ code: 'custom', message: 'the text contains a lone surrogate' });
  return z.NEVER;
});

export const ObjectIdentifier = z
  .string()
  .regex(
    /^(?:[01]\.(?:[0-9]|[1-3][0-9])|2\.(?:0|[1-9][0-9]*))(?:\.(?:0|[1-9][0-9]*))*$/,
    'not an object identifier such as 2.16.840.1.101.3.4.2.1',
  )
  .describe('object identifier');

export const Sha1Hex = z
  .string()
  .regex(/^[0-9a-fA-F]{40}$/, 'not a SHA-1 fingerprint: 40 hexadecimal digits')
  .describe('SHA-1, 40 hexadecimal digits');

/** Members for the OID of a hash and the digest itself. */
export const digestFields = {
  digestAlgOID: ObjectIdentifier.describe('object identifier of the hash: SHA-256 (2.16.840.1.101.3.4.2.1), SHA-384 (….2), SHA-512 (….3)'),
  digestValue: Base64.describe('the digest, base64'),
};

/** Identifier that the caller gives a request. */
export const RequestId = Text.describe('returned unchanged in the answer');

/** Interface, Digest entry. */
export const DigestEntry = z
  .strictObject({
    id: Text.max(maxDigestIdCharacters, `an ID has at most ${maxDigestIdCharacters} characters`).describe('ID of the document'),
    ...digestFields,
  })
  .meta({ id: 'DigestEntry', description: 'a document by its ID and digest' });
