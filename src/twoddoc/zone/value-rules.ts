import { isUtf8 } from 'node:buffer';
import { decodeBase32 } from '../base32.ts';
import { isFixed, type DataIdentifier, type FieldFormat } from '../tables/data-identifiers.ts';
import { dayOfHex, isDay, isTime } from './days.ts';

/** Checks of the values of fields, as they are in a zone (ANTS 2D-Doc v3.2.6, §7). */

/**
 * Returns the rule that a value breaks, in words that follow the name of the field; undefined for a
 * valid value. Of a value that was cut, only the length and the characters are checked.
 */
export function brokenRule(identifier: DataIdentifier, value: string, isTruncated = false): string | undefined {
  const broken = brokenCharacter(identifier, value) ?? brokenLength(identifier, value);
  if (broken !== undefined || isTruncated || (value === '' && identifier.minLength === 0)) return broken;
  return formatRules[identifier.format](value, identifier);
}

const characterSets = new Map<string, RegExp>();

function brokenCharacter({ charset }: DataIdentifier, value: string): string | undefined {
  let others = characterSets.get(charset);
  if (others === undefined) {
    others = new RegExp(`[^${charset}]`, 'u');
    characterSets.set(charset, others);
  }
  const [other] = others.exec(value) ?? [];
  return other === undefined ? undefined : `the character ${inWords(other)} is not allowed; allowed: ${charactersInWords(charset)}`;
}

/** Returns a character in quotes, a control character by its code. */
function inWords(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0x20 && code < 0x7f ? `"${character}"` : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Returns a character set such as `A-Z0-9 /` in words. */
export function charactersInWords(charset: string): string {
  const parts = charset.match(/[A-Z0-9]-[A-Z0-9]|[^]/g) ?? [];
  const words = parts.map((part) => (part === ' ' ? 'space' : part === ',' ? 'comma' : part));
  return words.length > 1 ? `${words.slice(0, -1).join(', ')} and ${words.at(-1)}` : words.join('');
}

function brokenLength(identifier: DataIdentifier, value: string): string | undefined {
  const { minLength, maxLength } = identifier;
  const { length } = value;
  if (isFixed(identifier)) return length === minLength ? undefined : `${characters(length)} long, but the length is exactly ${minLength}`;
  if (length < minLength) return `${characters(length)} long, but the minimum length is ${minLength}`;
  if (maxLength !== null && length > maxLength) return `${characters(length)} long, but the maximum length is ${maxLength}`;
  return undefined;
}

function characters(count: number): string {
  return count === 1 ? '1 character' : `${count} characters`;
}

type FormatRule = (value: string, identifier: DataIdentifier) => string | undefined;

const formatRules: Record<FieldFormat, FormatRule> = {
  text: () => undefined,
  eori: () => undefined,
  country_alpha2: () => undefined,
  year: () => undefined,
  hex_uint: () => undefined,
  base36_digit: () => undefined,
  enum: (value, { values = [], valuesClosed = false }) =>
    valuesClosed && !values.includes(value) ? `"${value}" is none of the allowed values: ${values.join(', ')}` : undefined,
  date_hex: (value) => (dayOfHex(value) === undefined ? 'FFFF is not a date' : undefined),
  date_ddmmyyyy: (value, { dates }) => brokenDate(value.slice(4, 8), value.slice(2, 4), value.slice(0, 2), dates),
  date_yyyymmdd: (value) => brokenDate(value.slice(0, 4), value.slice(4, 6), value.slice(6, 8)),
  datetime_ddmmyyyyHHMM: brokenDateTime,
  datetime_ddmmyyyyHHMMSS: brokenDateTime,
  time_HHMM: brokenTime,
  time_HHMMSS: brokenTime,
  bool_01: (value) => (value === '0' || value === '1' ? undefined : `"${value}" is neither 0 nor 1`),
  decimal_comma: (value) => (/^-?[0-9]+(,[0-9]+)?$/.test(value) ? undefined : `"${value}" is not a decimal number`),
  decimal_comma_unsigned: (value) => (/^[0-9]+(,[0-9]+)?$/.test(value) ? undefined : `"${value}" is not a decimal number without sign`),
  base32_utf8: (value) => {
    const bytes = decodeBase32(value);
    return bytes !== undefined && isUtf8(bytes) ? undefined : 'the value is not the Base32 of text in UTF-8';
  },
  uuid_space: (value) =>
    /^[0-9A-F]{8}( [0-9A-F]{4}){3} [0-9A-F]{12}$/.test(value) ? undefined : 'the value is not a UUID with spaces for the hyphens',
  postcode_or_spaces: (value) =>
    /^(?:[0-9]{5}| {5})$/.test(value) ? undefined : `"${value}" is neither a postal code of five digits nor five spaces`,
};

function brokenDateTime(value: string): string | undefined {
  return brokenDate(value.slice(4, 8), value.slice(2, 4), value.slice(0, 2)) ?? brokenTime(value.slice(8));
}

/** `kind`: the dates that a field allows beyond those of the calendar. */
function brokenDate(year: string, month: string, day: string, kind?: DataIdentifier['dates']): string | undefined {
  if (isDay(year, month, day)) return undefined;
  // A day or month that is unknown is 00; a month of any day is one that has a day 01.
  if (kind === 'incomplete' && day === '00' && isDay(year, month === '00' ? '01' : month, '01')) return undefined;
  if (kind === 'lunar' && Number(year) > 0 && isWithin(day, 30) && isWithin(month, 50)) return undefined;
  const also =
    kind === undefined
      ? ''
      : kind === 'incomplete'
        ? ' (00 stands for an unknown day, or day and month)'
        : ' (lunar: days to 30, months to 50)';
  return `${year}-${month}-${day} is not a date${also}`;
}

function isWithin(digits: string, last: number): boolean {
  return Number(digits) >= 1 && Number(digits) <= last;
}

function brokenTime(value: string): string | undefined {
  const parts = value.match(/../g) ?? [];
  const [hours = '', minutes = '', seconds] = parts;
  return isTime(hours, minutes, seconds) ? undefined : `${parts.join(':')} is not a time of day`;
}
