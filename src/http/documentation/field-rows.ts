import type { Schema } from './schema.ts';

/** A field as the page shows it. */
export interface FieldRow {
  /** JSON Pointer, with `*` for each element of a list. */
  readonly pointer: string;
  readonly type: string;
  readonly required: boolean;
  readonly description: string;
  /** The schema's demands beyond the type, in words. */
  readonly limits: readonly string[];
}

/** The fields of a schema, each below the object that holds it. */
export function fieldRows(schema: Schema, pointer = ''): FieldRow[] {
  const required = new Set(schema.required ?? []);
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, field]): FieldRow[] => {
    const at = `${pointer}/${name}`;
    const row = {
      pointer: at,
      type: typeOf(field),
      required: required.has(name),
      description: field.description ?? '',
      limits: limitsOf(field),
    };
    return [row, ...fieldRows(field, at)];
  });
  return schema.items === undefined ? own : [...own, ...fieldRows(schema.items, `${pointer}/*`)];
}

function typeOf({ type, items, enum: values, $ref: reference }: Schema): string {
  if (typeof reference === 'string') return 'object';
  if (values !== undefined) return values.join(' | ');
  if (type === 'array') return `list of ${items === undefined ? 'any' : typeOf(items)}`;
  return type ?? 'any';
}

const words: readonly (readonly [keyword: string, text: (value: string) => string])[] = [
  ['minLength', (value) => `at least ${value} character${value === '1' ? '' : 's'}`],
  ['maxLength', (value) => `at most ${value} characters`],
  ['minItems', (value) => `at least ${value}`],
  ['maxItems', (value) => `at most ${value}`],
  ['exclusiveMinimum', (value) => `more than ${value}`],
  ['minimum', (value) => `at least ${value}`],
  ['maximum', (value) => `at most ${value}`],
  ['pattern', (value) => `pattern ${value}`],
  ['default', (value) => `default ${value}`],
];

function limitsOf(schema: Schema): string[] {
  return words.flatMap(([keyword, text]) => {
    const value = schema[keyword];
    // Zod writes the range of exact integers, which every number here has.
    // A description says it better than a regular expression.
    if (keyword === 'pattern' && schema.description !== undefined) return [];
    if ((typeof value !== 'string' && typeof value !== 'number') || Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER) return [];
    return [text(String(value))];
  });
}
