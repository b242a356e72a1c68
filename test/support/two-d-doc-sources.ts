import * as fc from 'fast-check';
import {
  allowedIn,
  publishedIdentifier,
  publishedIdentifiers,
  publishedType,
  typesWithSchema,
  type PublishedType,
} from './two-d-doc-tables.ts';
import { exampleOf, hexDay, valuesOf, type MadeValue } from './two-d-doc-values.ts';

export interface MadeField extends MadeValue {
  readonly id: string;
}

/** A source, from which its XML and the zone that it must give are made without the product. */
export interface MadeSource {
  readonly type: string;
  readonly version: '02' | '03' | '04';
  readonly header: {
    readonly ca: string;
    readonly certificate: string;
    /** Absent: undated. */
    readonly issueDate?: MadeValue;
    readonly signatureDate: MadeValue;
    /** Absent: as if it were FR. */
    readonly country?: string;
  };
  readonly fields: readonly MadeField[];
  readonly annex: readonly MadeField[];
}

/** Returns the XML of a source: the header on line 3, the message on line 4, and each field on a line of its own. */
export function xmlOf({ type, version, header, fields, annex }: MadeSource): string {
  const { ca, certificate, issueDate, signatureDate, country } = header;
  const members = { ca, certificate, issueDate: issueDate?.written, signatureDate: signatureDate.written, country };
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<document xmlns="urn:2d-doc:source:1" type="${type}" version="${version}">`,
    `<header>${Object.entries(members)
      .map(([name, text]) => (text === undefined ? '' : `<${name}>${text}</${name}>`))
      .join('')}</header>`,
    '<message>',
    ...fields.map(elementOf),
    '</message>',
    ...(annex.length === 0 ? [] : ['<annex>', ...annex.map(elementOf), '</annex>']),
    '</document>',
    '',
  ].join('\n');
}

/** Returns the element of a field. */
export function elementOf({ id, written, truncated = false }: MadeField): string {
  const escaped = written.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return `<D${id}${truncated ? ' truncate="allowed"' : ''}>${escaped}</D${id}>`;
}

/** Returns the zone that a source must give: a character for each byte. */
export function madeZone({ type, version, header, fields }: MadeSource): string {
  const { ca, certificate, issueDate, signatureDate, country = 'FR' } = header;
  const start = `DC${version}${ca}${certificate}${issueDate?.zone ?? 'FFFF'}${signatureDate.zone}${type}`;
  return `${start}${version === '02' ? '' : '01'}${version === '04' ? country : ''}${madeFields(fields)}`;
}

/** Returns fields as they must be in a message or an annex. */
export function madeFields(fields: readonly MadeField[]): string {
  return fields
    .map(({ id, zone, truncated = false }, index) => {
      const isFull = zone.length === publishedIdentifier(id).maxLength;
      return `${id}${zone}${truncated ? '\u001e' : isFull || index === fields.length - 1 ? '' : '\u001d'}`;
    })
    .join('');
}

/** Returns the identifiers that complete what a type asks for, with the first alternative of each choice. */
function neededIn({ mandatory, conditional }: PublishedType): string[] {
  return [...mandatory, ...conditional.flatMap(({ alternatives = [] }) => alternatives[0] ?? [])];
}

/** Returns the identifiers that conditions ask for, because of the values of others. */
function requiredBy({ conditional }: PublishedType, values: ReadonlyMap<string, string>): string[] {
  return conditional.flatMap(({ field, when = {} }) =>
    field !== undefined && Object.entries(when).some(([id, asked]) => asked.includes(values.get(id) ?? '')) ? [field] : [],
  );
}

/** Returns the identifiers that a message must not have beside the first alternative of a choice. */
function excludedIn({ conditional }: PublishedType): string[] {
  return conditional.flatMap(({ rule, alternatives = [] }) => (rule === 'exactlyOneOf' ? alternatives.slice(1).flat() : []));
}

const exampleField = (id: string): MadeField => ({ id, ...exampleOf(publishedIdentifier(id)) });

/** Returns a valid source of a type, always the same one, with no optional field or with all of them. */
export function madeSourceOf(
  code: string,
  { optional = 'none', version = '04' }: { readonly optional?: 'all' | 'none'; readonly version?: MadeSource['version'] } = {},
): MadeSource {
  const type = publishedType(code);
  const excluded = excludedIn(type);
  const needed = neededIn(type);
  const values = new Map(needed.map((id) => [id, exampleField(id).zone]));
  const more = optional === 'all' ? allowedIn(type).filter((id) => !excluded.includes(id)) : requiredBy(type, values);
  return {
    type: code,
    version,
    header: {
      ca: 'FR00',
      certificate: '0001',
      ...(type.emissionDate === 'required' && { issueDate: { written: '2012-11-15', zone: '125E' } }),
      signatureDate: { written: '2012-11-12', zone: '125B' },
    },
    fields: [...new Set([...needed, ...more])].map(exampleField),
    annex: [],
  };
}

/** Returns the XML of `madeSourceOf`. */
export function validSourceOf(code: string, options: Parameters<typeof madeSourceOf>[1] = {}): string {
  return xmlOf(madeSourceOf(code, options));
}

const identifiersFor = (ids: readonly string[]): fc.Arbitrary<MadeField[]> =>
  fc.tuple(...ids.map((id) => valuesOf(publishedIdentifier(id)).map((value) => ({ id, ...value }))));

/** Fields of a message: those that are needed and some others, in any order. */
function messages(type: PublishedType): fc.Arbitrary<MadeField[]> {
  const excluded = excludedIn(type);
  const others = allowedIn(type).filter((id) => !excluded.includes(id));
  return fc
    .subarray(others, { maxLength: Math.min(12, others.length) })
    .chain((more) => identifiersFor([...new Set([...neededIn(type), ...more])]))
    .chain((fields) => {
      const values = new Map(fields.map(({ id, zone }) => [id, zone]));
      const missing = requiredBy(type, values).filter((id) => !values.has(id));
      return identifiersFor(missing).chain((required) =>
        fc.shuffledSubarray([...fields, ...required], { minLength: fields.length + required.length }),
      );
    });
}

const capitals = fc.constantFrom(...Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ'));
const capitalsAndDigits = fc.constantFrom(...Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'));
const of = (unit: fc.Arbitrary<string>, length: number): fc.Arbitrary<string> => fc.string({ unit, minLength: length, maxLength: length });
const anyDay = fc.integer({ min: 0, max: 0xfffe }).map(hexDay);

function headers(type: PublishedType, version: MadeSource['version']): fc.Arbitrary<MadeSource['header']> {
  return fc.record({
    ca: fc.tuple(of(capitals, 2), of(capitalsAndDigits, 2)).map((parts) => parts.join('')),
    certificate: of(capitalsAndDigits, 4),
    ...(type.emissionDate === 'required' && { issueDate: anyDay }),
    signatureDate: anyDay,
    ...(version === '04' && { country: of(capitals, 2) }),
  });
}

/** Valid sources of all types that have a schema, or of those given, versions and values. */
export function madeSources(types: readonly string[] = typesWithSchema): fc.Arbitrary<MadeSource> {
  return fc.tuple(fc.constantFrom(...types), fc.constantFrom('02', '03', '04')).chain(([code, version]) => {
    const type = publishedType(code);
    const annexes = fc
      .subarray(
        publishedIdentifiers.map(({ id }) => id),
        { maxLength: 3 },
      )
      .chain(identifiersFor);
    return fc.record({
      type: fc.constant(code),
      version: fc.constant(version),
      header: headers(type, version),
      fields: messages(type),
      annex: version === '04' ? fc.oneof(fc.constant([]), annexes) : fc.constant([]),
    });
  });
}
