import type { z } from 'zod';
import { LongText } from '../../documents/long-text.ts';
import type { Refusal } from '../../result-codes.ts';
import { issueText } from '../issue-text.ts';
import { pointer } from '../parse-request.ts';
import { invalidRequest } from './errors.ts';

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** The standard's names of the JSON types. */
const typeNames: Readonly<Record<string, string>> = { int: 'integer', number: 'integer' };

/**
 * Checks a request against its schema, with the errors of the standard: missing parameters first,
 * unknown ones last.
 * @throws {Refusal} FIELD_MISSING, FIELD_INVALID
 */
export function parseParameters<T>(schema: z.ZodType<T>, body: Readonly<Record<string, unknown>>): T {
  const parsed = schema.safeParse(body, { error: wordsOfUnknown });
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const known = issues.filter(({ code }) => code !== 'unrecognized_keys');
  const issue = known.find(({ path }) => valueAt(body, path) === undefined) ?? known[0] ?? issues[0];
  if (issue === undefined) throw new Error('a failed check has an issue');
  throw refusalOf(issue, body);
}

/** Unknown parameters are described as in the other operations, everything else in the standard's words. */
function wordsOfUnknown(issue: z.core.$ZodRawIssue): string | undefined {
  return issue.code === 'unrecognized_keys' ? issueText(issue) : undefined;
}

function refusalOf(issue: Issue, body: Readonly<Record<string, unknown>>): Refusal {
  if (issue.code === 'unrecognized_keys') {
    const [name = ''] = issue.keys;
    return invalidRequest(`Unknown parameter ${name.slice(0, 64).toWellFormed()}: ${issue.message}`);
  }
  const { path } = issue;
  const name = nameOf(path);
  const at = pointer(path);
  if (valueAt(body, path) === undefined) {
    return invalidRequest(`Missing (or invalid type) ${typeOf(issue)} parameter ${name}`, 'FIELD_MISSING', at);
  }
  const isOfOtherType = issue.code === 'invalid_type' || (issue.code === 'custom' && !isText(valueAt(body, path)));
  if (isOfOtherType) return invalidRequest(`Missing (or invalid type) ${typeOf(issue)} parameter ${name}`, 'FIELD_INVALID', at);
  return invalidRequest(wordsOf(issue, name), 'FIELD_INVALID', at);
}

/** The schema's own words, where they are a whole description; otherwise those of the standard. */
function wordsOf({ message, path, code }: Issue, name: string): string {
  if (/^(?:Invalid|Empty) /.test(message) && code !== 'invalid_value') return message;
  if (code === 'custom' && message.startsWith('not base64')) return `Invalid Base64 ${String(path[0])} string parameter`;
  return `Invalid parameter ${name}`;
}

function typeOf(issue: Issue): string {
  if (issue.code === 'invalid_type') return typeNames[issue.expected] ?? issue.expected;
  return 'string';
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
