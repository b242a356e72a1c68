import { z } from 'zod';

/**
 * Returns the schema of an object in which `ignored` does not count if `given` is there: whatever it
 * holds, it is left out before the object is judged.
 */
export function withoutIgnored<T extends z.ZodObject>(ignored: string, given: string, schema: T): z.ZodPreprocess<T> {
  return z.preprocess((value) => {
    if (!isObject(value) || value[given] === undefined) return value;
    return Object.fromEntries(Object.entries(value).filter(([name]) => name !== ignored));
  }, schema);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
