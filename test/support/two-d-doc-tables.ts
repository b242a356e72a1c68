import { readFileSync } from 'node:fs';

/** The published tables of 2D-Doc, as the tests read them: not those of the product. */

const fixtures = new URL('../fixtures/2d-doc/', import.meta.url);

export interface PublishedIdentifier {
  readonly id: string;
  readonly name: string;
  readonly section: string;
  readonly minLength: number;
  readonly maxLength: number | null;
  readonly fixed: boolean;
  readonly format: string;
  readonly charset: string;
  readonly truncatable: boolean;
  readonly zeroPadded?: boolean;
  readonly values?: readonly string[];
  readonly valuesClosed?: boolean;
  readonly note?: string;
}

export interface PublishedType {
  readonly code: string;
  readonly perimeter: string;
  readonly name: string;
  readonly emissionDate: 'required' | 'FFFF' | 'unknown';
  readonly mandatory: readonly string[];
  readonly optional: readonly string[];
  readonly optionalSections: readonly string[];
  readonly forbidden: readonly string[];
  readonly conditional: readonly {
    readonly rule: 'oneOf' | 'exactlyOneOf' | 'requiredIf';
    readonly alternatives?: readonly (readonly string[])[];
    readonly field?: string;
    readonly when?: Readonly<Record<string, readonly string[]>>;
  }[];
  readonly confidence: string;
}

export interface PublishedSample {
  readonly id: string;
  readonly version: '01' | '02' | '03' | '04';
  readonly docType: string;
  readonly ca: string;
  readonly cert: string;
  readonly emission: string;
  readonly signatureDate: string;
  readonly perimeter: string | null;
  readonly country: string | null;
  readonly dataZoneBase64: string;
  /** The whole code, where a printed symbol is known. */
  readonly payloadBase64?: string;
}

interface PublishedExample {
  readonly file: string;
  readonly dataZoneBase64: string;
  readonly annex?: string;
}

function read(name: string): unknown {
  return JSON.parse(readFileSync(new URL(name, fixtures), 'utf8'));
}

export const publishedIdentifiers = (read('dataids.json') as { dataIds: readonly PublishedIdentifier[] }).dataIds;
/** Types of the perimeter 01. */
export const publishedTypes = (read('doctypes.json') as { documentTypes: readonly PublishedType[] }).documentTypes.filter(
  ({ perimeter }) => perimeter === '01',
);
/** Codes of the types whose fields are public. */
export const typesWithSchema = publishedTypes.filter(({ confidence }) => confidence !== 'name-only').map(({ code }) => code);
export const publishedSamples = (read('samples.json') as { samples: readonly PublishedSample[] }).samples;
export const publishedExamples = (read('examples.json') as { examples: readonly PublishedExample[] }).examples;

export function publishedType(code: string): PublishedType {
  const found = publishedTypes.find((type) => type.code === code);
  if (found === undefined) throw new Error(`no type ${code}`);
  return found;
}

export function publishedIdentifier(id: string): PublishedIdentifier {
  const found = publishedIdentifiers.find((row) => row.id === id);
  if (found === undefined) throw new Error(`no identifier ${id}`);
  return found;
}

/** Returns the source of an example. */
export function exampleSource(file: string): Buffer {
  return readFileSync(new URL(`sources/${file}`, fixtures));
}

/** Returns the identifiers that a type allows, in the order of the table. */
export function allowedIn({ mandatory, optional, optionalSections, forbidden, conditional }: PublishedType): readonly string[] {
  const named = [
    ...mandatory,
    ...optional,
    ...conditional.flatMap(({ alternatives = [], field }) => [...alternatives.flat(), field ?? []].flat()),
  ];
  return publishedIdentifiers
    .filter(({ id, section }) => named.includes(id) || optionalSections.includes(section))
    .map(({ id }) => id)
    .filter((id) => !forbidden.includes(id));
}
