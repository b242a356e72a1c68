import { z } from 'zod';
import { closestName } from '../config/closest-name.ts';
import { LongText } from '../documents/long-text.ts';

/** JSON names for the types of the schema language. */
const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

const unitNames: Readonly<Record<string, string>> = { string: 'characters', array: 'entries' };

/** Returns the message for a field whose schema has none of its own. */
export function issueText(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input instanceof LongText) return issue.expected === 'string' ? 'this text is too long' : wrongType(issue.expected);
      return wrongType(issue.expected);
    case 'invalid_value':
      return `this must be one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return bound(issue.inclusive === false ? 'more than' : 'at least', issue.minimum, issue.origin);
    case 'too_big':
      return bound(issue.inclusive === false ? 'less than' : 'at most', issue.maximum, issue.origin);
    case 'invalid_key':
      return issue.issues[0]?.message ?? 'no member may have this name';
    case 'unrecognized_keys':
      return unknownField(issue.keys[0] ?? '', issue.inst instanceof z.ZodObject ? Object.keys(issue.inst.shape) : []);
    case 'invalid_format':
    case 'not_multiple_of':
    case 'invalid_union':
    case 'invalid_element':
    case 'custom':
      return 'this has the wrong form';
  }
}

/** Returns the message for a member that no table names. */
export function unknownField(name: string, known: readonly string[]): string {
  const meant = closestName(name, known);
  return meant === undefined ? 'unknown field' : `unknown field; did you mean "${meant}"?`;
}

function wrongType(expected: string): string {
  return `this must be ${typeNames[expected] ?? expected}`;
}

function bound(relation: string, limit: number | bigint, origin: string): string {
  const unit = unitNames[origin];
  return unit === undefined ? `this must be ${relation} ${limit}` : `this must have ${relation} ${limit} ${unit}`;
}
