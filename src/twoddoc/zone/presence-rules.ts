import { allowedIdentifiers, type ConditionalRule, type DocumentType } from '../tables/document-types.ts';

/** Checks which fields a message has (ANTS 2D-Doc v3.2.6, §8). */

/** A rule that a message breaks. */
export interface BrokenPresence {
  /** The field that it is about; undefined if it is about several. */
  readonly id?: string;
  /** Index of the field in the message; undefined if the field is missing. */
  readonly index?: number;
  /** In words that follow the name of the field, or the place of the message. */
  readonly rule: string;
}

interface FieldValue {
  readonly id: string;
  readonly value: string;
}

/**
 * Returns the first rule that the fields of a message break. `nameOf` writes an identifier as the
 * caller knows it.
 */
export function brokenPresence(
  type: DocumentType,
  fields: readonly FieldValue[],
  nameOf: (id: string) => string,
): BrokenPresence | undefined {
  const allowed = allowedIdentifiers(type);
  const values = new Map<string, string>();
  for (const [index, { id, value }] of fields.entries()) {
    if (!allowed.has(id)) return { id, index, rule: `not allowed in type ${type.code}` };
    if (values.has(id)) return { id, index, rule: 'allowed only once' };
    values.set(id, value);
  }
  const missing = type.mandatory.find((id) => !values.has(id));
  if (missing !== undefined) return { id: missing, rule: `mandatory in type ${type.code}, but missing` };
  for (const rule of type.conditional) {
    const broken = brokenCondition(rule, values, nameOf);
    if (broken !== undefined) return broken;
  }
  return undefined;
}

function brokenCondition(
  rule: ConditionalRule,
  values: ReadonlyMap<string, string>,
  nameOf: (id: string) => string,
): BrokenPresence | undefined {
  if (rule.rule === 'requiredIf') {
    const { field, when } = rule;
    const value = values.get(when.id);
    if (values.has(field) || value === undefined || !when.values.includes(value)) return undefined;
    return { id: field, rule: `mandatory because ${nameOf(when.id)} is ${value}, but missing` };
  }
  const complete = rule.alternatives.filter((alternative) => alternative.every((id) => values.has(id)));
  const inWords = rule.alternatives.map((alternative) => listed(alternative.map(nameOf))).join(', or ');
  if (complete.length === 0) return { rule: `${rule.rule === 'oneOf' ? 'at least' : 'exactly'} one of these must be complete: ${inWords}` };
  if (complete.length > 1 && rule.rule === 'exactlyOneOf') return { rule: `only one of these is allowed: ${inWords}` };
  return undefined;
}

function listed(words: readonly string[]): string {
  return words.length > 1 ? `${words.slice(0, -1).join(', ')} and ${words.at(-1)}` : words.join('');
}
