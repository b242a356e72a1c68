import { describe, expect, it, test } from 'vitest';
import { parseAnnex, parseZone } from '../../../src/twoddoc/zone/parse-zone.ts';
import { readHeader, readZone } from '../../../src/twoddoc/zone/read-zone.ts';

/** Separators are written as in the specification. */
const separators: Readonly<Record<string, string>> = { '<GS>': '\u001d', '<RS>': '\u001e', '<US>': '\u001f' };
const bytes = (text: string): Buffer =>
  Buffer.from(
    text.replaceAll(/<[GRU]S>/g, (name) => separators[name] ?? ''),
    'latin1',
  );
const fieldsOf = (message: string): string[] =>
  parseAnnex(bytes(message)).fields.map(({ id, value, truncated }) => `${id}=${value}${truncated ? '…' : ''}`);

describe('a lenient reader', () => {
  it.each([
    ['a separator behind the last field', '20AB<GS>', ['20=AB']],
    ['a separator behind a field of a fixed length', '26FR<GS>20AB', ['26=FR', '20=AB']],
    ['a separator behind a value of the maximum length', `25${'A'.repeat(32)}<GS>26FR`, [`25=${'A'.repeat(32)}`, '26=FR']],
    ['a field of a fixed length that is shorter', '2475<GS>26FR', ['24=75', '26=FR']],
    ['empty fields', '20<GS>21<GS>24<GS>23', ['20=', '21=', '24=', '23=']],
    ['a value that was cut', '20AB<RS>26FR', ['20=AB…', '26=FR']],
    ['an unknown identifier', 'ZZABC<GS>26FR', ['ZZ=ABC', '26=FR']],
    ['the same field twice', '26FR26DE', ['26=FR', '26=DE']],
    ['values that break rules', '26fr24A0000', ['26=fr', '24=A0000']],
    ['nothing', '', []],
  ])('reads %s', (_, message, fields) => {
    expect(fieldsOf(message)).toEqual(fields);
  });

  it('returns what it cannot read', () => {
    expect(parseAnnex(bytes('26FR<GS>é1AB<GS>20A'))).toEqual({
      fields: [{ id: '26', value: 'FR', truncated: false }],
      unread: '\u00e91AB\u001d20A',
    });
  });

  it('returns the members of any header', () => {
    expect(parseZone(bytes('DC04abcdefghijklmnopqrstuv')).header).toEqual({
      ...{
        version: '04',
        ca: 'abcd',
        certificate: 'efgh',
        issueDate: 'ijkl',
        signatureDate: 'mnop',
        type: 'qr',
        perimeter: 'st',
        country: 'uv',
      },
    });
  });

  it.each([
    ['', 'a zone starts with DC'],
    ['XX04FR000001125E125B0101FR', 'a zone starts with DC'],
    ['DC05FR000001125E125B0101FR', 'the version "05" is not supported; supported: 01 to 04'],
    ['DC04FR000001125E125B0101F', 'the header of version 04 has 26 characters, but there are only 25'],
    ['DC01FR000001125E125B0', 'the header of version 01 has 22 characters, but there are only 21'],
  ])('refuses %o', (zone, message) => {
    expect(() => parseZone(bytes(zone))).toThrow(message);
  });
});

describe('a strict reader', () => {
  const header = 'DC04FR000001FFFF125B0301FR';
  const message = '30A<GS>31FR7630006000011234567890189<GS>32AGRIFRPP';

  it('accepts a separator behind the last field', () => {
    expect(readZone(bytes(`${header}${message}<GS>`))).toEqual(readZone(bytes(`${header}${message}`)));
  });

  test.each([
    [
      'two separators behind the last field',
      `${message}<GS><GS>`,
      'after field 32: a separator is not allowed here: the value already has one',
    ],
    ['a separator before the first field', `<GS>${message}`, 'message: a separator is not allowed here, before the first field'],
    [
      'a separator behind a value of the maximum length',
      `${message}XXX<GS>08125E`,
      'after field 32: a separator is not allowed here: values of a fixed length',
    ],
    ['a separator behind a field of a fixed length', `08125E<GS>${message}`, 'after field 08: a separator is not allowed here'],
    ['a field of a fixed length that was cut', `08125E<RS>${message}`, 'after field 08: a separator is not allowed here'],
    ['a URL that was cut', `0CMFRA<RS>${message}`, 'field 0C: must not be cut'],
    [
      'a value that was cut below its minimum',
      message.replace('AGRIFRPP', 'AGRI<RS>'),
      'field 32: 4 characters long, but the minimum length is 8',
    ],
    ['other characters in a value that was cut', message.replace('30A<GS>', '30a<RS>'), 'field 30: the character "a" is not allowed'],
    ['a signed code', `${message}<US>ABC`, 'this code is signed already: a US (1F) ends its data zone'],
    ['an unknown identifier', `${message}<GS>ZZA`, 'after field 32: "ZZ" is not a data identifier'],
    ['half an identifier', `${message}<GS>0`, 'after field 32: "0" is not a data identifier'],
    ['no identifier at the start', `Z${message}`, 'message: "Z3" is not a data identifier'],
    ['a missing separator', message.replace('30A<GS>', '30A'), 'field 30: 34 characters long'],
  ])('refuses %s', (what, changed, fault) => {
    if (what !== 'a missing separator') expect(() => readZone(bytes(`${header}${changed}`))).toThrow(fault);
    // Without its separator, the name reaches to the next one, and takes the account number in.
    else expect(() => readZone(bytes(`${header}${changed}`))).toThrow('field 31: mandatory in type 03, but missing');
  });

  it('accepts a value that was cut', () => {
    expect(readZone(bytes(`${header}${message.replace('30A<GS>', '30A<RS>')}`)).fields[0]).toEqual({
      id: '30',
      value: 'A',
      truncated: true,
    });
  });

  test.each([
    ['<document xmlns="urn:2d-doc:source:1" type="01">', 'a zone starts with DC; this is XML, such as the source that a zone is made of'],
    ['\u00ef\u00bb\u00bf <document/>', 'a zone starts with DC; this is XML'],
    ['DC05FR000001125E125B0101FR', 'header: the version "05" is not supported; versions that can be signed: 02, 03 and 04'],
    ['DC01FR000001FFFF125B03', 'header: version 01 is only read; versions that can be signed: 02, 03 and 04'],
    ['DC021R000001FFFF125B03', 'header: the CA identifier is "1R00", expected: two letters and two letters or digits'],
    ['DC02FR0000-1FFFF125B03', 'header: the certificate identifier is "00-1", expected: four letters or digits'],
    ['DC02FR000001FFFFFFFF03', 'header: the signature date is "FFFF", expected: hexadecimal days since 2000-01-01'],
    ['DC02FR000001125EXXXX01', 'header: the signature date is "XXXX", expected: hexadecimal days since 2000-01-01'],
    ['DC02FR000001125e125B01', 'header: the issue date of type 01 is "125e", expected: hexadecimal days since 2000-01-01'],
    ['DC02FR000001FFFF125B01', 'header: the issue date of type 01 is "FFFF", expected: hexadecimal days since 2000-01-01'],
    ['DC02FR000001125E125B03', 'header: the issue date of type 03 is "125E", expected: FFFF'],
    ['DC03FR000001FFFF125B0302', 'header: the perimeter is "02", expected: 01'],
    ['DC04FR000001FFFF125B0301F1', 'header: the country is "F1", expected: two letters'],
    ['DC04FR000001FFFF125B29 1FR', 'header: the perimeter is " 1", expected: 01'],
    ['DC02FR000001FFFF125BZZ', 'header: there is no document type "ZZ"'],
    ['DC02FR000001FFFF125BB3', 'header: of type B3, only the name (Titrage antirabique) is public, so its fields cannot be checked'],
  ])('refuses the header %s', (zone, fault) => {
    expect(() => readHeader(bytes(zone))).toThrow(fault);
    expect(() => readZone(bytes(zone))).toThrow(fault);
  });

  it('reads a header alone, whatever follows it', () => {
    expect(readHeader(bytes(`${header}<GS>é`))).toEqual(readZone(bytes(`${header}${message}`)).header);
  });
});
