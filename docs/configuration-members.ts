import { z } from 'zod';

/** What the documents of the configuration use of JSON Schema. */
interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly propertyNames?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
}

const Schema: z.ZodType<Schema> = z.lazy(() =>
  z.object({
    type: z.string().optional(),
    description: z.string().optional(),
    default: z.unknown().optional(),
    properties: z.record(z.string(), Schema).optional(),
    required: z.array(z.string()).optional(),
    items: Schema.optional(),
    // `false` and `true` are no schema of members.
    additionalProperties: Schema.optional().catch(undefined),
    propertyNames: Schema.optional(),
    anyOf: z.array(Schema).optional(),
    oneOf: z.array(Schema).optional(),
    enum: z.array(z.unknown()).optional(),
    const: z.unknown().optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    exclusiveMinimum: z.number().optional(),
  }),
) as z.ZodType<Schema>;

/** A member of the configuration. */
export interface MemberText {
  /** Such as `token.threads`; `<name>` is a name that the operator chooses, `[]` an entry of a list. */
  readonly path: string;
  readonly description: string | undefined;
  /** Type and limits, such as `integer, at least 1`; empty if the schema states none. */
  readonly type: string;
  readonly isRequired: boolean;
  /** As JSON. */
  readonly defaultText: string | undefined;
  /** If the section has several forms: the value of `kind` in that of this member. */
  readonly kind: string | undefined;
}

/** A member at the top of the configuration, and those inside it in the order of the schema. */
export interface SectionText {
  readonly name: string;
  /** Of the section itself. */
  readonly own: MemberText;
  readonly members: readonly MemberText[];
}

/** Returns the sections of the configuration, from its JSON Schema. */
export function configurationSections(schema: unknown): readonly SectionText[] {
  const { properties = {}, required = [] } = Schema.parse(schema);
  return Object.entries(properties).map(([name, section]) => ({
    name,
    own: memberText(name, section, required.includes(name), undefined),
    members: members(name, section, undefined),
  }));
}

/** The members inside a schema, at any depth, each before those inside it. */
function members(path: string, schema: Schema, kind: string | undefined): readonly MemberText[] {
  const { properties = {}, required = [], additionalProperties, items } = schema;
  return [
    ...Object.entries(properties).flatMap(([name, member]) => [
      memberText(`${path}.${name}`, member, required.includes(name), kind),
      ...members(`${path}.${name}`, member, kind),
    ]),
    ...(additionalProperties === undefined ? [] : entries(`${path}.<name>`, additionalProperties, kind)),
    ...(items === undefined ? [] : entries(`${path}[]`, items, kind)),
    ...formsOf(schema).flatMap((choice) => members(path, choice, kindOf(choice) ?? kind)),
  ];
}

/** Entries that are objects are described by their members; others only by their type, which the member itself states. */
function entries(path: string, schema: Schema, kind: string | undefined): readonly MemberText[] {
  const inner = members(path, schema, kind);
  return schema.description === undefined ? inner : [memberText(path, schema, false, kind), ...inner];
}

/** The forms that a value may have, if there are several. */
function formsOf({ anyOf = [], oneOf = [] }: Schema): readonly Schema[] {
  return [...anyOf, ...oneOf];
}

function kindOf({ properties = {} }: Schema): string | undefined {
  const value = properties['kind']?.const;
  return typeof value === 'string' ? value : undefined;
}

function memberText(path: string, schema: Schema, isRequired: boolean, kind: string | undefined): MemberText {
  return { path, description: schema.description, type: typeText(schema), isRequired, defaultText: defaultText(schema), kind };
}

function typeText(schema: Schema): string {
  const { type, items, enum: choices, const: value, additionalProperties, minimum, exclusiveMinimum, maximum } = schema;
  const forms = formsOf(schema);
  if (value !== undefined) return `always ${JSON.stringify(value)}`;
  if (choices !== undefined) return choices.map(String).join(' | ');
  if (forms.length > 0) return [...new Set(forms.map(typeText))].filter((text) => text !== '').join(' or ');
  if (type === 'array') return items === undefined ? 'list' : `list of ${typeText(items)}`;
  if (type === 'object') return additionalProperties === undefined ? 'object' : 'object by name';
  if (type !== 'integer' && type !== 'number') return type ?? '';
  // The schema states the largest safe integer where there is no limit.
  const top = maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER ? undefined : maximum;
  const bottom = minimum === undefined || minimum <= Number.MIN_SAFE_INTEGER ? undefined : minimum;
  const from = exclusiveMinimum !== undefined ? `more than ${exclusiveMinimum}` : bottom === undefined ? '' : `at least ${bottom}`;
  const to = top === undefined ? '' : `at most ${top}`;
  return [type, from, to].filter((text) => text !== '').join(', ');
}

/** Sections whose members all have defaults default to an empty object, which says nothing. */
function defaultText({ default: value, type, properties }: Schema): string | undefined {
  if (value === undefined || (type === 'object' && properties !== undefined)) return undefined;
  return Array.isArray(value) ? `[${value.map((entry) => JSON.stringify(entry)).join(', ')}]` : JSON.stringify(value);
}
