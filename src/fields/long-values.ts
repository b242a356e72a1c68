import { z } from 'zod';
import { LongText } from '../documents/long-text.ts';

/**
 * Content that may come as LongText. To JSON Schema and in its messages it is `z.string()` like any other; only its parser lets LongText pass too,
 * which the schema language says as a union alone.
 */
export function maybeLong(): z.ZodType<string | LongText, string> {
  const schema: z.ZodType<string | LongText, string> = z.string();
  const { _zod: internals } = schema;
  const parse = internals.parse.bind(internals);
  internals.parse = (payload, context) => (payload.value instanceof LongText ? payload : parse(payload, context));
  internals.run = (payload, context) => internals.parse(payload, context);
  return schema;
}

/** Bytes of a character of UTF-8 (RFC 3629 §3). */
const characterMaxBytes = 4;

/** Text of at most so many characters (code points), which is long enough to come as LongText in a big body. */
export function longText(maxCharacters: number): z.ZodType<string, string> {
  const tooLong = `at most ${maxCharacters} characters`;
  return maybeLong().transform((text, context): string => {
    // A text that is far too long is not taken apart.
    const mayFit = text instanceof LongText ? text.textBytes <= characterMaxBytes * maxCharacters : text.length <= 2 * maxCharacters;
    const whole = mayFit && text instanceof LongText ? text.toText() : text;
    if (typeof whole === 'string' && mayFit && Array.from(whole).length <= maxCharacters) return whole;
    context.addIssue({ code: 'custom', message: tooLong });
    return z.NEVER;
  });
}
