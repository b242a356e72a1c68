import { z } from 'zod';
import { bold, italic, manualPage, roff } from './roff.ts';

/** What this page uses of JSON Schema. */
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
    enum: z.array(z.unknown()).optional(),
    const: z.unknown().optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    exclusiveMinimum: z.number().optional(),
  }),
) as z.ZodType<Schema>;

/** signetd.yaml(5), from the JSON Schema of the configuration. */
export function configurationPage(schema: unknown, version: string, date: string): string {
  const { properties = {} } = Schema.parse(schema);
  const entries = Object.entries(properties);
  const sections = entries.flatMap(([name, section]) => [`.SS ${bold(name)}`, ...described(section), ...members(name, section)]);
  return manualPage({
    name: 'signetd.yaml',
    section: 5,
    purpose: 'configuration of signetd',
    date,
    version,
    lines: [
      '.SH SYNOPSIS',
      italic('/etc/signetd/signetd.yaml'),
      '.SH DESCRIPTION',
      ...[
        'The configuration of signetd is one YAML file. Unknown members are refused, and so are values of another type: nothing is converted.',
        'Names of members have their units. Relative paths are relative to the file.',
        'The file contains no secrets, only references to them: file:<path> (mode 0600), or credential:<name> for a credential of systemd.',
        '"signetctl config check" reports every fault; "systemctl reload signetd.service" applies a changed file whole or not at all.',
      ].map(roff),
      '.PP',
      roff('Members below are named by their path. <name> is a name that the operator chooses, [] an entry of a list.'),
      '.SH SECTIONS',
      ...sections,
      '.SH EXAMPLES',
      `${italic('/usr/share/doc/signetd/examples/signetd.yaml')} is a configuration with comments.`,
    ],
    seeAlso: [
      ['signetctl', 1],
      ['signetd', 8],
    ],
  });
}

function described({ description }: Schema): readonly string[] {
  return description === undefined ? [] : [roff(description)];
}

/** A member and those inside it, each as a tagged paragraph. */
function members(path: string, schema: Schema): readonly string[] {
  const { properties = {}, required = [], additionalProperties, items, anyOf = [] } = schema;
  return [
    ...Object.entries(properties).flatMap(([name, member]) => [
      ...paragraph(`${path}.${name}`, member, required.includes(name)),
      ...members(`${path}.${name}`, member),
    ]),
    ...(additionalProperties === undefined ? [] : inner(`${path}.<name>`, additionalProperties)),
    ...(items === undefined ? [] : inner(`${path}[]`, items)),
    ...anyOf.flatMap((choice) => [...kindLines(choice), ...members(path, choice)]),
  ];
}

/** Entries that are objects are described by their members; others only by their type, which the member itself states. */
function inner(path: string, schema: Schema): readonly string[] {
  return schema.description === undefined ? members(path, schema) : [...paragraph(path, schema, false), ...members(path, schema)];
}

/** Which of several forms of a section the next members belong to. */
function kindLines({ properties = {} }: Schema): readonly string[] {
  const kind = properties['kind']?.const;
  return typeof kind === 'string' ? ['.PP', roff(`With kind: ${kind}:`)] : [];
}

function paragraph(path: string, schema: Schema, isRequired: boolean): readonly string[] {
  const facts = [typeText(schema), ...(isRequired ? ['required'] : []), ...defaultText(schema)].filter((fact) => fact !== '');
  return ['.TP', bold(path), ...described(schema), ...(facts.length === 0 ? [] : [roff(`(${facts.join('; ')})`)])];
}

function typeText({
  type,
  items,
  enum: choices,
  const: value,
  anyOf,
  additionalProperties,
  minimum,
  exclusiveMinimum,
  maximum,
}: Schema): string {
  if (value !== undefined) return `always ${JSON.stringify(value)}`;
  if (choices !== undefined) return choices.map(String).join(' | ');
  if (anyOf !== undefined) return [...new Set(anyOf.map(typeText))].filter((text) => text !== '').join(' or ');
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
function defaultText({ default: value, type, properties }: Schema): readonly string[] {
  if (value === undefined || (type === 'object' && properties !== undefined)) return [];
  const text = Array.isArray(value) ? `[${value.map((entry) => JSON.stringify(entry)).join(', ')}]` : JSON.stringify(value);
  return [`default: ${text}`];
}
