import { z } from 'zod';

/** Entries of a list or map whose schema sets no limit of its own. */
const defaultMaxEntries = 1000;

const limited = new WeakSet<z.core.$ZodType>();

/**
 * Has a schema look at the size of its lists and maps before it looks at what they hold: the library does it the other way round, and finds a fault in
 * each of a million entries first.
 */
export function limitSizes(schema: z.core.$ZodType): void {
  if (limited.has(schema)) return;
  limited.add(schema);
  if (schema instanceof z.core.$ZodArray) {
    limitEntries(schema, (value) => (Array.isArray(value) ? value.length : 0));
    limitSizes(schema._zod.def.element);
  } else if (schema instanceof z.core.$ZodRecord) {
    limitEntries(schema, (value) => (typeof value === 'object' && value !== null ? Object.keys(value).length : 0));
    limitSizes(schema._zod.def.valueType);
  } else if (schema instanceof z.core.$ZodObject) {
    for (const member of Object.values(schema._zod.def.shape)) limitSizes(member);
  } else if (schema instanceof z.core.$ZodUnion) {
    for (const option of schema._zod.def.options) limitSizes(option);
  } else if (schema instanceof z.core.$ZodPipe) {
    limitSizes(schema._zod.def.in);
    limitSizes(schema._zod.def.out);
  } else if (schema instanceof z.core.$ZodOptional || schema instanceof z.core.$ZodNullable || schema instanceof z.core.$ZodDefault) {
    limitSizes(schema._zod.def.innerType);
  }
}

function limitEntries(schema: z.core.$ZodArray | z.core.$ZodRecord, entriesOf: (value: unknown) => number): void {
  const { parse, run, bag } = schema._zod;
  const own = bag['maximum'];
  const maximum = typeof own === 'number' ? own : defaultMaxEntries;
  const limitedParse: typeof parse = (payload, context) => {
    if (entriesOf(payload.value) <= maximum) return parse(payload, context);
    payload.issues.push({
      code: 'too_big',
      origin: 'array',
      maximum,
      inclusive: true,
      input: payload.value,
      inst: schema,
    });
    payload.aborted = true;
    return payload;
  };
  schema._zod.parse = limitedParse;
  // Without checks of its own, a schema runs its parser.
  if (run === parse) schema._zod.run = limitedParse;
}

/** One document more than allowed tells as much as a million: the others are not looked at. */
export function withFewDocuments(body: Readonly<Record<string, unknown>>, documentsMax: number): Readonly<Record<string, unknown>> {
  const { inputDocuments } = body;
  if (!Array.isArray(inputDocuments) || inputDocuments.length <= documentsMax) return body;
  return { ...body, inputDocuments: inputDocuments.slice(0, documentsMax + 1) };
}
