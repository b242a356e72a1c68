import { z } from 'zod';
import { LongText } from '../documents/long-text.ts';

/** Text that may be a LongText. In JSON Schema and in messages it is ordinary text. */
export const MaybeLong = z.custom<string | LongText>(
  (value) => typeof value === 'string' || value instanceof LongText,
  'this must be text',
);

/**
 * Returns the JSON Schema (2020-12) of a request.
 * @throws {Error} if the schema has something that JSON Schema cannot express
 */
export function requestJsonSchema(schema: z.ZodType): z.core.JSONSchema.BaseSchema {
  return z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: ({ zodSchema }) => (zodSchema === MaybeLong ? { type: 'string' } : 'throw'),
  });
}

/** Maximum length of a character in UTF-8 (RFC 3629 §3). */
const characterMaxBytes = 4;

/**
 * Returns a schema for text of at most so many code points, which may be a LongText in a large
 * body.
 */
export function longText(maxCharacters: number): z.ZodType<string, string | LongText> {
  const tooLong = `at most ${maxCharacters} characters`;
  return MaybeLong.transform((text, context): string => {
    // A text that is far too long is not split into characters.
    const mayFit = text instanceof LongText ? text.textBytes <= characterMaxBytes * maxCharacters : text.length <= 2 * maxCharacters;
    const whole = mayFit && text instanceof LongText ? text.toText() : text;
    if (typeof whole === 'string' && mayFit && Array.from(whole).length <= maxCharacters) return whole;
    context.addIssue({ code: 'custom', message: tooLong });
    return z.NEVER;
  });
}
