import { referredName, resolved, type Schema, type Schemas } from './schema.ts';

/** A field as the page shows it, with the fields inside it. */
export interface Field {
  readonly name: string;
  /** JSON Pointer, with `*` for each element of a list. */
  readonly pointer: string;
  readonly type: string;
  /** Permitted values; empty if the type says enough. */
  readonly values: readonly (string | number)[];
  /** `one of`: one of several fields beside each other is required. */
  readonly need: 'required' | 'one of' | 'optional';
  readonly description: string;
  /** The schema's demands beyond the type, in words. */
  readonly limits: readonly string[];
  readonly fields: readonly Field[];
}

/** Returns the fields of an object. `schemas`: the components that it refers to. */
export function fieldsOf(schema: Schema, schemas: Schemas, pointer = ''): readonly Field[] {
  const { properties, required, choices } = membersOf(resolved(schema, schemas), schemas);
  return Object.entries(properties).map(([name, member]): Field => {
    const whole = resolved(member, schemas);
    const element = whole.items === undefined ? undefined : resolved(whole.items, schemas);
    const at = `${pointer}/${name}`;
    return {
      name,
      pointer: at,
      type: typeOf(member, schemas),
      values: whole.enum ?? element?.enum ?? only(whole) ?? [],
      need: required.has(name) ? 'required' : choices.has(name) ? 'one of' : 'optional',
      description: whole.description ?? '',
      limits: [...limitsOf(whole), ...(element === undefined ? [] : limitsOf(element).map((limit) => `each ${limit}`))],
      fields: element === undefined ? fieldsOf(whole, schemas, at) : fieldsOf(element, schemas, `${at}/*`),
    };
  });
}

interface Members {
  readonly properties: Readonly<Record<string, Schema>>;
  readonly required: ReadonlySet<string>;
  /** Members of which exactly one is required. */
  readonly choices: ReadonlySet<string>;
}

/** Returns the members of an object; of a choice of objects, those of all of them. */
function membersOf({ properties = {}, required = [], oneOf = [] }: Schema, schemas: Schemas): Members {
  if (oneOf.length === 0) return { properties, required: new Set(required), choices: new Set() };
  const variants = oneOf.map((variant) => resolved(variant, schemas));
  const needed = variants.map((variant) => new Set(variant.required ?? []));
  const always = new Set([...(needed[0] ?? [])].filter((name) => needed.every((names) => names.has(name))));
  const choices = new Set(needed.flatMap((names) => [...names]).filter((name) => !always.has(name)));
  return {
    properties: Object.assign({}, ...variants.map((variant) => variant.properties)) as Members['properties'],
    required: always,
    choices,
  };
}

function typeOf(schema: Schema, schemas: Schemas): string {
  const { type, items, oneOf, enum: values, contentEncoding } = resolved(schema, schemas);
  if (type === 'array') return `list of ${items === undefined ? 'any' : typeOf(items, schemas)}`;
  const name = referredName(schema);
  if (name !== undefined) return name;
  if (values !== undefined || oneOf !== undefined) return 'choice';
  return contentEncoding === 'base64' ? 'base64' : (type ?? 'any');
}

const ranges: readonly (readonly [least: string, most: string, unit: (count: string) => string])[] = [
  ['minLength', 'maxLength', (count) => (count === '1' ? ' character' : ' characters')],
  ['minItems', 'maxItems', (count) => (count === '1' ? ' entry' : ' entries')],
  ['minimum', 'maximum', () => ''],
];

const words: readonly (readonly [keyword: string, text: (value: string) => string])[] = [
  ['maxProperties', (value) => `at most ${value} members`],
  ['exclusiveMinimum', (value) => `more than ${value}`],
  ['pattern', (value) => `pattern ${value}`],
  ['default', (value) => `default ${value}`],
];

function limitsOf(schema: Schema): string[] {
  // A description says it better where bytes count, or than a regular expression.
  const countsBytes = / bytes\b/.test(schema.description ?? '');
  const within = ranges
    .filter(([least]) => !countsBytes || least !== 'minLength')
    .flatMap(([least, most, unit]) => range(schema[least], schema[most], unit));
  const others = words.flatMap(([keyword, text]) => {
    const value = schema[keyword];
    if (keyword === 'pattern' && schema.description !== undefined) return [];
    return typeof value === 'string' || typeof value === 'number' ? [text(String(value))] : [];
  });
  return [...within, ...others];
}

function range(least: unknown, most: unknown, unit: (count: string) => string): string[] {
  if (typeof least === 'number' && typeof most === 'number') return [`${least} to ${most}${unit(String(most))}`];
  if (typeof least === 'number') return [`at least ${least}${unit(String(least))}`];
  return typeof most === 'number' ? [`at most ${most}${unit(String(most))}`] : [];
}

/** The value of a field that has only one. */
function only({ const: value }: Schema): readonly string[] | undefined {
  return typeof value === 'string' || typeof value === 'boolean' ? [String(value)] : undefined;
}
