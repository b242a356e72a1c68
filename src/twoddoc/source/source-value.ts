import { encodeBase32 } from '../base32.ts';
import type { DataIdentifier, FieldFormat } from '../tables/data-identifiers.ts';
import { TwoDDocFault } from '../two-d-doc-fault.ts';
import { dayOfIso, hexOfDay } from '../zone/days.ts';
import type { ZoneField } from '../zone/parse-zone.ts';
import { brokenRule } from '../zone/value-rules.ts';

/** The notation of a format in sources. */
interface Notation {
  readonly pattern?: RegExp;
  /** Follows "is not". */
  readonly inWords?: string;
  /** Returns the value as it is in the zone; undefined if it is out of the range. */
  readonly toZone?: (text: string, identifier: DataIdentifier) => string | undefined;
  /** Follows "is not a number" or the like. */
  readonly range?: (identifier: DataIdentifier) => string;
  /** Whether white space around the value is not part of it, as the schema says. */
  readonly collapses?: boolean;
}

/** The value is written as it is in the zone. */
const asInZone: Notation = {};
const date = { pattern: /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/, inWords: 'a date such as 2012-11-15' };
const dateTime = { pattern: /^([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2})$/, inWords: 'a time such as 2012-11-15T10:10' };
const exactTime = {
  pattern: /^([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})$/,
  inWords: 'a time such as 2012-11-15T10:10:59',
};
const wholeNumber = { pattern: /^[0-9]+$/, inWords: 'a whole number', collapses: true };

const notations: Record<FieldFormat, Notation> = {
  ...{ text: asInZone, enum: asInZone, eori: asInZone, country_alpha2: asInZone, year: asInZone },
  date_hex: {
    ...date,
    collapses: true,
    toZone: (text) => {
      const day = dayOfIso(text);
      return day && hexOfDay(day);
    },
    range: () => 'a day from 2000-01-01 to 2179-06-05',
  },
  date_ddmmyyyy: { ...date, toZone: (text) => text.replace(date.pattern, '$3$2$1') },
  date_yyyymmdd: { ...date, toZone: (text) => text.replace(date.pattern, '$1$2$3') },
  datetime_ddmmyyyyHHMM: { ...dateTime, toZone: (text) => text.replace(dateTime.pattern, '$3$2$1$4$5') },
  datetime_ddmmyyyyHHMMSS: { ...exactTime, toZone: (text) => text.replace(exactTime.pattern, '$3$2$1$4$5$6') },
  time_HHMM: { pattern: /^[0-9]{2}:[0-9]{2}$/, inWords: 'a time such as 10:10', toZone: (text) => text.replaceAll(':', '') },
  time_HHMMSS: { pattern: /^[0-9]{2}:[0-9]{2}:[0-9]{2}$/, inWords: 'a time such as 10:10:59', toZone: (text) => text.replaceAll(':', '') },
  bool_01: {
    pattern: /^(?:true|false|1|0)$/,
    inWords: 'true, false, 1 or 0',
    collapses: true,
    toZone: (text) => (text === 'true' || text === '1' ? '1' : '0'),
  },
  decimal_comma: { pattern: /^-?[0-9]+(\.[0-9]+)?$/, inWords: 'a number such as -1517.40', toZone: withComma },
  decimal_comma_unsigned: { pattern: /^[0-9]+(\.[0-9]+)?$/, inWords: 'a number without sign such as 1517.40', toZone: withComma },
  hex_uint: { ...wholeNumber, toZone: (text, identifier) => inBase(16, text, identifier), range: (identifier) => rangeOf(16, identifier) },
  base36_digit: {
    ...wholeNumber,
    toZone: (text, identifier) => inBase(36, text, identifier),
    range: (identifier) => rangeOf(36, identifier),
  },
  base32_utf8: { collapses: true, toZone: (text) => encodeBase32(Buffer.from(text)) },
  uuid_space: {
    pattern: /^[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}$/,
    inWords: 'a UUID such as 123E4567-E89B-12D3-A456-426614174000',
    toZone: (text) => text.replaceAll('-', ' '),
  },
  postcode_or_spaces: {
    pattern: /^(?:[0-9]{5}| {5}|)$/,
    inWords: 'a postal code of five digits, five spaces or empty',
    toZone: (text) => text.padEnd(5),
  },
};

/**
 * Returns the field that a source gives for an identifier.
 * @param place - the element and its line, which start the message of a fault
 * @param mayCut - whether the value is cut to its maximum length
 * @throws {TwoDDocFault} if the value breaks a rule
 */
export function fieldOfSource(identifier: DataIdentifier, written: string, mayCut: boolean, place: string): ZoneField {
  const { id, maxLength } = identifier;
  const whole = zoneValue(identifier, written, place);
  const truncated = mayCut && maxLength !== null && whole.length > maxLength;
  const value = truncated ? whole.slice(0, maxLength) : whole;
  const withoutLimit = { ...identifier, maxLength: null };
  const broken = truncated ? brokenRule(withoutLimit, whole) : brokenRule(identifier, value);
  if (broken !== undefined) throw new TwoDDocFault(`${place}: ${broken}`);
  return { id, value, truncated };
}

function zoneValue(identifier: DataIdentifier, written: string, place: string): string {
  const { pattern, inWords, toZone, range, collapses } = notations[identifier.format];
  const text = collapses === true ? collapsed(written) : written;
  if (pattern !== undefined && !pattern.test(text)) throw new TwoDDocFault(`${place}: ${shown(text)} is not ${inWords}`);
  const value = toZone === undefined ? text : toZone(text, identifier);
  if (value === undefined) throw new TwoDDocFault(`${place}: ${shown(text)} is not ${range?.(identifier)}`);
  return identifier.zeroPadded === true && value !== '' ? value.padStart(identifier.minLength, '0') : value;
}

/**
 * Returns a text as `whiteSpace` with the value `collapse` gives it (XML Schema 1.0, Part 2,
 * 4.3.6).
 */
export function collapsed(text: string): string {
  return text.replaceAll(/[ \t\r\n]+/g, ' ').replaceAll(/^ | $/g, '');
}

const shownMax = 60;

/** Returns a text in quotes, cut if it is long. */
export function shown(text: string): string {
  return JSON.stringify(text.length > shownMax ? `${text.slice(0, shownMax)}…` : text);
}

function withComma(text: string): string {
  return text.replace('.', ',');
}

function inBase(base: number, text: string, { minLength }: DataIdentifier): string | undefined {
  const number = Number(text);
  return number < base ** minLength ? number.toString(base).toUpperCase().padStart(minLength, '0') : undefined;
}

function rangeOf(base: number, { minLength }: DataIdentifier): string {
  return `a number from 0 to ${base ** minLength - 1}`;
}
