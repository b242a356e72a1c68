import { z } from 'zod';
import { ConfigError } from './config-error.ts';
import { closestName } from './closest-name.ts';
import type { MemberPath, YamlFile } from './yaml-file.ts';

/** Names of the members of a place are listed in a fault up to this number. */
const namesMax = 12;

interface JsonSchema {
  readonly [keyword: string]: unknown;
}

type Issue = z.core.$ZodIssue;

/**
 * Parses the content of a configuration file, or of some of its sections.
 * @throws {ConfigError} with one line for each fault, with its line and column in the file
 */
export function parseMembers<T extends z.ZodType>(schema: T, file: YamlFile): z.output<T> {
  const parsed = schema.safeParse(file.value);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.flatMap((issue) => faultsOf(issue, [], schema, file));
  // A mistyped name is not reported again as a missing member.
  const meant = new Set(faults.map((fault) => fault.meant));
  const lines = faults.filter(({ path, isMissing }) => !isMissing || !meant.has(path.join('.')));
  throw new ConfigError(lines.map(({ path, message }) => file.fault(path, message)).join('\n'));
}

interface MemberFault {
  readonly path: MemberPath;
  readonly message: string;
  readonly isMissing: boolean;
  /** Path of the member that the unknown one probably means. */
  readonly meant?: string;
}

function faultsOf(issue: Issue, above: MemberPath, schema: z.ZodType, file: YamlFile): MemberFault[] {
  const path = [...above, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    const names = memberNames(schema, path);
    return issue.keys.map((key) => unknownMember(path, key, names));
  }
  if (issue.code === 'invalid_union') {
    // Of several forms, the one meant is probably the one with the fewest faults.
    const [nearest] = issue.errors.toSorted((one, other) => one.length - other.length);
    if (nearest?.some(({ code, path: inner }) => inner.length > 0 || code === 'unrecognized_keys') === true)
      return nearest.flatMap((one) => faultsOf(one, path, schema, file));
  }
  // The rule of the names is that of a record.
  const [ofName] = issue.code === 'invalid_key' ? issue.issues : [];
  if (ofName !== undefined) return [{ path, message: ofName.message, isMissing: false }];
  const isMissing = (issue.code === 'invalid_type' || issue.code === 'invalid_value') && valueAt(file.value, path) === undefined;
  return [{ path, message: isMissing ? 'this member is required' : issue.message.replaceAll('\n', ' '), isMissing }];
}

function unknownMember(parent: MemberPath, name: string, names: readonly string[]): MemberFault {
  const path = [...parent, name];
  const near = closestName(name, names);
  if (near !== undefined) {
    const message = `unknown member; did you mean "${near}"?`;
    return { path, message, isMissing: false, meant: [...parent, near].join('.') };
  }
  const known = names.length === 0 || names.length > namesMax ? '' : `; known here: ${names.join(', ')}`;
  return { path, message: `unknown member${known}`, isMissing: false };
}

/** Returns the names of the members that may be at a place of the configuration. */
function memberNames(schema: z.ZodType, path: MemberPath): string[] {
  // It is a JSON Schema document.
  const root = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  let places = formsOf(root, root);
  for (const name of path) places = places.flatMap((place) => membersAt(place, String(name))).flatMap((place) => formsOf(place, root));
  return [...new Set(places.flatMap(({ properties }) => (isObject(properties) ? Object.keys(properties) : [])))];
}

/** Returns a schema and its alternatives, with references followed. */
function formsOf(schema: JsonSchema, root: JsonSchema): JsonSchema[] {
  const { $ref: reference } = schema;
  if (typeof reference === 'string') {
    const target = reference
      .slice(2)
      .split('/')
      .reduce<unknown>((value, step) => (isObject(value) ? value[step] : undefined), root);
    return isObject(target) ? formsOf(target, root) : [];
  }
  const alternatives = ['anyOf', 'oneOf', 'allOf'].flatMap((keyword) => {
    const list = schema[keyword];
    return Array.isArray(list) ? list.filter(isObject) : [];
  });
  return [schema, ...alternatives.flatMap((one) => formsOf(one, root))];
}

function membersAt({ properties, additionalProperties, items }: JsonSchema, name: string): JsonSchema[] {
  if (isObject(properties) && isObject(properties[name])) return [properties[name]];
  return [additionalProperties, items].filter(isObject);
}

function valueAt(value: unknown, path: MemberPath): unknown {
  return path.reduce<unknown>((inside, name) => (isObject(inside) || Array.isArray(inside) ? Reflect.get(inside, name) : undefined), value);
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
