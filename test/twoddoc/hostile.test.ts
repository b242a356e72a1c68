import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { readSource } from '../../src/twoddoc/source/read-source.ts';
import { TwoDDocFault } from '../../src/twoddoc/two-d-doc-fault.ts';
import { parseAnnex, parseZone } from '../../src/twoddoc/zone/parse-zone.ts';
import { readHeader, readZone } from '../../src/twoddoc/zone/read-zone.ts';
import { fieldsInWords, headerInWords } from '../../src/twoddoc/zone/words.ts';
import { annexOf, zoneOf } from '../../src/twoddoc/zone/zone-of.ts';
import { repetitions } from '../support/repetitions.ts';
import { faultOf } from '../support/two-d-doc-faults.ts';
import { madeFields, madeSourceOf, madeSources, madeZone, validSourceOf, xmlOf } from '../support/two-d-doc-sources.ts';

const fill = { ca: 'FR00', certificate: '0001', today: new Date('2026-01-02') };

/** Returns the outcome; undefined if a fault of 2D-Doc was thrown. Any other error is thrown. */
function outcomeOf<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof TwoDDocFault && error.message.length > 10 && error.message.length < 2000) return undefined;
    throw error;
  }
}

const faultOfXml = (xml: string | Uint8Array): string => faultOf(() => readSource(Buffer.from(xml)));

const snippets = [
  ...[
    '<',
    '>',
    '</',
    '/>',
    '&',
    '&#',
    '&#x1D;',
    '&#0;',
    '&lt;',
    '&a;',
    ';',
    '"',
    "'",
    '=',
    ' ',
    '\n',
    '\0',
    '\u001d',
    '\u001e',
    'é',
    '\u{1f600}',
  ],
  ...['<!--', '-->', '<![CDATA[', ']]>', '<?', '?>', '<?xml version="1.0"?>', '<!DOCTYPE a>', '<!ENTITY a "b">', 'xmlns=""', 'xmlns:a="b"'],
  ...[
    '<D10>',
    '</D10>',
    '<D22/>',
    '<D0C>a.fr</D0C>',
    '<annex>',
    '</annex>',
    '<header/>',
    '<message>',
    '</message>',
    '<document>',
    '</document>',
  ],
  ...['truncate="allowed"', 'type="01"', 'version="02"', 'perimeter="01"', 'xsi:nil="true"', 'FFFF', '00', '9999-99-99', '0', 'A', 'FR'],
].map((text) => Buffer.from(text));

interface Change {
  readonly at: number;
  readonly removed: number;
  readonly inserted: Buffer;
}

const changes = fc.array(
  fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    removed: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 40 })),
    inserted: fc.oneof(
      fc.constantFrom(...snippets),
      fc.uint8Array({ maxLength: 3 }).map((bytes) => Buffer.from(bytes)),
      fc.constant(Buffer.alloc(0)),
    ),
  }),
  { minLength: 1, maxLength: 4 },
);

function changed(bytes: Buffer, made: readonly Change[]): Buffer {
  return made.reduce((before, { at, removed, inserted }) => {
    const start = Math.floor(at * before.length);
    return Buffer.concat([before.subarray(0, start), inserted, before.subarray(start + removed)]);
  }, bytes);
}

describe('sources that were changed', () => {
  it('are refused with a fault, or give a zone that breaks no rule', () => {
    let refused = 0;
    const runs = repetitions(1000, 1000);
    fc.assert(
      fc.property(madeSources(), changes, (source, made) => {
        const read = outcomeOf(() => readSource(changed(Buffer.from(xmlOf(source)), made)));
        if (read === undefined) {
          refused += 1;
          return;
        }
        const zone = zoneOf(read, fill);
        expect(readZone(zone).fields).toEqual(read.fields);
        expect(parseAnnex(annexOf(read) ?? new Uint8Array())).toEqual({ fields: read.annex });
      }),
      { numRuns: runs },
    );
    expect(refused).toBeGreaterThan(runs / 2);
  });
});

describe('attacks', () => {
  const valid = validSourceOf('01');
  const [declaration = '', ...lines] = valid.split('\n');
  const rest = lines.join('\n');
  const withType = (type: string, value = 'A'): string => `${declaration}\n${type}\n${rest.replace('<D10>', `<D10>${value}`)}`;
  const laughs = Array.from({ length: 10 }, (_, at) => `<!ENTITY e${at} "${at === 0 ? 'HA' : `&e${at - 1};`.repeat(10)}">`).join('');
  const doctype = 'a DOCTYPE is not allowed (line 2, column 1)';
  const deep = (depth: number): string => valid.replace('<message>', `<message>${'<a>'.repeat(depth)}${'</a>'.repeat(depth)}`);

  test.each<[what: string, source: string | Uint8Array, message: string | RegExp]>([
    ['a document type', withType('<!DOCTYPE document>'), doctype],
    ['an internal entity', withType('<!DOCTYPE document [<!ENTITY e "A">]>', '&e;'), doctype],
    ['an external entity', withType('<!DOCTYPE document [<!ENTITY e SYSTEM "file:///etc/passwd">]>', '&e;'), doctype],
    ['an external document type', withType('<!DOCTYPE document SYSTEM "http://127.0.0.1/x.dtd">'), doctype],
    ['a parameter entity', withType('<!DOCTYPE document [<!ENTITY % e SYSTEM "http://127.0.0.1/x.dtd"> %e;]>'), doctype],
    ['a billion laughs', withType(`<!DOCTYPE document [${laughs}]>`, '&e9;'), doctype],
    ['a document type behind the root', `${valid}<!DOCTYPE document>`, /^the document is not well-formed XML/],
    ['an entity without a declaration', rest.replace('<D10>', '<D10>&e;'), /Entity 'e' not defined \(line 7, column/],
    [
      'an inclusion',
      rest.replace('<message>', '<message><xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="/etc/passwd"/>'),
      /^include \(line 3\): an element of the namespace/,
    ],
    ['elements 17 deep', deep(15), /^more than 16 elements inside each other \(line 4/],
    ['elements 9,000 deep', deep(9000), /^more than 16 elements inside each other/],
    ['elements that do not end', '<a>'.repeat(20_000), /^more than 16 elements inside each other/],
    ['a source of more than 64 KiB', valid.padEnd(65_537), 'the source has 65537 bytes; allowed are 65536'],
    ['10,000 elements', valid.replace('<message>', `<message>${'<a/>'.repeat(10_000)}`), /^more than 4000 elements and attributes/],
    [
      '10,000 attributes',
      valid.replace('<message', `<message ${Array.from({ length: 5000 }, (_, at) => `a${at}=""`).join(' ')}`),
      /^more than 32 attributes in one element/,
    ],
    ['an attribute twice', valid.replace('type="01"', 'type="01" type="01"'), /^the document is not well-formed XML/],
    ['no bytes', '', /^the document is not well-formed XML/],
    ['something else than XML', '{"document":{}}', /^the document is not well-formed XML/],
    ['the end missing', valid.slice(0, -30), /^the document is not well-formed XML/],
    ['two roots', valid.concat(rest), /^the document is not well-formed XML/],
    ['a declaration of UTF-16', valid.replace('UTF-8', 'UTF-16'), /^the first bytes are those of an encoding with one byte/],
    [
      'UTF-16 that is declared as UTF-8',
      Buffer.from(`\u{feff}${valid}`, 'utf16le'),
      /^the first bytes are those of UTF-16LE, but the XML declaration says UTF-8/,
    ],
    ['an unknown encoding', valid.replace('UTF-8', 'UTF-7'), /^the encoding UTF-7 is not supported/],
    ['EBCDIC', Buffer.from([0x4c, 0x6f, 0xa7, 0x94, 0x93]), /^/],
    ['Latin-1 in UTF-8', Buffer.from(valid.replace('<D10>', '<D10>\u00e9'), 'latin1'), /^the document is not well-formed XML/],
    ['UTF-8 of half a character', Buffer.concat([Buffer.from('<a>'), Buffer.from([0xc3]), Buffer.from('</a>')]), /^/],
    ['XML 1.1', valid.replace('version="1.0"', 'version="1.1"'), /^the version of XML "1.1" is not supported/],
    ['a NUL', valid.replace('<D10>', '<D10>\0'), /^the document is not well-formed XML/],
    ['a separator', valid.replace('<D10>', '<D10>\u001d'), /^the document is not well-formed XML/],
    ['a separator by reference', valid.replace('<D10>', '<D10>&#29;'), /^the document is not well-formed XML/],
    [
      'a value of 60,000 characters',
      valid.replace('<D10>', `<D10>${'A'.repeat(60_000)}`),
      /^D10 \(line \d+\): 600\d\d characters long, but the maximum length is 38$/,
    ],
    ['a name of 60,000 characters', rest.replaceAll('D10', 'A'.repeat(30_000)), /^"A{60}…" \(line \d+\): not a field/],
  ])('%s', (_, source, message) => {
    const fault = faultOfXml(source);
    if (typeof message === 'string') expect(fault).toBe(message);
    else expect(fault).toMatch(message);
  });

  it('bytes of any kind are no source', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => outcomeOf(() => readSource(bytes)) === undefined),
      { numRuns: repetitions(2000, 500) },
    );
  });

  it('a zone that no symbol can hold is refused, not its source', () => {
    const made = madeSourceOf('08');
    const sized = (length: number): string =>
      xmlOf({
        ...made,
        fields: [
          { id: '6F', written: 'A', zone: 'A' },
          { id: '01', written: 'A'.repeat(length), zone: '' },
        ],
      });
    // A header of 26 characters, 6FA and a separator, and the identifier 01.
    const longest = 3116 - 26 - 4 - 2;
    expect(zoneOf(readSource(Buffer.from(sized(longest))), fill)).toHaveLength(3116);
    const zone = zoneOf(readSource(Buffer.from(sized(longest))), fill);
    expect(readZone(zone).fields).toHaveLength(2);
    expect(() => zoneOf(readSource(Buffer.from(sized(longest + 1))), fill)).toThrow(
      new TwoDDocFault('the zone has 3117 characters, but the largest symbol holds 3116'),
    );
    expect(() => readZone(Buffer.concat([zone, Buffer.from('A')]))).toThrow(
      'the zone has 3117 characters, but the largest symbol holds 3116',
    );
  });
});

describe('zones of any bytes', () => {
  const readers = (bytes: Uint8Array): void => {
    outcomeOf(() => readHeader(bytes));
    const parsed = outcomeOf(() => parseZone(bytes));
    if (parsed !== undefined) {
      expect(headerInWords(parsed.header).length).toBeGreaterThan(5);
      expect(fieldsInWords(parsed.fields)).toHaveLength(parsed.fields.length);
    }
    fieldsInWords(parseAnnex(bytes).fields);
    const read = outcomeOf(() => readZone(bytes));
    if (read === undefined) return;
    expect(parsed).toEqual(read);
    const written = madeFields(read.fields.map(({ id, value, truncated }) => ({ id, zone: value, written: '', truncated })));
    const zone = Buffer.from(bytes).toString('latin1');
    expect([written, `${written}\u001d`]).toContain(zone.slice({ '02': 22, '03': 24, '04': 26 }[zone.slice(2, 4)]));
  };

  it('are read or refused with a fault', () => {
    const start = fc.constantFrom('', 'DC', 'DC01', 'DC02', 'DC04FR000001FFFF125B0301FR', 'DC03FR000001125E125C0801');
    fc.assert(
      fc.property(start, fc.uint8Array({ maxLength: 100 }), (text, bytes) => readers(Buffer.concat([Buffer.from(text), bytes]))),
      { numRuns: repetitions(20_000, 2000) },
    );
  });

  it('are read or refused with a fault when they were valid before they were changed', () => {
    fc.assert(
      fc.property(madeSources(), changes, (source, made) => readers(changed(Buffer.from(madeZone(source), 'latin1'), made))),
      { numRuns: repetitions(5000, 1000) },
    );
  });
});
