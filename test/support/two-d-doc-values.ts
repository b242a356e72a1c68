import * as fc from 'fast-check';
import type { PublishedIdentifier } from './two-d-doc-tables.ts';

/** A value in both notations. */
export interface MadeValue {
  /** As in an XML source. */
  readonly written: string;
  /** As in the zone. */
  readonly zone: string;
  /** Whether the zone has only the start of the value. */
  readonly truncated?: boolean;
}

const same = (text: string): MadeValue => ({ written: text, zone: text });
const pad = (number: number, length: number): string => String(number).padStart(length, '0');

/** Returns the characters of a set such as `A-Z0-9 /-`. */
export function charactersOf(charset: string): string {
  return charset.replaceAll(/([A-Z0-9])-([A-Z0-9])/g, (_, first: string, last: string) =>
    Array.from({ length: last.charCodeAt(0) - first.charCodeAt(0) + 1 }, (__, at) => String.fromCharCode(first.charCodeAt(0) + at)).join(
      '',
    ),
  );
}

/** Returns a day from 2000-01-01 in both notations of `date_hex`. */
export function hexDay(number: number): MadeValue {
  return {
    written: new Date(Date.UTC(2000, 0, 1 + number)).toISOString().slice(0, 10),
    zone: number.toString(16).toUpperCase().padStart(4, '0'),
  };
}

interface Day {
  readonly year: string;
  readonly month: string;
  readonly day: string;
}

/** Days of the calendar, from the year 1 on. */
const calendarDay: fc.Arbitrary<Day> = fc
  .date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T00:00:00Z'), noInvalidDate: true })
  .map((date) => ({ year: pad(date.getUTCFullYear(), 4), month: pad(date.getUTCMonth() + 1, 2), day: pad(date.getUTCDate(), 2) }));

function days({ note = '' }: PublishedIdentifier): fc.Arbitrary<Day> {
  if (note.startsWith('unknown day')) {
    const withoutDay = calendarDay.map((one) => ({ ...one, day: '00' }));
    return fc.oneof(
      calendarDay,
      withoutDay,
      withoutDay.map((one) => ({ ...one, month: '00' })),
    );
  }
  if (!note.startsWith('lunar')) return calendarDay;
  const lunar = fc
    .tuple(fc.integer({ min: 1, max: 9999 }), fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 30 }))
    .map(([year, month, day]) => ({ year: pad(year, 4), month: pad(month, 2), day: pad(day, 2) }));
  return fc.oneof(calendarDay, lunar);
}

const clock = fc.tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }), fc.integer({ min: 0, max: 59 }));
const minutesOfDay = clock.map(([hours, minutes]) => ({
  written: `${pad(hours, 2)}:${pad(minutes, 2)}`,
  zone: `${pad(hours, 2)}${pad(minutes, 2)}`,
}));
const secondsOfDay = clock.map((parts) => ({
  written: parts.map((part) => pad(part, 2)).join(':'),
  zone: parts.map((part) => pad(part, 2)).join(''),
}));

const ddmmyyyy = ({ year, month, day }: Day): MadeValue => ({ written: `${year}-${month}-${day}`, zone: `${day}${month}${year}` });

function dateTimes(times: fc.Arbitrary<MadeValue>): fc.Arbitrary<MadeValue> {
  return fc
    .tuple(calendarDay.map(ddmmyyyy), times)
    .map(([date, time]) => ({ written: `${date.written}T${time.written}`, zone: `${date.zone}${time.zone}` }));
}

/** Longest text that is made where the table has no maximum. */
const longText = 40;

function texts({ charset, minLength, maxLength, truncatable, zeroPadded }: PublishedIdentifier): fc.Arbitrary<MadeValue> {
  const unit = fc.constantFrom(...Array.from(charactersOf(charset)));
  if (zeroPadded === true)
    return fc.string({ unit, minLength: 1, maxLength: minLength }).map((text) => ({ written: text, zone: text.padStart(minLength, '0') }));
  const whole = fc.string({ unit, minLength, maxLength: maxLength ?? longText }).map(same);
  if (!truncatable || maxLength === null) return whole;
  const longer = fc.string({ unit, minLength: maxLength + 1, maxLength: maxLength + longText });
  return fc.oneof(
    { weight: 4, arbitrary: whole },
    longer.map((written) => ({ written, zone: written.slice(0, maxLength), truncated: true })),
  );
}

/** Decimal numbers of a length in the zone from 1 to the maximum. */
function decimals({ format, maxLength, minLength, zeroPadded }: PublishedIdentifier): fc.Arbitrary<MadeValue> {
  const max = maxLength ?? longText;
  const digits = (most: number): fc.Arbitrary<string> =>
    fc.string({ unit: fc.constantFrom(...Array.from('0123456789')), minLength: 1, maxLength: most });
  const whole = digits(max);
  const broken =
    max < 3
      ? whole
      : fc
          .tuple(digits(Math.max(1, Math.floor(max / 2) - 1)), digits(Math.max(1, Math.floor(max / 2) - 1)))
          .map((parts) => parts.join('.'));
  const unsigned = fc.oneof(whole, broken);
  const signed =
    format === 'decimal_comma' && max > 1
      ? fc.oneof(
          unsigned,
          unsigned.filter((text) => text.length < max).map((text) => `-${text}`),
        )
      : unsigned;
  return signed.map((written) => ({
    written,
    zone: zeroPadded === true ? written.replace('.', ',').padStart(minLength, '0') : written.replace('.', ','),
  }));
}

/** Base32 of RFC 4648 without padding, by way of the bits as text. */
export function base32(bytes: Uint8Array): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? [])
    .map((five) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.charAt(Number.parseInt(five.padEnd(5, '0'), 2)))
    .join('');
}

const url = (written: string): MadeValue => ({ written, zone: base32(Buffer.from(written)) });

/** Returns an arbitrary of the valid values of an identifier. */
export function valuesOf(row: PublishedIdentifier): fc.Arbitrary<MadeValue> {
  switch (row.format) {
    case 'text':
    case 'eori':
    case 'country_alpha2':
    case 'year':
      return texts(row);
    case 'enum':
      return row.valuesClosed === true ? fc.constantFrom(...(row.values ?? [])).map(same) : texts(row);
    case 'date_hex':
      return fc.integer({ min: 0, max: 0xfffe }).map(hexDay);
    case 'date_ddmmyyyy':
      return days(row).map(ddmmyyyy);
    case 'date_yyyymmdd':
      return calendarDay.map(({ year, month, day }) => ({ written: `${year}-${month}-${day}`, zone: `${year}${month}${day}` }));
    case 'datetime_ddmmyyyyHHMM':
      return dateTimes(minutesOfDay);
    case 'datetime_ddmmyyyyHHMMSS':
      return dateTimes(secondsOfDay);
    case 'time_HHMM':
      return minutesOfDay;
    case 'time_HHMMSS':
      return secondsOfDay;
    case 'bool_01':
      return fc.constantFrom(
        { written: 'true', zone: '1' },
        { written: '1', zone: '1' },
        { written: 'false', zone: '0' },
        { written: '0', zone: '0' },
      );
    case 'decimal_comma':
    case 'decimal_comma_unsigned':
      return decimals(row);
    case 'hex_uint':
    case 'base36_digit': {
      const base = row.format === 'hex_uint' ? 16 : 36;
      return fc
        .integer({ min: 0, max: base ** row.minLength - 1 })
        .map((number) => ({ written: String(number), zone: number.toString(base).toUpperCase().padStart(row.minLength, '0') }));
    }
    case 'base32_utf8':
      return fc
        .oneof(
          fc.webUrl({ withQueryParameters: true, withFragments: true }),
          fc.constantFrom('', 'exemple.fr/reçu', 'https://exemple.fr/?a=1&b=2'),
        )
        .map(url);
    case 'uuid_space':
      return fc.uuid().map((uuid) => ({ written: uuid.toUpperCase(), zone: uuid.toUpperCase().replaceAll('-', ' ') }));
    case 'postcode_or_spaces':
      return fc.oneof(
        fc.integer({ min: 0, max: 99_999 }).map((code) => same(pad(code, 5))),
        fc.constantFrom({ written: '', zone: '     ' }, same('     ')),
      );
    default:
      throw new Error(`no values of the format ${row.format}`);
  }
}

const exampleWords = 'SPECIMEN';

function exampleText({ charset, minLength, maxLength }: PublishedIdentifier): string {
  const characters = charactersOf(charset);
  const letters = characters.includes('A') ? exampleWords : '1234567890';
  const length = Math.min(maxLength ?? longText, Math.max(minLength, letters.length));
  return letters.repeat(Math.ceil(length / letters.length)).slice(0, length);
}

/** Returns a valid value of an identifier, always the same one. */
export function exampleOf(row: PublishedIdentifier): MadeValue {
  const examples: Readonly<Record<string, () => MadeValue>> = {
    enum: () => same(row.values?.[0] ?? ''),
    country_alpha2: () => same('FR'),
    year: () => same('2021'),
    date_hex: () => ({ written: '2012-11-15', zone: '125E' }),
    date_ddmmyyyy: () => ({ written: '2012-11-15', zone: '15112012' }),
    date_yyyymmdd: () => ({ written: '2012-11-15', zone: '20121115' }),
    datetime_ddmmyyyyHHMM: () => ({ written: '2021-04-07T10:10', zone: '070420211010' }),
    datetime_ddmmyyyyHHMMSS: () => ({ written: '2021-04-07T10:10:59', zone: '07042021101059' }),
    time_HHMM: () => ({ written: '10:10', zone: '1010' }),
    time_HHMMSS: () => ({ written: '10:10:59', zone: '101059' }),
    bool_01: () => ({ written: 'true', zone: '1' }),
    decimal_comma: () => ({ written: '1.5', zone: '1,5' }),
    decimal_comma_unsigned: () => ({ written: '2.75', zone: row.fixed ? '2,75'.padStart(row.minLength, '0') : '2,75' }),
    hex_uint: () => ({ written: '30', zone: '1E'.padStart(row.minLength, '0') }),
    base36_digit: () => ({ written: '35', zone: 'Z' }),
    base32_utf8: () => url('https://exemple.fr/2d-doc?numero=1'),
    uuid_space: () => ({ written: '123E4567-E89B-12D3-A456-426614174000', zone: '123E4567 E89B 12D3 A456 426614174000' }),
    postcode_or_spaces: () => same('75000'),
  };
  return examples[row.format]?.() ?? same(exampleText(row));
}

/** Returns a value of the zone as an XML source has it. */
export function writtenOf({ format }: PublishedIdentifier, zone: string): string {
  switch (format) {
    case 'date_hex':
      return hexDay(Number.parseInt(zone, 16)).written;
    case 'date_ddmmyyyy':
      return zone.replace(/^(..)(..)(....)$/, '$3-$2-$1');
    case 'date_yyyymmdd':
      return zone.replace(/^(....)(..)(..)$/, '$1-$2-$3');
    case 'datetime_ddmmyyyyHHMM':
      return zone.replace(/^(..)(..)(....)(..)(..)$/, '$3-$2-$1T$4:$5');
    case 'datetime_ddmmyyyyHHMMSS':
      return zone.replace(/^(..)(..)(....)(..)(..)(..)$/, '$3-$2-$1T$4:$5:$6');
    case 'time_HHMM':
    case 'time_HHMMSS':
      return zone.replaceAll(/..(?=.)/g, '$&:');
    case 'decimal_comma':
    case 'decimal_comma_unsigned':
      return zone.replace(',', '.');
    case 'hex_uint':
      return String(Number.parseInt(zone, 16));
    case 'base36_digit':
      return String(Number.parseInt(zone, 36));
    case 'base32_utf8': {
      const bits = Array.from(zone, (character) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(character).toString(2).padStart(5, '0')).join(
        '',
      );
      return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2))).toString();
    }
    case 'uuid_space':
      return zone.replaceAll(' ', '-');
    default:
      return zone;
  }
}
