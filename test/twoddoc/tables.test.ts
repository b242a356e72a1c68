import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { schemaOf } from '../../src/twoddoc/schemas/schema-of.ts';
import { dataIdentifier, dataIdentifiers } from '../../src/twoddoc/tables/data-identifiers.ts';
import { allowedIdentifiers, documentType, documentTypes } from '../../src/twoddoc/tables/document-types.ts';
import { allowedIn, publishedIdentifiers, publishedTypes, typesWithSchema } from '../support/two-d-doc-tables.ts';

const sources = new URL('../../src/twoddoc/', import.meta.url);
const built = new URL('../../dist/twoddoc/', import.meta.url);

test('the tables have all types and identifiers that are published', () => {
  expect(documentTypes()).toHaveLength(59);
  expect(publishedTypes.map(({ code, name, mandatory }) => ({ code, name, mandatory }))).toEqual(
    publishedTypes.map(({ code }) => ({ code, name: documentType(code)?.name, mandatory: documentType(code)?.mandatory })),
  );
  expect(dataIdentifiers()).toHaveLength(402);
  expect(publishedIdentifiers.map(({ id, name, minLength, maxLength }) => ({ id, name, minLength, maxLength }))).toEqual(
    dataIdentifiers().map(({ id, name, minLength, maxLength }) => ({ id, name, minLength, maxLength })),
  );
  expect([documentType('ZZ'), dataIdentifier('ZZ')]).toEqual([undefined, undefined]);
});

test.each(typesWithSchema)('type %s allows the fields that its schema has', (code) => {
  const schema = readFileSync(new URL(`schemas/2ddoc-01-${code}.xsd`, sources), 'utf8');
  const [, message = ''] = schema.split('<xs:element name="message">');
  const elements = Array.from(message.matchAll(/<xs:element name="D(..)"/g), ([, id = '']) => id).toSorted();
  expect(schemaOf(code)).toBeDefined();
  expect([...allowedIdentifiers(documentType(code) ?? expect.unreachable())].toSorted()).toEqual(elements);
  expect(allowedIn(publishedTypes.find((type) => type.code === code) ?? expect.unreachable()).toSorted()).toEqual(elements);
});

test('types of which only the name is public have no schema', () => {
  expect(['29', 'B3', 'ZZ'].map(schemaOf)).toEqual([undefined, undefined, undefined]);
});

test('the build has the schemas and the tables', () => {
  const files = ['schemas/', 'tables/'].flatMap((folder) =>
    readdirSync(new URL(folder, sources))
      .filter((name) => /\.(?:xsd|json)$/.test(name))
      .map((name) => `${folder}${name}`),
  );
  expect(files).toHaveLength(60);
  const parsed = (file: string, root: URL): unknown => {
    const content = readFileSync(new URL(file, root), 'utf8');
    return file.endsWith('.json') ? JSON.parse(content) : content;
  };
  for (const file of files) expect(parsed(file, built)).toEqual(parsed(file, sources));
});
