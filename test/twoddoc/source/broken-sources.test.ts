import { describe, expect, it, test } from 'vitest';
import { readSource } from '../../../src/twoddoc/source/read-source.ts';
import { readZone } from '../../../src/twoddoc/zone/read-zone.ts';
import { faultOf } from '../../support/two-d-doc-faults.ts';
import { madeSourceOf, madeZone, xmlOf, type MadeField, type MadeSource } from '../../support/two-d-doc-sources.ts';
import { allowedIn, publishedIdentifier, publishedIdentifiers, publishedType, typesWithSchema } from '../../support/two-d-doc-tables.ts';
import { exampleOf } from '../../support/two-d-doc-values.ts';
import { judgedByXmllint } from '../../support/xmllint.ts';

const faultOfXml = (xml: string): string => faultOf(() => readSource(Buffer.from(xml)));
const faultOfZone = (zone: string): string => faultOf(() => readZone(Buffer.from(zone, 'latin1')));

/** A source that breaks one rule of its type, or none. */
interface Broken {
  readonly source: MadeSource;
  /** Of the source: the element and its line, then the rule. */
  readonly inSource: string;
  /** Of the zone that such a source would give: the field, then the rule. */
  readonly inZone: string;
  /** Whether the schema has the rule. */
  readonly isOfSchema: boolean;
}

/** `xmlOf` writes the element `message` here, and the first field on the next line. */
const messageLine = 4;
const firstFieldLine = 5;

const without = (source: MadeSource, ids: readonly string[]): MadeSource => ({
  ...source,
  fields: source.fields.filter(({ id }) => !ids.includes(id)),
});
const withFields = (source: MadeSource, fields: readonly MadeField[]): MadeSource => ({ ...source, fields: [...source.fields, ...fields] });
const example = (id: string): MadeField => ({ id, ...exampleOf(publishedIdentifier(id)) });

/** Names in a sentence, each alternative in itself complete: "D10, or D11, D12 and D13". */
function choice(alternatives: readonly (readonly string[])[], prefix: string): string {
  const list = (ids: readonly string[]): string =>
    ids
      .map((id) => `${prefix}${id}`)
      .join(', ')
      .replace(/, ([^,]*)$/, ' and $1');
  return alternatives.map(list).join(', or ');
}

function missing(source: MadeSource, id: string, why: string, isOfSchema: boolean): Broken {
  return {
    source: without(source, [id]),
    inSource: `message (line ${messageLine}): D${id} is mandatory ${why}, but missing`,
    inZone: `field ${id}: mandatory ${why}, but missing`,
    isOfSchema,
  };
}

function added(source: MadeSource, id: string, rule: string): Broken {
  const line = firstFieldLine + source.fields.length;
  return {
    source: withFields(source, [example(id)]),
    inSource: `D${id} (line ${line}): ${rule}`,
    inZone: `field ${id}: ${rule}`,
    isOfSchema: true,
  };
}

function chosen(source: MadeSource, start: string, alternatives: readonly (readonly string[])[]): Broken {
  return {
    source,
    inSource: `message (line ${messageLine}): ${start}: ${choice(alternatives, 'D').replaceAll("D'", "'")}`,
    inZone: `message: ${start}: ${choice(alternatives, '')}`,
    isOfSchema: false,
  };
}

/** Returns one source for each rule of a type that is broken. */
function brokenSources(code: string): Broken[] {
  const type = publishedType(code);
  const valid = madeSourceOf(code);
  const allowed = allowedIn(type);
  const others = publishedIdentifiers.map(({ id }) => id).filter((id) => !allowed.includes(id));
  const broken = [
    ...type.mandatory.map((id) => missing(valid, id, `in type ${code}`, true)),
    ...[...new Set([...type.forbidden, ...others.slice(0, 3), ...others.slice(-3)])].map((id) =>
      added(valid, id, `not allowed in type ${code}`),
    ),
    ...valid.fields.slice(0, 1).map(({ id }) => added(valid, id, 'allowed only once')),
  ];
  for (const { rule, alternatives = [], field = '', when = {} } of type.conditional) {
    const [first = [], ...more] = alternatives;
    const start = rule === 'oneOf' ? 'at least one of these must be complete' : 'exactly one of these must be complete';
    broken.push(...first.map((id) => chosen(without(valid, [id]), start, alternatives)));
    if (rule === 'exactlyOneOf')
      broken.push(chosen(withFields(valid, more.flat().map(example)), 'only one of these is allowed', alternatives));
    for (const [id, values] of Object.entries(when))
      for (const value of values) {
        const triggered = { ...valid, fields: valid.fields.map((one) => (one.id === id ? { id, written: value, zone: value } : one)) };
        const others2 = type.conditional.flatMap((one) =>
          one.rule === 'requiredIf' && one.field !== undefined && one.field !== field && one.when?.[id]?.includes(value) ? [one.field] : [],
        );
        const full = withFields(
          triggered,
          [field, ...others2].filter((one) => !triggered.fields.some((has) => has.id === one)).map(example),
        );
        const why = { source: `because D${id} is ${value}`, zone: `because ${id} is ${value}` };
        const one = missing(full, field, why.source, false);
        broken.push({ ...one, inZone: `field ${field}: mandatory ${why.zone}, but missing` });
      }
  }
  return broken;
}

/** Sources that fulfil the conditions of a type in the other ways. */
function otherwiseValid(code: string): MadeSource[] {
  const valid = madeSourceOf(code);
  return publishedType(code).conditional.flatMap(({ alternatives = [], when = {}, field = '' }) => {
    const [first = [], ...more] = alternatives;
    const replaced = more.map((alternative) => withFields(without(valid, first), alternative.map(example)));
    const notTriggered = Object.entries(when).flatMap(([id, values]) =>
      (publishedIdentifier(id).values ?? [])
        .filter((value) => !values.includes(value))
        .map((value) => {
          const changed = without(
            { ...valid, fields: valid.fields.map((one) => (one.id === id ? { id, written: value, zone: value } : one)) },
            [field],
          );
          const required = publishedType(code).conditional.flatMap((one) =>
            one.field !== undefined && one.when?.[id]?.includes(value) ? [one.field] : [],
          );
          return withFields(without(changed, required), required.map(example));
        }),
    );
    return [...replaced, ...notTriggered];
  });
}

describe.each(typesWithSchema)('type %s', (code) => {
  const broken = brokenSources(code);

  it('has no source that breaks one of its rules', () => {
    expect(broken.map(({ source }) => faultOfXml(xmlOf(source)))).toEqual(broken.map(({ inSource }) => inSource));
  });

  it('has no zone that breaks one of its rules', () => {
    expect(broken.map(({ source }) => faultOfZone(madeZone(source)))).toEqual(broken.map(({ inZone }) => inZone));
  });

  it('allows each alternative', () => {
    const sources = otherwiseValid(code);
    expect(sources.map((source) => faultOfXml(xmlOf(source)))).toEqual(sources.map(() => 'no fault'));
    expect(sources.map((source) => faultOfZone(madeZone(source)))).toEqual(sources.map(() => 'no fault'));
  });

  const isDated = publishedType(code).emissionDate === 'required';
  const { header, ...rest } = madeSourceOf(code);
  const { issueDate = { written: '2012-11-15', zone: '125E' }, ...undated } = header;
  const wrongDate: MadeSource = { ...rest, header: isDated ? undated : { ...undated, issueDate } };

  it('has a date of issue, or none, as its table says', () => {
    expect(faultOfXml(xmlOf(wrongDate))).toBe(
      isDated
        ? `header (line 3): issueDate is mandatory in type ${code}, but missing`
        : `issueDate (line 3): not allowed in type ${code}, whose documents are undated (FFFF)`,
    );
    expect(faultOfZone(madeZone(wrongDate))).toBe(
      `header: the issue date of type ${code} is ${isDated ? '"FFFF", expected: hexadecimal days since 2000-01-01' : '"125E", expected: FFFF'}`,
    );
  });

  it('has the rules that xmllint finds broken', () => {
    const sources = [...broken, { source: wrongDate, isOfSchema: true }];
    expect(
      judgedByXmllint(
        code,
        sources.map(({ source }) => xmlOf(source)),
      ),
    ).toEqual(sources.map(({ isOfSchema }) => !isOfSchema));
  });
});

describe('types without a schema', () => {
  it.each([
    ['29', 'of type 29, only the name (Attestation d’Activité Professionnelle) is public, so its fields cannot be checked'],
    ['B3', 'of type B3, only the name (Titrage antirabique) is public, so its fields cannot be checked'],
    ['ZZ', 'there is no document type "ZZ"'],
    ['1', 'there is no document type "1"'],
  ])('%s is refused', (type, message) => {
    expect(faultOfXml(xmlOf({ ...madeSourceOf('01'), type }))).toBe(`document (line 2): ${message}`);
    if (type.length === 2) expect(faultOfZone(madeZone({ ...madeSourceOf('01'), type }))).toBe(`header: ${message}`);
  });
});

describe('structure', () => {
  const valid = xmlOf(madeSourceOf('08'));
  const undated = xmlOf(madeSourceOf('03'));
  const xsi = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';

  test.each<[what: string, xml: string, message: string | RegExp]>([
    ['no root of 2D-Doc', '<a/>', 'a (line 1): the root must be the element document of the namespace urn:2d-doc:source:1'],
    ['another namespace', valid.replace('urn:2d-doc:source:1', 'urn:2d-doc:source:2'), /^document \(line 2\): the root must be/],
    ['no type', valid.replace('type="08"', ''), 'document (line 2): the attribute type is mandatory, but missing'],
    ['version 01', valid.replace('"04"', '"01"'), 'document (line 2): the attribute version is "01", expected: 02, 03 or 04'],
    ['version 4', valid.replace('"04"', '"4"'), 'document (line 2): the attribute version is "4", expected: 02, 03 or 04'],
    [
      'the binary perimeter',
      valid.replace('type', 'perimeter="0x0001" type'),
      /^document \(line 2\): the attribute perimeter is "0x0001", expected: 01/,
    ],
    ['an unknown attribute', valid.replace('type', 'name="a" type'), "document (line 2): the attribute 'name' is not allowed"],
    ['no header', valid.replace(/<header>.*<\/header>/, ''), 'document (line 2): header is mandatory, but missing'],
    [
      'a header behind the message',
      valid.replace(/(<header>.*<\/header>)([^]*<\/message>)/, '$2$1'),
      /^message \(line 4\): not allowed here; a document has header/,
    ],
    [
      'a ready-made zone',
      'DC04FR000001125E125B0101FR26FR',
      'this is not XML but a ready-made zone, which createImage2DDoc takes as dataZone',
    ],
    ['no message', valid.replace(/<message>[^]*<\/message>/, ''), 'document (line 2): message is mandatory, but missing'],
    ['nothing', '<document xmlns="urn:2d-doc:source:1" type="08"/>', 'document (line 1): header is mandatory, but missing'],
    ['two messages', valid.replace('</document>', '<message/></document>'), /^message \(line 7\): not allowed here/],
    ['an unknown element', valid.replace('</document>', '<signature/></document>'), /^signature \(line 7\): not allowed here/],
    [
      'an unknown member of the header',
      valid.replace('<ca>', '<a/><ca>'),
      /^a \(line 3\): not allowed in header; allowed: ca, certificate/,
    ],
    ['two dates of issue', valid.replace(/<issueDate>.*<\/issueDate>/, '$&$&'), 'issueDate (line 3): allowed only once'],
    ['a wrong CA', valid.replace('FR00', '1R00'), 'ca (line 3): "1R00" is not two letters A-Z and two letters or digits'],
    ['a wrong certificate', valid.replace('>0001<', '>00 1<'), 'certificate (line 3): "00 1" is not four letters A-Z or digits'],
    [
      'a date of issue that does not exist',
      valid.replace('2012-11-15', '2013-02-29'),
      'issueDate (line 3): "2013-02-29" is not a date such as 2012-11-15',
    ],
    [
      'a date of issue before 2000',
      valid.replace('2012-11-15', '1999-12-31'),
      'issueDate (line 3): 1999-12-31 is not a day from 2000-01-01 to 2179-06-05',
    ],
    [
      'a date of signature beyond FFFE',
      valid.replace('2012-11-12', '2179-06-06'),
      'signatureDate (line 3): 2179-06-06 is not a day from 2000-01-01 to 2179-06-05',
    ],
    [
      'a date with a time zone',
      valid.replace('2012-11-15', '2012-11-15Z'),
      'issueDate (line 3): "2012-11-15Z" is not a date such as 2012-11-15',
    ],
    ['a wrong country', valid.replace('</header>', '<country>fr</country></header>'), 'country (line 3): "fr" is not two letters A-Z'],
    [
      'a country in version 03',
      valid.replace('</header>', '<country>FR</country></header>').replace('"04"', '"03"'),
      'country (line 3): allowed in version 04 only, but the version is 03',
    ],
    [
      'an annex in version 02',
      valid.replace('</document>', '<annex><D01>A</D01></annex></document>').replace('"04"', '"02"'),
      'annex (line 7): allowed in version 04 only, but the version is 02',
    ],
    ['an empty annex', valid.replace('</document>', '<annex/></document>'), 'annex (line 7): at least one field is mandatory'],
    [
      'a field that the annex has twice',
      valid.replace('</document>', '<annex><D01/>\n<D09>1</D09>\n<D01/></annex></document>'),
      'D01 (line 9): allowed only once',
    ],
    [
      'a field with another name',
      valid.replaceAll('D6F', 'F6F'),
      /^F6F \(line 5\): not a field; the name of a field is D and a data identifier/,
    ],
    ['an unknown identifier', valid.replaceAll('D6F', 'DZZ'), 'DZZ (line 5): not a field; there is no data identifier ZZ'],
    [
      'a field of another namespace',
      valid.replace('<D6F>', '<D6F xmlns="urn:a">'),
      'D6F (line 5): an element of the namespace "urn:a" is not allowed; expected: urn:2d-doc:source:1',
    ],
    [
      'a field of no namespace',
      valid.replace('<D6F>', '<D6F xmlns="">'),
      'D6F (line 5): an element of no namespace is not allowed; expected: urn:2d-doc:source:1',
    ],
    ['text in the message', valid.replace('<message>', '<message>text'), 'message (line 4): text between the elements is not allowed'],
    ['text in the document', valid.replace('<message>', 'text<message>'), 'document (line 2): text between the elements is not allowed'],
    ['an element in a value', valid.replace('<D6F>', '<D6F><b/>'), 'D6F (line 5): elements in a value are not allowed'],
    ['an attribute of a field', valid.replace('<D6F>', '<D6F lang="fr">'), "D6F (line 5): the attribute 'lang' is not allowed"],
    [
      'a wrong truncate',
      valid.replace('<D6F>', '<D6F truncate="yes">'),
      'D6F (line 5): the attribute truncate is "yes", expected: never or allowed',
    ],
    [
      'truncate where nothing is cut',
      valid.replace('</message>', '<D0C truncate="never">a.fr</D0C></message>'),
      'D0C (line 6): the attribute truncate is not allowed, since the value must not be cut',
    ],
    ['a value that is nil', valid.replace('<D6F>', `<D6F ${xsi} xsi:nil="true">`), /^D6F \(line 5\): /],
    ['another type of the schema', undated.replace('<D30>', `<D30 ${xsi} xsi:type="D31">`), /^D30 \(line 5\): /],
    ['something else than a URL', valid.replace('</message>', '<D0C>http://[</D0C></message>'), 'D0C (line 6): the value is not a URI'],
  ])('%s', (_, xml, message) => {
    const fault = faultOfXml(xml);
    if (typeof message === 'string') expect(fault).toBe(message);
    else expect(fault).toMatch(message);
  });
});
