import { describe, expect, test } from 'vitest';
import { readSource } from '../../../src/twoddoc/source/read-source.ts';
import { readZone } from '../../../src/twoddoc/zone/read-zone.ts';
import { faultOf } from '../../support/two-d-doc-faults.ts';
import { elementOf, madeSourceOf, madeZone, xmlOf, type MadeSource } from '../../support/two-d-doc-sources.ts';
import {
  allowedIn,
  publishedIdentifier,
  publishedIdentifiers,
  publishedType,
  typesWithSchema,
  type PublishedIdentifier,
} from '../../support/two-d-doc-tables.ts';
import { charactersOf, exampleOf } from '../../support/two-d-doc-values.ts';
import { judgedByXmllint } from '../../support/xmllint.ts';

/** A value that breaks a rule, in one notation or in both. */
interface BrokenValue {
  readonly written?: string;
  readonly zone?: string;
  readonly rule: string;
  /** Whether the schema has the rule. */
  readonly isOfSchema?: boolean;
}

/** Character sets of the tables in words. */
const characterSets: Readonly<Record<string, string>> = {
  '0-9': '0-9',
  'A-Z ': 'A-Z and space',
  'A-Z0-9 ': 'A-Z, 0-9 and space',
  'A-Z0-9': 'A-Z and 0-9',
  'A-Z': 'A-Z',
  '0-9A-F': '0-9 and A-F',
  'A-Z0-9 /': 'A-Z, 0-9, space and /',
  '0-9,-': '0-9, comma and -',
  '0-9 ': '0-9 and space',
  'A-Z /': 'A-Z, space and /',
  'A-Z0-9-': 'A-Z, 0-9 and -',
  'A-Z0-9 ./-': 'A-Z, 0-9, space, ., / and -',
  '0-9,': '0-9 and comma',
  '0-9-': '0-9 and -',
  '0-9A-Z': '0-9 and A-Z',
  "A-Z0-9 '@-": "A-Z, 0-9, space, ', @ and -",
  'A-Z0-9.@-': 'A-Z, 0-9, ., @ and -',
  'A-Z0-9 -': 'A-Z, 0-9, space and -',
  "A-Z '-": "A-Z, space, ' and -",
  'A-Z ./-': 'A-Z, space, ., / and -',
  'A-Z2-7': 'A-Z and 2-7',
  '0-9A-F ': '0-9, A-F and space',
  "A-Z0-9 '-": "A-Z, 0-9, space, ' and -",
  "A-Z0-9 '/-": "A-Z, 0-9, space, ', / and -",
  "A-Z0-9 .'@-": "A-Z, 0-9, space, ., ', @ and -",
  '0-9./': '0-9, . and /',
  '0-9/': '0-9 and /',
  'A-Z0-9/-': 'A-Z, 0-9, / and -',
  'A-Z-': 'A-Z and -',
};

const long = (count: number): string => (count === 1 ? '1 character long' : `${count} characters long`);
const notWritten = (inWords: string, ...values: string[]): BrokenValue[] =>
  values.map((written) => ({ written, rule: `${JSON.stringify(written)} is not ${inWords}`, isOfSchema: true }));

/** Values that break the lengths or the characters of a text. */
function brokenTexts({ charset, minLength, maxLength, fixed, zeroPadded }: PublishedIdentifier): BrokenValue[] {
  const [first = ''] = charactersOf(charset).replace(' ', '');
  const others = ['!', 'é', '\t'].map((character) => ({
    text: character + first.repeat(Math.max(minLength, 1) - 1),
    rule: `the character ${character === '!' ? '"!"' : character === 'é' ? 'U+00E9' : 'U+0009'} is not allowed; allowed: ${characterSets[charset]}`,
    isOfSchema: true,
  }));
  const exact = `but the length is exactly ${minLength}`;
  const lengths = [
    ...(fixed ? [{ text: first.repeat(minLength + 1), rule: `${long(minLength + 1)}, ${exact}`, isOfSchema: true }] : []),
    ...(fixed && zeroPadded !== true
      ? [{ text: first.repeat(minLength - 1), rule: `${long(minLength - 1)}, ${exact}`, isOfSchema: true }]
      : []),
    ...(fixed && zeroPadded === true ? [{ text: '', rule: `${long(0)}, ${exact}`, isOfSchema: true }] : []),
    ...(!fixed && minLength > 0
      ? [{ text: first.repeat(minLength - 1), rule: `${long(minLength - 1)}, but the minimum length is ${minLength}`, isOfSchema: true }]
      : []),
  ].map(({ text, ...rest }) => ({ written: text, zone: text, ...rest }));
  const tooLong =
    fixed || maxLength === null
      ? []
      : [
          {
            written: first.repeat(maxLength + 1),
            rule: `${long(maxLength + 1)}, but the maximum length is ${maxLength}`,
            isOfSchema: false,
          },
        ];
  // The value has a fixed number of characters in a zone. What is beyond begins the next field.
  const inZone = lengths.map(({ zone, ...rest }) => (fixed && zone.length > minLength ? rest : { ...rest, zone }));
  return [...others.map(({ text, ...rest }) => ({ written: text, zone: text, ...rest })), ...inZone, ...tooLong];
}

/** Dates in digits that no calendar has. */
const noDays: readonly (readonly [year: string, month: string, day: string])[] = [
  ['2013', '02', '29'],
  ['1900', '02', '29'],
  ['2012', '04', '31'],
  ['2012', '13', '01'],
  ['2012', '00', '15'],
  ['0000', '01', '01'],
  ['2012', '01', '32'],
];

function brokenDates({ note = '', format }: PublishedIdentifier): BrokenValue[] {
  const isIncomplete = note.startsWith('unknown day');
  const isLunar = note.startsWith('lunar');
  const also = isIncomplete ? ' (00 stands for an unknown day, or day and month)' : isLunar ? ' (lunar: days to 30, months to 50)' : '';
  // 29 February and month 13 are days of the Moon.
  const lunar = noDays.slice(4).concat([
    ['1962', '51', '01'],
    ['1962', '13', '31'],
    ['1962', '01', '00'],
  ]);
  const incomplete = noDays.concat([
    ['2012', '13', '00'],
    ['0000', '00', '00'],
  ]);
  const complete = noDays.concat([
    ['2012', '01', '00'],
    ['2012', '00', '00'],
  ]);
  return (isLunar ? lunar : isIncomplete ? incomplete : complete).map(([year, month, day]) => ({
    written: `${year}-${month}-${day}`,
    zone: format === 'date_yyyymmdd' ? `${year}${month}${day}` : `${day}${month}${year}`,
    rule: `${year}-${month}-${day} is not a date${also}`,
    isOfSchema: false,
  }));
}

const noTimes = ['24:00', '23:60', '99:99'];

function brokenDateTimes(seconds: string): BrokenValue[] {
  const days = noDays.map(([year, month, day]) => ({
    written: `${year}-${month}-${day}T10:10${seconds}`,
    zone: `${day}${month}${year}1010${seconds.replace(':', '')}`,
    rule: `${year}-${month}-${day} is not a date`,
    isOfSchema: false,
  }));
  const times = [...noTimes.map((time) => `${time}${seconds}`), ...(seconds === '' ? [] : ['10:10:60'])].map((time) => ({
    written: `2012-11-15T${time}`,
    zone: `15112012${time.replaceAll(':', '')}`,
    rule: `${time} is not a time of day`,
    isOfSchema: false,
  }));
  return [...days, ...times];
}

const brokenTimes = (times: readonly string[]): BrokenValue[] =>
  times.map((time) => ({ written: time, zone: time.replaceAll(':', ''), rule: `${time} is not a time of day`, isOfSchema: false }));

function brokenDecimals({ format, fixed, minLength, maxLength }: PublishedIdentifier): BrokenValue[] {
  const isSigned = format === 'decimal_comma';
  const example = isSigned ? 'a number such as -1517.40' : 'a number without sign such as 1517.40';
  const kind = isSigned ? 'a decimal number' : 'a decimal number without sign';
  const length = fixed ? minLength : 1;
  const max = maxLength ?? 0;
  return [
    ...notWritten(example, '', '1,5', '.5', '5.', '1.2.3', '1e3', '+1', ' 1', ...(isSigned ? ['--1', '-'] : ['-1'])),
    { zone: ','.padStart(length, '0'), rule: `"${','.padStart(length, '0')}" is not ${kind}` },
    ...(isSigned
      ? [
          { zone: '1-', rule: `"1-" is not ${kind}` },
          { zone: '1.5', rule: `the character "." is not allowed; allowed: 0-9, comma and -` },
        ]
      : []),
    {
      written: '1'.repeat(max + 1),
      rule: `${long(max + 1)}, but ${fixed ? `the length is exactly ${max}` : `the maximum length is ${max}`}`,
      isOfSchema: false,
    },
  ];
}

/** Returns values of an identifier, each of which breaks one rule. */
function brokenValues(row: PublishedIdentifier): BrokenValue[] {
  const date = 'a date such as 2012-11-15';
  switch (row.format) {
    case 'text':
    case 'eori':
    case 'country_alpha2':
    case 'year':
      return brokenTexts(row);
    case 'enum': {
      const [first = ''] = row.values ?? [];
      const other = first.replaceAll(/[A-Z]/g, 'Q').replaceAll(/[0-9]/g, '9');
      const closed = {
        written: other,
        zone: other,
        rule: `"${other}" is none of the allowed values: ${row.values?.join(', ')}`,
        isOfSchema: true,
      };
      return row.valuesClosed === true ? [closed] : brokenTexts(row);
    }
    case 'date_hex':
      return [
        ...notWritten(date, '2013-02-29', '15/11/2012', '2012-1-5', '2012-11-15Z', '').map((one) =>
          one.written === '2013-02-29' ? { ...one, rule: '"2013-02-29" is not a day from 2000-01-01 to 2179-06-05' } : one,
        ),
        ...notWritten('a day from 2000-01-01 to 2179-06-05', '1999-12-31', '2179-06-06'),
        { zone: 'FFFF', rule: 'FFFF is not a date' },
        { zone: '12G5', rule: 'the character "G" is not allowed; allowed: 0-9 and A-F' },
      ];
    case 'date_ddmmyyyy':
    case 'date_yyyymmdd':
      return [...notWritten(date, '15/11/2012', '2012-1-5', ' 2012-11-15', ''), ...brokenDates(row)];
    case 'datetime_ddmmyyyyHHMM':
      return [
        ...notWritten('a time such as 2012-11-15T10:10', '2012-11-15', '2012-11-15 10:10', '2012-11-15T10:10:59'),
        ...brokenDateTimes(''),
      ];
    case 'datetime_ddmmyyyyHHMMSS':
      return [...notWritten('a time such as 2012-11-15T10:10:59', '2012-11-15T10:10', '2012-11-15T10:10:59Z'), ...brokenDateTimes(':59')];
    case 'time_HHMM':
      return [...notWritten('a time such as 10:10', '1010', '10:10:59'), ...brokenTimes(noTimes)];
    case 'time_HHMMSS':
      return [
        ...notWritten('a time such as 10:10:59', '10:10', '101059'),
        ...brokenTimes([...noTimes.map((time) => `${time}:00`), '10:10:60']),
      ];
    case 'bool_01':
      return [...notWritten('true, false, 1 or 0', 'yes', '2', 'TRUE', ''), { zone: '2', rule: '"2" is neither 0 nor 1' }];
    case 'decimal_comma':
    case 'decimal_comma_unsigned':
      return brokenDecimals(row);
    case 'hex_uint':
    case 'base36_digit': {
      const base = row.format === 'hex_uint' ? 16 : 36;
      const last = base ** row.minLength - 1;
      const other = base === 16 ? 'G' : 'a';
      const value = other.repeat(row.minLength);
      return [
        ...notWritten('a whole number', '-1', '0x1', '1.0', ''),
        ...notWritten(`a number from 0 to ${last}`, String(last + 1), '99999999999'),
        { zone: value, rule: `the character "${other}" is not allowed; allowed: ${characterSets[row.charset]}` },
      ];
    }
    case 'base32_utf8':
      return [
        { written: '%zz', rule: 'the value is not a URI', isOfSchema: true },
        // Bits behind the last byte, lengths that are not possible, bytes that are not UTF-8.
        ...['AB', 'A', 'AAA', '74'].map((zone) => ({ zone, rule: 'the value is not the Base32 of text in UTF-8' })),
        { zone: 'MFRA====', rule: 'the character "=" is not allowed; allowed: A-Z and 2-7' },
      ];
    case 'uuid_space': {
      const uuid = '123E4567-E89B-12D3-A456-426614174000';
      const example = `a UUID such as ${uuid}`;
      return [
        ...notWritten(example, uuid.toLowerCase(), uuid.replaceAll('-', ' '), uuid.slice(1)),
        { zone: uuid.replaceAll('-', '0'), rule: 'the value is not a UUID with spaces for the hyphens' },
      ];
    }
    case 'postcode_or_spaces':
      return [
        ...notWritten('a postal code of five digits, five spaces or empty', '7500', '750001', ' 7500', '    ', '2A004'),
        { zone: ' 7500', rule: '" 7500" is neither a postal code of five digits nor five spaces' },
      ];
    default:
      throw new Error(`no values of the format ${row.format}`);
  }
}

const annexType = '08';

/** A source whose annex has one field, on line 8. */
function withAnnex(id: string, written: string): string {
  const element = elementOf({ id, written, zone: '' });
  return xmlOf(madeSourceOf(annexType)).replace('</document>', `<annex>\n${element}\n</annex></document>`);
}

/** A zone with a value for an identifier, of a type that allows it. */
function zoneWith(type: string, id: string, zone: string): string {
  const { fields, ...source }: MadeSource = madeSourceOf(type);
  const others = fields.filter((one) => one.id !== id);
  return madeZone({ ...source, fields: [...others, { id, zone, written: '' }] });
}

test('all identifiers have values that break a rule', () => {
  expect(publishedIdentifiers.filter((row) => brokenValues(row).length < 2 && row.values === undefined)).toEqual([]);
});

describe.each(publishedIdentifiers)('$id', (row) => {
  const { id } = row;
  const broken = brokenValues(row);
  const sources = broken.filter(({ written }) => written !== undefined);

  test('broken values in sources', () => {
    const faults = sources.map(({ written = '' }) => faultOf(() => readSource(Buffer.from(withAnnex(id, written)))));
    expect(faults).toEqual(sources.map(({ rule }) => `D${id} (line 8): ${rule}`));
  });

  test('broken values in zones', () => {
    const type = typesWithSchema.find((code) => allowedIn(publishedType(code)).includes(id));
    if (type === undefined) throw new Error('no type has the identifier');
    const zones = broken.flatMap(({ zone, rule }) => (zone === undefined ? [] : [{ zone, rule }]));
    const faults = zones.map(({ zone }) => faultOf(() => readZone(Buffer.from(zoneWith(type, id, zone), 'latin1'))));
    expect(faults).toEqual(zones.map(({ rule }) => `field ${id}: ${rule}`));
  });
});

test('xmllint finds the values broken whose rules the schema has', () => {
  const sources = publishedIdentifiers.flatMap((row) =>
    brokenValues(row).flatMap(({ written, isOfSchema, rule }) =>
      written === undefined ? [] : [{ id: row.id, written, isOfSchema, rule }],
    ),
  );
  const judged = judgedByXmllint(
    annexType,
    sources.map(({ id, written }) => withAnnex(id, written)),
  );
  expect(sources.filter(({ isOfSchema }, index) => judged[index] !== !isOfSchema)).toEqual([]);
});

test('a field of a fixed length is not cut', () => {
  const fixed = publishedIdentifiers.filter((one) => !one.truncatable);
  const faults = fixed.map(({ id }) =>
    faultOf(() =>
      readSource(Buffer.from(withAnnex(id, exampleOf(publishedIdentifier(id)).written).replace(`<D${id}>`, `<D${id} truncate="never">`))),
    ),
  );
  expect(faults).toEqual(fixed.map(({ id }) => `D${id} (line 8): the attribute truncate is not allowed, since the value must not be cut`));
});
