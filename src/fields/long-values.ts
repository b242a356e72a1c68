import { z } from 'zod';
import { LongText } from '../documents/long-text.ts';

/** Content that may come as LongText. To JSON Schema and in its messages it is text like any other. */
export const MaybeLong = z.custom<string | LongText>(
  (value) => typeof value === 'string' || value instanceof LongText,
  'this must be text',
);

/** JSON Schema (2020-12) of what a request has. @throws {Error} where the schema has something that JSON Schema cannot express */
export function requestJsonSchema(schema: z.ZodType): z.core.JSONSchema.BaseSchema {
  return z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: ({ zodSchema }) => (zodSchema === MaybeLong ? { type: 'string' } : 'throw'),
  });
}

/** Bytes of a character of UTF-8 (RFC 3629 §3). */
const characterMaxBytes = 4;

/** Text of at most so many characters (code points), which is long enough to come as LongText in a big body. */
export function longText(maxCharacters: number): z.ZodType<string, string | LongText> {
  const tooLong = `at most ${maxCharacters} characters`;
  return MaybeLong.transform((text, context): string => {
    // A text that is far too long is not taken apart.
    const mayFit = text instanceof LongText ? text.textBytes <= characterMaxBytes * maxCharacters : text.length <= 2 * maxCharacters;
    const whole = mayFit && text instanceof LongText ? text.toText() : text;
    if (typeof whole === 'string' && mayFit && Array.from(whole).length <= maxCharacters) return whole;
    context.addIssue({ code: 'custom', message: tooLong });
    return z.NEVER;
  });
}
