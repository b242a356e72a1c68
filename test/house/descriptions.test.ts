import { expect, it } from 'vitest';
import { z } from 'zod';
import { Config } from '../../src/config/config.ts';
import { LimitsConfig } from '../../src/config/limits-config.ts';
import { describeInterface } from '../../src/http/documentation/openapi.ts';
import { operations } from '../../src/operations/table.ts';

/** A JSON Schema as it is read here. */
interface Schema {
  readonly [keyword: string]: unknown;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
}

interface Member {
  readonly at: string;
  readonly schema: Schema;
}

const inner = ['items', 'additionalProperties'] as const;
const alternatives = ['anyOf', 'oneOf', 'allOf'] as const;

/** The members of a schema, at whatever depth, each with its place. A reference is followed, and once where it leads back to itself. */
function members(schema: Schema, resolve: (reference: string) => Schema, at = '', followed: readonly string[] = []): Member[] {
  const reference = schema['$ref'];
  if (typeof reference === 'string') {
    return followed.includes(reference) ? [] : members(resolve(reference), resolve, at, [...followed, reference]);
  }
  return [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, member]) => [
      { at: `${at}/${name}`, schema: described(member, resolve) },
      ...members(member, resolve, `${at}/${name}`, followed),
    ]),
    ...inner.flatMap((keyword) => {
      const one = schema[keyword];
      return typeof one === 'object' && one !== null ? members(one as Schema, resolve, `${at}/*`, followed) : [];
    }),
    ...alternatives.flatMap((keyword) => ((schema[keyword] ?? []) as Schema[]).flatMap((one) => members(one, resolve, at, followed))),
  ];
}

/** A reference says what it refers to, unless it says it better itself. */
function described(schema: Schema, resolve: (reference: string) => Schema): Schema {
  const reference = schema['$ref'];
  return schema.description === undefined && typeof reference === 'string' ? resolve(reference) : schema;
}

/** Places of members that say nothing. An object says what it is by its members. */
function withoutWords(found: readonly Member[]): string[] {
  const silent = found.filter(({ schema }) => schema.properties === undefined && (schema.description ?? '').trim() === '');
  return [...new Set(silent.map(({ at }) => at))];
}

function pointed(document: object, reference: string): Schema {
  let value: unknown = document;
  for (const step of reference.slice(2).split('/')) value = (value as Record<string, unknown>)[step];
  return value as Schema;
}

it('every option of the configuration says what it means', () => {
  const schema = z.toJSONSchema(Config, { io: 'input' }) as Schema;
  const found = members(schema, (reference) => pointed(schema, reference));
  expect(found.length).toBeGreaterThan(100);
  expect(withoutWords(found)).toEqual([]);
});

/** The schemas of bodies, wherever they are in the document, each with its place. */
function bodySchemas(value: unknown, at: string): Member[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]: [string, unknown]) =>
    name === 'schema' ? [{ at: `${at} `, schema: member as Schema }] : bodySchemas(member, `${at} ${name}`),
  );
}

it('every field of the interface says what it means', () => {
  const paths = { operations, signRoot: '/sign', doc2dRoot: '/doc2d', cscRoot: '/csc', ftmRoot: '/ftm' };
  const { document } = describeInterface(paths, LimitsConfig.parse({}));
  const found = bodySchemas(document.paths, '').flatMap(({ at, schema }) =>
    members(schema, (reference) => pointed(document, reference), at),
  );
  expect(found.length).toBeGreaterThan(300);
  expect(withoutWords(found)).toEqual([]);
});
