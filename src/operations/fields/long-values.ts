import { z } from 'zod';
import { LongText } from '../../documents/long-text.ts';

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
