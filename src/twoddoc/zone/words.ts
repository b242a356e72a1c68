import { isUtf8 } from 'node:buffer';
import { decodeBase32 } from '../base32.ts';
import { dataIdentifier, type DataIdentifier, type FieldFormat } from '../tables/data-identifiers.ts';
import { documentType } from '../tables/document-types.ts';
import { dayOfHex, isoOfDay, undated } from './days.ts';
import type { ZoneHeader } from './header.ts';
import type { ZoneField } from './parse-zone.ts';
import { brokenRule } from './value-rules.ts';

/** A member of a header, or a field, for people to read. */
export interface RowInWords {
  /** The identifier of a field; the name of a member as in a source. */
  readonly id: string;
  /** Of a field: the French name of the tables. */
  readonly name: string;
  readonly value: string;
}

/**
 * Returns the members of a header, with dates as in ISO 8601. Members that mean nothing are shown
 * as they are.
 */
export function headerInWords(header: ZoneHeader): readonly RowInWords[] {
  const { version, ca, certificate, issueDate, signatureDate, type: code, perimeter, country } = header;
  const type = perimeter === undefined || perimeter === '01' ? documentType(code) : undefined;
  return [
    { id: 'version', name: 'version', value: version },
    { id: 'ca', name: 'identifier of the CA', value: ca },
    { id: 'certificate', name: 'identifier of the certificate', value: certificate },
    { id: 'issueDate', name: 'date of issue', value: issueDate === undated ? 'undated' : hexDay(issueDate) },
    { id: 'signatureDate', name: 'date of the signature', value: hexDay(signatureDate) },
    { id: 'type', name: 'document type', value: type === undefined ? code : `${code} (${type.name})` },
    ...(perimeter === undefined ? [] : [{ id: 'perimeter', name: 'perimeter', value: perimeter }]),
    ...(country === undefined ? [] : [{ id: 'country', name: 'country', value: country }]),
  ];
}

/**
 * Returns fields with their values as a source has them: dates as in ISO 8601, numbers in decimal,
 * text that is encoded decoded, `true` and `false`. An ellipsis stands for the rest of a value that
 * was cut. Values that break a rule are shown as they are.
 */
export function fieldsInWords(fields: readonly ZoneField[]): readonly RowInWords[] {
  return fields.map(({ id, value, truncated }) => {
    const identifier = dataIdentifier(id);
    if (identifier === undefined) return { id, name: 'unknown identifier', value };
    return { id, name: identifier.name, value: truncated ? `${value}…` : valueInWords(identifier, value) };
  });
}

function valueInWords(identifier: DataIdentifier, value: string): string {
  const inWords = words[identifier.format];
  return inWords === undefined || value === '' || brokenRule(identifier, value) !== undefined ? value : inWords(value);
}

/** Formats whose values are not read as they are. The values break no rule. */
const words: Partial<Record<FieldFormat, (value: string) => string>> = {
  date_hex: hexDay,
  date_ddmmyyyy: day,
  date_yyyymmdd: (value) => value.replace(/^(....)(..)(..)$/, '$1-$2-$3'),
  datetime_ddmmyyyyHHMM: (value) => `${day(value)}T${time(value.slice(8))}`,
  datetime_ddmmyyyyHHMMSS: (value) => `${day(value)}T${time(value.slice(8))}`,
  time_HHMM: time,
  time_HHMMSS: time,
  bool_01: (value) => String(value === '1'),
  decimal_comma: decimal,
  decimal_comma_unsigned: decimal,
  hex_uint: (value) => String(Number.parseInt(value, 16)),
  base36_digit: (value) => String(Number.parseInt(value, 36)),
  base32_utf8: (value) => {
    const bytes = decodeBase32(value);
    return bytes !== undefined && isUtf8(bytes) ? Buffer.from(bytes).toString() : value;
  },
  uuid_space: (value) => value.replaceAll(' ', '-'),
  postcode_or_spaces: (value) => value.trim(),
};

function hexDay(hex: string): string {
  const found = dayOfHex(hex);
  return found === undefined ? hex : isoOfDay(found);
}

function day(value: string): string {
  return `${value.slice(4, 8)}-${value.slice(2, 4)}-${value.slice(0, 2)}`;
}

function time(digits: string): string {
  return (digits.match(/../g) ?? []).join(':');
}

function decimal(value: string): string {
  return value.replace(',', '.');
}
