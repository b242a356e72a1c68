import type { LimitsConfig } from '../config/limits-config.ts';

/** Limits of the configuration that the documentation shows for lists. */
type ListLimit = Extract<keyof LimitsConfig, 'documentsMax'>;

/**
 * Metadata of a list whose maximum length is a limit of the configuration: the documentation shows
 * the limit in force instead of the schema's own, which is the highest that can be configured.
 */
export function limitedBy(limit: ListLimit): { readonly limitedBy: ListLimit } {
  return { limitedBy: limit };
}

/** How the documentation writes an object of which exactly one of several members is required. */
export interface Choice {
  /** Member to the name of the component that describes the object with this member. */
  readonly variants: Readonly<Record<string, string>>;
  /** Member to the other members that may be there too, and are then ignored. */
  readonly ignored: Readonly<Record<string, readonly string[]>>;
}

/**
 * Metadata of an object of which exactly one of these members is required, as the operation checks.
 * In the documentation it is a choice (`oneOf`) of objects that have one of them.
 */
export function exactlyOneOf(variants: Choice['variants'], ignored: Choice['ignored'] = {}): { readonly choice: Choice } {
  return { choice: { variants, ignored } };
}

/**
 * JSON Schema of an object that has these members, whatever else it has. To say so keeps linters
 * from closing it.
 */
export function having(members: Readonly<Record<string, object>>): object {
  return { properties: members, required: Object.keys(members), additionalProperties: true };
}

/** JSON Schema: if the condition holds, then the consequence does; else `otherwise`. */
export function where(condition: object, consequence: object, otherwise?: object): object {
  const keywords = new Map([['if', condition]]).set('then', consequence);
  return Object.fromEntries(otherwise === undefined ? keywords : keywords.set('else', otherwise));
}
