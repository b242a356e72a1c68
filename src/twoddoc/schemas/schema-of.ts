import { readFileSync } from 'node:fs';
import { XmlSchema } from '../../xml/schema.ts';
import { documentTypes } from '../tables/document-types.ts';

/** Definitions that the schemas of all types include. */
const commonFile = '2ddoc-common.xsd';
const include = `<xs:include schemaLocation="${commonFile}"/>`;

const schemas = new Map(documentTypes().flatMap(({ code, isPublic }) => (isPublic ? [[code, new XmlSchema(() => schemaText(code))]] : [])));

/** Returns the schema of the sources of a type; undefined for a type without one. */
export function schemaOf(type: string): XmlSchema | undefined {
  return schemas.get(type);
}

/** Returns the schema of a type with the definitions that it includes, in one document. */
function schemaText(type: string): string {
  const [, definitions = ''] = /<xs:schema[^>]*>([^]*)<\/xs:schema>/.exec(read(commonFile)) ?? [];
  return read(`2ddoc-01-${type}.xsd`).replace(include, () => definitions);
}

function read(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}
