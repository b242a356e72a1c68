import rows from './document-types.json' with { type: 'json' };
import { dataIdentifiers } from './data-identifiers.ts';

/**
 * A rule about several fields (ANTS 2D-Doc v3.2.6, §8). `oneOf`: at least one of the alternatives
 * is complete; `exactlyOneOf`: one and no other; `requiredIf`: the field is there if another one
 * has one of the values, as they are in the zone.
 */
export type ConditionalRule =
  | { readonly rule: 'oneOf' | 'exactlyOneOf'; readonly alternatives: readonly (readonly string[])[] }
  | { readonly rule: 'requiredIf'; readonly field: string; readonly when: { readonly id: string; readonly values: readonly string[] } };

/** A document type (ANTS 2D-Doc v3.2.6, §6 and §8; types that v3.3 added included). */
export interface DocumentType {
  /** Two characters. */
  readonly code: string;
  /**
   * `01`: written in C40 characters; `0x0001`: the binary perimeter, which has no public tables.
   */
  readonly perimeter: string;
  /** In French, as in the specification. */
  readonly name: string;
  readonly category: string;
  /** `undated`: the header has FFFF. */
  readonly issueDate: 'required' | 'undated' | 'unknown';
  /** Whether the fields are known. If not, there is no schema, and nothing is allowed. */
  readonly isPublic: boolean;
  readonly mandatory: readonly string[];
  readonly optional: readonly string[];
  /** Identifiers of `optionalSections` that are not allowed. */
  readonly forbidden: readonly string[];
  readonly conditional: readonly ConditionalRule[];
  /** Sections of the table of identifiers (§7) whose fields are optional. */
  readonly optionalSections: readonly string[];
}

const table = rows as readonly DocumentType[];
const byCode = new Map(table.filter(({ perimeter }) => perimeter === '01').map((type) => [type.code, type]));

/** Returns all 59 types, those of which only the name is public included. */
export function documentTypes(): readonly DocumentType[] {
  return table;
}

/** Returns a type of the perimeter 01. */
export function documentType(code: string): DocumentType | undefined {
  return byCode.get(code);
}

const allowed = new Map<DocumentType, ReadonlySet<string>>();

/** Returns the identifiers of the fields that a type may have. */
export function allowedIdentifiers(type: DocumentType): ReadonlySet<string> {
  const known = allowed.get(type);
  if (known !== undefined) return known;
  const found = new Set([
    ...type.mandatory,
    ...type.optional,
    ...type.conditional.flatMap(identifiersOf),
    ...ofSections(type.optionalSections),
  ]);
  for (const id of type.forbidden) found.delete(id);
  allowed.set(type, found);
  return found;
}

function identifiersOf(rule: ConditionalRule): readonly string[] {
  return rule.rule === 'requiredIf' ? [rule.field] : rule.alternatives.flat();
}

function ofSections(sections: readonly string[]): readonly string[] {
  return dataIdentifiers()
    .filter(({ section }) => sections.includes(section))
    .map(({ id }) => id);
}
