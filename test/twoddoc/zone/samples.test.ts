import { describe, expect, it, test } from 'vitest';
import { readSource } from '../../../src/twoddoc/source/read-source.ts';
import { TwoDDocFault } from '../../../src/twoddoc/two-d-doc-fault.ts';
import { parseZone, type ZoneField } from '../../../src/twoddoc/zone/parse-zone.ts';
import { readZone } from '../../../src/twoddoc/zone/read-zone.ts';
import { zoneOf } from '../../../src/twoddoc/zone/zone-of.ts';
import { xmlOf, type MadeSource } from '../../support/two-d-doc-sources.ts';
import { publishedIdentifier, publishedSamples, type PublishedSample } from '../../support/two-d-doc-tables.ts';
import { hexDay, writtenOf } from '../../support/two-d-doc-values.ts';

/** Zones that a source cannot give, and why not. `rebuilt`: the zone that the same fields give instead. */
interface Exception {
  readonly reason: string;
  readonly rebuilt?: (zone: string) => string;
  /** Of `readZone`; undefined if it accepts the zone. */
  readonly strict?: string;
  /** Of `readSource`, for the fields as they were printed. */
  readonly source?: string;
}

const lastSeparator: Exception = {
  reason: 'the maker wrote a separator behind the last field; none is written there (README, Message)',
  rebuilt: (zone) => zone.slice(0, -1),
};
const version01: Exception = {
  reason: 'version 01 is only read; its header has the layout of version 02, which the same fields give',
  rebuilt: (zone) => zone.replace('DC01', 'DC02').slice(0, -1),
  strict: 'header: version 01 is only read; versions that can be signed: 02, 03 and 04',
};
const eori = (id: string, next: string): Exception => ({
  reason: `the EORI ${id} has up to 20 characters, but no separator: the 20 characters reach into the next fields (errata)`,
  strict: `after field ${id}: "${next}" is not a data identifier`,
});

const exceptions: Readonly<Record<string, Exception>> = {
  'ants326-214-114': version01,
  'ants326-215-117': version01,
  'ants326-216-120': version01,
  ...Object.fromEntries(
    [
      ...['ants326-204-094', 'ants326-206-098', 'ants326-208-102', 'ants326-212-110', 'ants326-185-056', 'ants326-187-060'],
      ...['ants326-189-064', 'ants326-193-072', 'ants326-201-088', 'ants326-156-001', 'ants326-161-010', 'ants326-172-031'],
    ].map((id) => [id, lastSeparator]),
  ),
  'ants326-164-015': {
    reason: 'D3 and D4 are dates of the form YYYYMMDD in the table, but printed as DDMMYYYY (errata)',
    strict: 'field D3: 0101-20-21 is not a date',
    source: 'D3 (line 8): 0101-20-21 is not a date',
  },
  'ants326-166-019': eori('DH', 'PE'),
  'ants326-168-023': eori('DP', 'MP'),
};

const textOf = (sample: PublishedSample): string => Buffer.from(sample.dataZoneBase64, 'base64').toString('latin1');

/** Splits a message by the published table: independent of the product. */
function split(message: string): ZoneField[] {
  const fields: ZoneField[] = [];
  for (let rest = message; rest !== '';) {
    const id = rest.slice(0, 2);
    const { maxLength } = publishedIdentifier(id);
    const [value = ''] = rest.slice(2, 2 + (maxLength ?? rest.length)).split('\u001d');
    fields.push({ id, value, truncated: false });
    const after = rest.slice(2 + value.length);
    rest = after.startsWith('\u001d') ? after.slice(1) : after;
  }
  return fields;
}

const day = (hex: string): { written: string; zone: string } => hexDay(Number.parseInt(hex, 16));

/** Returns the source of the fields of a sample. */
function sourceOf(sample: PublishedSample, fields: readonly ZoneField[]): MadeSource {
  const { version, docType, ca, cert, emission, signatureDate, country } = sample;
  return {
    type: docType,
    version: version === '01' ? '02' : version,
    header: {
      ...{ ca, certificate: cert, signatureDate: day(signatureDate) },
      ...(emission !== 'FFFF' && { issueDate: day(emission) }),
      ...(country !== null && { country }),
    },
    fields: fields.map(({ id, value }) => ({ id, zone: value, written: writtenOf(publishedIdentifier(id), value) })),
    annex: [],
  };
}

test('each exception is one of a sample', () => {
  const ids = publishedSamples.map(({ id }) => id);
  expect(ids.length).toBe(34);
  expect(Object.keys(exceptions).filter((id) => !ids.includes(id))).toEqual([]);
});

describe.each(publishedSamples)('$id ($version, $docType)', (sample) => {
  const exception = exceptions[sample.id];
  const { version, docType, ca, cert, emission, signatureDate, perimeter, country } = sample;
  const zone = textOf(sample);
  const headerLength = 22 + (perimeter?.length ?? 0) + (country?.length ?? 0);
  const isSplit = exception === undefined || !exception.reason.includes('EORI');

  it('is read leniently, its header and its fields', () => {
    const { header, fields } = parseZone(Buffer.from(zone, 'latin1'));
    expect(header).toEqual({
      ...{ version, ca, certificate: cert, issueDate: emission, signatureDate, type: docType },
      ...(perimeter !== null && { perimeter }),
      ...(country !== null && { country }),
    });
    if (isSplit) expect(fields).toEqual(split(zone.slice(headerLength)));
  });

  it(exception?.strict === undefined ? 'breaks no rule' : `breaks a rule: ${exception.reason}`, () => {
    const read = (): unknown => readZone(Buffer.from(zone, 'latin1'));
    if (exception?.strict === undefined) expect(read()).toEqual(parseZone(Buffer.from(zone, 'latin1')));
    else expect(read).toThrow(new TwoDDocFault(exception.strict));
  });

  if (!isSplit) return;
  it(exception === undefined ? 'is rebuilt byte for byte' : `is rebuilt but for one thing: ${exception.reason}`, () => {
    const xml = xmlOf(sourceOf(sample, split(zone.slice(headerLength))));
    const rebuild = (): string =>
      Buffer.from(zoneOf(readSource(Buffer.from(xml)), { ca: '', certificate: '', today: new Date() })).toString('latin1');
    if (exception?.source === undefined) expect(rebuild()).toBe(exception?.rebuilt?.(zone) ?? zone);
    else expect(rebuild).toThrow(exception.source);
  });
});

/** C1 with its dates as in the table, and C3 and C5 with the separators that are missing. */
test.each([
  ['ants326-164-015', (zone: string) => zone.replace('D301012021D403022021', 'D320210101D420210203')],
  ['ants326-166-019', (zone: string) => zone.replace('DHFR123456789012345', '$&\u001d')],
  ['ants326-168-023', (zone: string) => zone.replace('DPFR123456789012345', '$&\u001d').replace('DWFR345678901234567', '$&\u001d')],
])('%s, corrected, breaks no rule and is rebuilt byte for byte', (id, corrected) => {
  const sample = publishedSamples.find((one) => one.id === id);
  if (sample === undefined) throw new Error('no such sample');
  const zone = corrected(textOf(sample));
  const { fields } = readZone(Buffer.from(zone, 'latin1'));
  const xml = xmlOf(sourceOf(sample, fields));
  expect(Buffer.from(zoneOf(readSource(Buffer.from(xml)), { ca: '', certificate: '', today: new Date() })).toString('latin1')).toBe(zone);
});
