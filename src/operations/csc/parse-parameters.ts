import type { z } from 'zod';
import { LongText } from '../../documents/long-text.ts';
import type { Refusal } from '../../result-codes.ts';
import { issueText } from '../issue-text.ts';
import { pathOfPrototypeMember, pointer } from '../parse-request.ts';
import { invalidRequest } from './errors.ts';

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** The standard's names of the JSON types. */
const typeNames: Readonly<Record<string, string>> = { int: 'integer', number: 'integer' };

/**
 * Checks a request against its schema, with the errors of the standard: missing parameters first,
 * unknown ones last. A parameter that is null counts as absent: many clients write all that they
 * know of.
 * @throws {Refusal} FIELD_MISSING, FIELD_INVALID
 */
export function parseParameters<T>(schema: z.ZodType<T>, request: Readonly<Record<string, unknown>>): T {
  const body = withoutNull(request);
  // Its messages are told from those of the schemas, which are the standard's.
  const parsed = schema.safeParse(body, { error: issueText });
  const prototype = pathOfPrototypeMember(body, []);
  if (parsed.success && prototype === undefined) return parsed.data;
  const issues: readonly Issue[] = parsed.error?.issues ?? [];
  const known = issues.filter(({ code }) => code !== 'unrecognized_keys');
  const issue = known.find(({ path }) => valueAt(body, path) === undefined) ?? known[0] ?? issues[0];
  if (issue !== undefined) throw refusalOf(issue, body);
  throw unknownParameter(String(prototype?.at(-1)), 'unknown field');
}

/** Returns an object without its members that are null, and without those of the objects in its lists. */
function withoutNull(object: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const members = Object.entries(object).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, Array.isArray(member) ? member.map(ofList) : member]));
}

function ofList(member: unknown): unknown {
  const isObject = typeof member === 'object' && member !== null && !Array.isArray(member) && !(member instanceof LongText);
  return isObject ? withoutNull({ ...member }) : member;
}

function unknownParameter(name: string, message: string): Refusal {
  return invalidRequest(
    `Unknown parameter ${name.slice(0, 64).toWellFormed()}: ${message}`,
    'FIELD_INVALID',
    undefined,
    `Unknown parameter: ${message}`,
  );
}

function refusalOf(issue: Issue, body: Readonly<Record<string, unknown>>): Refusal {
  if (issue.code === 'unrecognized_keys') return unknownParameter(issue.keys[0] ?? '', issue.message);
  const { path } = issue;
  const name = nameOf(path);
  const at = pointer(path);
  const value = valueAt(body, path);
  const ofOtherType = `Missing (or invalid type) ${typeOf(issue)} parameter ${name}`;
  if (value === undefined) return invalidRequest(ofOtherType, 'FIELD_MISSING', at);
  return invalidRequest(isOfOtherType(issue, value) ? ofOtherType : wordsOf(issue, name), 'FIELD_INVALID', at);
}

function isOfOtherType(issue: Issue, value: unknown): boolean {
  if (issue.code === 'invalid_value') return typeof value !== typeof issue.values[0];
  return issue.code === 'invalid_type' || (issue.code === 'custom' && !isText(value));
}

/** The schema's own words, where they are a whole description; otherwise those of the standard. */
function wordsOf({ message, path, code }: Issue, name: string): string {
  if (/^(?:Invalid|Empty) /.test(message)) return message;
  if (code === 'custom' && message.startsWith('not base64')) return `Invalid Base64 ${String(path[0])} string parameter`;
  return `Invalid parameter ${name}`;
}

function typeOf(issue: Issue): string {
  if (issue.code === 'invalid_type') return typeNames[issue.expected] ?? issue.expected;
  return issue.code === 'invalid_value' ? typeof issue.values[0] : 'string';
}

function isText(value: unknown): boolean {
  return typeof value === 'string' || value instanceof LongText;
}

/** The name of the parameter; a member of an object or a list with its way. */
function nameOf(path: Path): string {
  return path.map(String).join('/').slice(0, 128).toWellFormed();
}

function valueAt(value: unknown, path: Path): unknown {
  let current = value;
  for (const step of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, step)) return undefined;
    current = Reflect.get(current, step);
  }
  return current;
}
