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
  if (schema instanceof z.ZodArray) {
    limitEntries(schema, (value) => (Array.isArray(value) ? value.length : 0));
    limitSizes(schema.element);
  } else if (schema instanceof z.ZodRecord) {
    limitEntries(schema, (value) => (typeof value === 'object' && value !== null ? Object.keys(value).length : 0));
    limitSizes(schema.valueType);
  } else if (schema instanceof z.ZodObject) {
    for (const member of Object.values<z.core.$ZodType>(schema.shape)) limitSizes(member);
  } else if (schema instanceof z.ZodUnion) {
    for (const option of schema.options) limitSizes(option);
  } else if (schema instanceof z.ZodPipe) {
    limitSizes(schema.in);
    limitSizes(schema.out);
  } else if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    limitSizes(schema.unwrap());
  }
}

function limitEntries(schema: z.ZodArray | z.ZodRecord, entriesOf: (value: unknown) => number): void {
  const { _zod: internals } = schema;
  const parse = internals.parse.bind(internals);
  const hasChecks = (internals.def.checks?.length ?? 0) > 0;
  const own = internals.bag['maximum'];
  const maximum = typeof own === 'number' ? own : defaultMaxEntries;
  internals.parse = (payload, context) => {
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
  // Without checks of its own, a schema runs its parser.
  if (!hasChecks) internals.run = (payload, context) => internals.parse(payload, context);
}

/** One document more than allowed tells as much as a million: the others are not looked at. */
export function withFewDocuments(body: Readonly<Record<string, unknown>>, documentsMax: number): Readonly<Record<string, unknown>> {
  const { inputDocuments } = body;
  if (!Array.isArray(inputDocuments) || inputDocuments.length <= documentsMax) return body;
  return { ...body, inputDocuments: inputDocuments.slice(0, documentsMax + 1) };
}
