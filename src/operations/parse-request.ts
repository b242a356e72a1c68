import type { z } from 'zod';
import { closestName, quotedName } from '../config/closest-name.ts';
import { LongText } from '../documents/long-text.ts';
import { Refusal } from '../result-codes.ts';
import { issueText } from './issue-text.ts';

type Path = readonly PropertyKey[];

const maxStepCharacters = 128;

/**
 * Checks a request against its schema. Missing fields are reported before invalid ones, and unknown
 * members last (contract §2, order of checks).
 * @throws {Refusal} FIELD_MISSING or FIELD_INVALID, with the JSON Pointer of the field.
 */
export function parseRequest<T>(schema: z.ZodType<T>, body: Readonly<Record<string, unknown>>): T {
  const parsed = schema.safeParse(body, { error: issueText });
  const issues = parsed.error?.issues ?? [];
  const missing = issues.find((issue) => issue.code !== 'unrecognized_keys' && valueAt(body, issue.path) === undefined);
  if (missing !== undefined) throw missingField(missing.path, issues);
  const wrong = issues.find((issue) => issue.code !== 'unrecognized_keys');
  if (wrong !== undefined) throw new Refusal('FIELD_INVALID', { at: pointer(wrong.path), message: wrong.message });
  for (const issue of issues) {
    if (issue.code === 'unrecognized_keys') throw unknownMember([...issue.path, issue.keys[0] ?? ''], issue.message);
  }
  const prototype = pathOfPrototypeMember(body, []);
  if (prototype !== undefined) throw unknownMember(prototype, 'unknown field');
  if (!parsed.success) throw new Refusal('FIELD_INVALID', { message: 'the request does not match its schema' });
  return parsed.data;
}

/** Returns the JSON Pointer (RFC 6901) of a path. */
export function pointer(path: Path): string {
  return path.map((step) => `/${shown(String(step)).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** Shortens a name that is longer than any field's, so that answers do not repeat it in full. */
function shown(step: string): string {
  return step.length <= maxStepCharacters ? step : `${step.slice(0, maxStepCharacters).toWellFormed()}…`;
}

function unknownMember(path: Path, message: string): Refusal {
  return new Refusal('FIELD_INVALID', { at: pointer(path), message });
}

/**
 * Names an unknown field beside the missing one if its name is similar: unknown fields alone are
 * reported last.
 */
function missingField(path: Path, issues: readonly z.core.$ZodIssue[]): Refusal {
  const [parent, name] = [pointer(path.slice(0, -1)), String(path.at(-1))];
  const unknown = issues.flatMap((issue) => (issue.code === 'unrecognized_keys' && pointer(issue.path) === parent ? issue.keys : []));
  const similar = unknown.find((key) => closestName(key, [name]) !== undefined);
  const message = 'this field is required';
  return new Refusal('FIELD_MISSING', {
    at: pointer(path),
    message: similar === undefined ? message : `${message}; the unknown field ${quotedName(similar)} has a similar name`,
  });
}

function valueAt(value: unknown, path: Path): unknown {
  let current = value;
  for (const step of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, step)) return undefined;
    current = Reflect.get(current, step);
  }
  return current;
}

/**
 * Finds a member named `__proto__`, an own property after JSON.parse that schema libraries ignore.
 */
export function pathOfPrototypeMember(value: unknown, path: Path): Path | undefined {
  if (typeof value !== 'object' || value === null || value instanceof LongText) return undefined;
  if (Object.hasOwn(value, '__proto__')) return [...path, '__proto__'];
  for (const [name, member] of Object.entries(value)) {
    const found = typeof member === 'object' ? pathOfPrototypeMember(member, [...path, name]) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}
