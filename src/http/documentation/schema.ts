/** A JSON Schema (2020-12), as far as the documentation looks into it. */
export interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly (string | number)[];
  readonly oneOf?: readonly Schema[];
  readonly $ref?: string;
  readonly [keyword: string]: unknown;
}

/** Named schemas: the components of the document. */
export type Schemas = Readonly<Record<string, Schema>>;

const components = '#/components/schemas/';

/** Returns a reference to a component. */
export function reference(name: string): Schema {
  return { $ref: components + name };
}

/** Returns the name of the component that a schema refers to; undefined if it refers to none. */
export function referredName({ $ref }: Schema): string | undefined {
  return $ref?.startsWith(components) === true ? $ref.slice(components.length) : undefined;
}

/** Returns the schema itself, or the component that it refers to with what it says besides. */
export function resolved(schema: Schema, schemas: Schemas): Schema {
  const name = referredName(schema);
  if (name === undefined) return schema;
  const { $ref: _reference, ...besides } = schema;
  return { ...schemas[name], ...besides };
}
