import type { Choice } from '../../fields/documented.ts';
import type { LimitsConfig } from '../../config/limits-config.ts';
import { isDeepStrictEqual } from 'node:util';
import { reference, type Schema, type Schemas } from './schema.ts';

/** The limits in force that the document states. */
export type DocumentedLimits = Pick<LimitsConfig, 'documentsMax'>;

/** What zod writes: its named schemas are in `$defs`. */
interface WrittenSchema extends Schema {
  readonly $defs?: Schemas;
}

/**
 * Collects the named schemas of requests and answers as components, in the form of the document:
 * references, choices and limits are resolved.
 */
export class Components {
  readonly #limits: DocumentedLimits;
  readonly #schemas = new Map<string, Schema>();

  constructor(limits: DocumentedLimits) {
    this.#limits = limits;
  }

  /** The components, in alphabetical order. */
  get schemas(): Schemas {
    return Object.fromEntries([...this.#schemas].toSorted(([one], [other]) => (one < other ? -1 : 1)));
  }

  /** Adds a component, and returns a reference to it. @throws {Error} if another has its name */
  add(name: string, schema: Schema): Schema {
    const known = this.#schemas.get(name);
    if (known !== undefined && !isDeepStrictEqual(known, schema)) throw new Error(`two schemas have the name ${name}`);
    this.#schemas.set(name, schema);
    return reference(name);
  }

  /** Adds the named schemas of one that zod has written, and returns the rest of it. */
  take({ $defs = {}, $schema: _dialect, ...root }: WrittenSchema): Schema {
    for (const [name, schema] of Object.entries($defs)) {
      const { choice, ...described } = schema;
      const own = this.#inDocument(described);
      this.add(name, isChoice(choice) ? this.#choice(name, own, choice) : own);
    }
    return this.#inDocument(root);
  }

  /** Adds a component for each variant of a choice, and returns the choice. */
  #choice(name: string, { description, properties = {}, required = [], ...rest }: Schema, { variants, ignored }: Choice): Schema {
    const choices = Object.entries(variants).map(([member, variant]) => {
      const others = Object.keys(variants).filter((other) => other !== member && ignored[member]?.includes(other) !== true);
      const kept = Object.fromEntries(Object.entries(properties).filter(([property]) => !others.includes(property)));
      return this.add(variant, { ...rest, description: `${name} with ${member}`, properties: kept, required: [...required, member] });
    });
    return { ...(description === undefined ? {} : { description }), oneOf: choices };
  }

  #inDocument(schema: Schema): Schema {
    const { limitedBy, ...rest } = schema;
    const limit = rest.type === 'integer' ? 'maximum' : 'maxItems';
    const limited = limitedBy === 'documentsMax' ? { [limit]: this.#limits.documentsMax } : {};
    const isBase64 = rest['contentEncoding'] === 'base64';
    const members = Object.entries(rest).flatMap(([keyword, value]): [string, unknown][] => {
      if (keyword === '$ref' && typeof value === 'string') return [[keyword, value.replace('#/$defs/', '#/components/schemas/')]];
      // The range of exact integers holds for every number of a body (status 400).
      if ((keyword === 'minimum' || keyword === 'maximum') && Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER) return [];
      if (isBase64 && (keyword === 'format' || keyword === 'pattern')) return [];
      return [[keyword, this.#member(value)]];
    });
    return { ...(rest.type === 'integer' ? { format: 'int64' } : {}), ...Object.fromEntries(members), ...limited };
  }

  #member(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((one: unknown) => this.#member(one));
    return typeof value === 'object' && value !== null ? this.#inDocument(value as Schema) : value;
  }
}

/** Returns the schema of an object that may get further members in later versions. */
export function open({ additionalProperties: _closed, ...schema }: Schema): Schema {
  return schema;
}

function isChoice(value: unknown): value is Choice {
  return typeof value === 'object' && value !== null && 'variants' in value && 'ignored' in value;
}
