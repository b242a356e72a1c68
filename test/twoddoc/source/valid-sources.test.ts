import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { readSource } from '../../../src/twoddoc/source/read-source.ts';
import { parseAnnex, parseZone } from '../../../src/twoddoc/zone/parse-zone.ts';
import { readHeader, readZone } from '../../../src/twoddoc/zone/read-zone.ts';
import { annexOf, zoneOf } from '../../../src/twoddoc/zone/zone-of.ts';
import { repetitions } from '../../support/repetitions.ts';
import { madeFields, madeSourceOf, madeSources, madeZone, xmlOf, type MadeField } from '../../support/two-d-doc-sources.ts';
import { exampleSource, publishedExamples, typesWithSchema } from '../../support/two-d-doc-tables.ts';
import { judgedByXmllint } from '../../support/xmllint.ts';

const fill = { ca: 'FR99', certificate: 'ZZ99', today: new Date('2026-01-02T23:59:59Z') };
const latin1 = (bytes: Uint8Array | undefined): string | undefined => bytes && Buffer.from(bytes).toString('latin1');
const zoneOfXml = (xml: string | Uint8Array): string | undefined => latin1(zoneOf(readSource(Buffer.from(xml)), fill));
const valuesIn = (fields: readonly MadeField[]): unknown =>
  fields.map(({ id, zone, truncated = false }) => ({ id, value: zone, truncated }));

test('there are 56 types whose fields are public', () => {
  expect(typesWithSchema).toHaveLength(56);
});

describe.each(typesWithSchema)('type %s', (type) => {
  const sources = (['none', 'all'] as const).flatMap((optional) =>
    (['02', '03', '04'] as const).map((version) => madeSourceOf(type, { optional, version })),
  );

  it('gives the zone of a source with the mandatory fields, and with all fields, in each version', () => {
    for (const source of sources) {
      expect(zoneOfXml(xmlOf(source))).toBe(madeZone(source));
      expect(readZone(Buffer.from(madeZone(source))).fields).toEqual(valuesIn(source.fields));
    }
  });

  it('has sources that xmllint finds valid, too', () => {
    expect(judgedByXmllint(type, sources.map(xmlOf))).toEqual(sources.map(() => true));
  });
});

test.each(publishedExamples)('$file gives the zone that is published with it', ({ file, dataZoneBase64, annex }) => {
  const source = readSource(exampleSource(file));
  expect(Buffer.from(zoneOf(source, fill)).toString('base64')).toBe(dataZoneBase64);
  expect(latin1(annexOf(source))?.replaceAll('\u001d', '<GS>')).toBe(annex);
});

test('any valid values are the same after XML, zone and both readers', () => {
  fc.assert(
    fc.property(madeSources(), (made) => {
      const source = readSource(Buffer.from(xmlOf(made)));
      const zone = zoneOf(source, fill);
      expect(latin1(zone)).toBe(madeZone(made));
      const { version, type, header } = made;
      const expected = {
        header: {
          ...{ version, type, ca: header.ca, certificate: header.certificate },
          ...{ issueDate: header.issueDate?.zone ?? 'FFFF', signatureDate: header.signatureDate.zone },
          ...(version !== '02' && { perimeter: '01' }),
          ...(version === '04' && { country: header.country }),
        },
        fields: valuesIn(made.fields),
      };
      expect(readZone(zone)).toEqual(expected);
      expect(parseZone(zone)).toEqual(expected);
      expect(readHeader(zone)).toEqual(expected.header);
      const annex = annexOf(source);
      expect(latin1(annex)).toBe(made.annex.length === 0 ? undefined : madeFields(made.annex));
      expect(parseAnnex(annex ?? new Uint8Array())).toEqual({ fields: valuesIn(made.annex) });
    }),
    { numRuns: repetitions(3000) },
  );
});

describe('what a source leaves out', () => {
  const bare =
    '<document xmlns="urn:2d-doc:source:1" type="03"><header/><message><D30>A</D30><D31>FR7630006000011234567890189</D31><D32>AGRIFRPP</D32></message></document>';

  it('is taken from the identity, today and FR', () => {
    expect(zoneOfXml(bare)).toBe('DC04FR99ZZ99FFFF251A0301FR30A\u001d31FR7630006000011234567890189\u001d32AGRIFRPP');
  });

  it('is the day in UTC, whatever the time', () => {
    const zones = ['2012-11-15T00:00:00.000Z', '2012-11-15T23:59:59.999Z'].map((now) =>
      latin1(zoneOf(readSource(Buffer.from(bare)), { ...fill, today: new Date(now) })),
    );
    expect(zones.map((zone) => zone?.slice(16, 20))).toEqual(['125E', '125E']);
  });
});

describe('notation', () => {
  const source = (message: string): string =>
    `<document xmlns="urn:2d-doc:source:1" type="06"><header><issueDate>2012-11-15</issueDate><signatureDate>2012-11-15</signatureDate></header><message>${message}</message></document>`;
  const needed =
    '<D50>73282932000074</D50><D53>2022-06-25</D53><D54>2022-07-25</D54><D55>2015-09-01</D55><D58>1</D58><D59>1</D59><D10>A</D10>';

  it.each([
    ['a number of pages that is shorter', '<D09>7</D09>', '090007'],
    ['a decimal number that is shorter', '<D51>5.1</D51>', '510005,1'],
    ['white space around a date, a truth value and a URL', '<D06>\n 2012-11-15 </D06><D5T>0</D5T><D0C> a.fr\n</D0C>', '06125E5T00CMEXGM4Q'],
    ['spaces at both ends of a text', '<D11> AB </D11>', '11 AB '],
    ['an empty text', '<D11/>', '11'],
    ['a comment, a CDATA section and a character reference in a value', '<D11>A<!-- x --><![CDATA[B]]>&#67;</D11>', '11ABC'],
    ['a value that is not longer than its maximum, though it may be cut', '<D11 truncate="allowed">AB</D11>', '11AB'],
    ['a value that is cut', `<D11 truncate="allowed">${'AB'.repeat(20)}</D11>`, `11${'AB'.repeat(19)}\u001e`],
    ['a value of the maximum length', `<D11>${'AB'.repeat(19)}</D11>`, `11${'AB'.repeat(19)}`],
    ['a number that is cut', '<D5A truncate="allowed">1234567890.55</D5A>', '5A1234567890,\u001e'],
  ])('%s', (_, element, expected) => {
    expect(zoneOfXml(source(`${needed}${element}`))).toMatch(new RegExp(`10A\u{1d}${expected}$`, 'u'));
  });

  it('has prefixes, other encodings, a byte order mark and hints at schemas, which nothing is loaded from', () => {
    const plain = source(needed);
    const prefixed = plain
      .replaceAll(/<(\/?)([A-Za-z])/g, '<$1p:$2')
      .replace('xmlns=', 'xmlns:p=')
      .replace(
        '<p:document',
        '<p:document xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="urn:other file:///etc/passwd" xsi:noNamespaceSchemaLocation="http://127.0.0.1/x.xsd"',
      );
    const utf16 = Buffer.from(`\u{feff}${plain}`, 'utf16le');
    const marked = Buffer.from(`\u{feff}${plain}`);
    expect([prefixed, utf16, marked].map(zoneOfXml)).toEqual(Array.from({ length: 3 }, () => zoneOfXml(plain)));
  });
});
