import { describe, expect, it } from 'vitest';
import { ObjectParser } from '../../../../src/pdf/object-parser.ts';
import { isArray, PdfDictionary, PdfName, type PdfObject } from '../../../../src/pdf/objects.ts';
import {
  appearances,
  chosen,
  extensions,
  information,
  resources,
  securityStore,
  typeOfEntry,
  type PlaceType,
} from '../../../../src/signatures/pades/verify/place-types.ts';
import { madePdf, usualObjects } from '../../../pdf/made-pdf.ts';
import { opened } from '../../../pdf/opened.ts';
import { signPdfWith } from '../sign-pdf.ts';
import { smallPdf } from '../../../support/small-pdf.ts';
import { findingOf, reference, revised, stream, streamText } from './revised-pdf.ts';

const bytes = Buffer.from('q Q');
const file = opened(
  madePdf({
    ...usualObjects(),
    20: { entries: '', bytes },
    21: { entries: '/Type /XObject /Subtype /Form', bytes },
    22: { entries: '/Subtype /Form', bytes },
    23: { entries: '/Type /XObject /Subtype /Image', bytes },
    24: { entries: '/Type /Other /Subtype /Form', bytes },
    25: { entries: '/Type /XObject', bytes },
    26: '/Form',
    27: { entries: '/Subtype 26 0 R', bytes },
    28: '/XObject',
    29: { entries: '/Type 28 0 R /Subtype /Form', bytes },
    30: { entries: '/Type 26 0 R /Subtype /Form', bytes },
  }),
);

/** Checks whether an object is of a type with all that it has and leads to. */
function fits(type: PlaceType, object: PdfObject): boolean {
  const found = file.resolved(object);
  const own = chosen(file, type, found);
  if (own?.kind === 'ARRAY' && isArray(found)) return found.every((one) => fits(own.of, one));
  if (own?.kind !== 'DICTIONARY' || !(found instanceof PdfDictionary)) return own !== undefined;
  return found.entries().every(([key, one]) => {
    const typeOfPart = typeOfEntry(own, key);
    return typeOfPart !== undefined && fits(typeOfPart, one);
  });
}

const objectOf = (text: string): PdfObject => new ObjectParser({ bytes: Buffer.from(text), offset: 0, isLast: true }).object();
/** Base-16 of a SHA-1 digest. */
const [digest, other] = ['0123456789ABCDEFabcdef012345678901234567', 'F'.repeat(40)];

const rows: readonly (readonly [string, PlaceType, readonly string[], readonly string[]])[] = [
  [
    'a document security store',
    securityStore,
    [
      '<<>>',
      '<</Type /DSS /Certs [20 0 R 20 0 R] /CRLs [20 0 R] /OCSPs [20 0 R] /VRI <<>>>>',
      `<</VRI <</Type /VRI /${digest} <<>> /${other} <<>>>>>>`,
      `<</VRI <</${digest} <</Type /VRI /Cert [20 0 R] /CRL [20 0 R] /OCSP [20 0 R] /TU (D:2026) /TS 20 0 R>>>>>>`,
    ],
    [
      '<</Certs 20 0 R>>',
      '<</Certs [<<>>]>>',
      ...['Certs', 'CRLs', 'OCSPs'].map((key) => `<</${key} [1 0 R]>>`),
      '<</Type <<>>>>',
      '<</Type 1 0 R>>',
      '<</Cert [20 0 R]>>',
      '<</VRI []>>',
      `<</VRI <</${digest.slice(1)} <<>>>>>>`,
      `<</VRI <</${digest}0 <<>>>>>>`,
      `<</VRI <</G${digest.slice(1)} <<>>>>>>`,
      `<</VRI <</${digest} []>>>>`,
      ...['Cert', 'CRL', 'OCSP'].flatMap((key) => [
        `<</VRI <</${digest} <</${key} [1 0 R]>>>>>>`,
        `<</VRI <</${digest} <</${key} 20 0 R>>>>>>`,
      ]),
      `<</VRI <</${digest} <</TU [(D:2026)]>>>>>>`,
      `<</VRI <</${digest} <</TU 20 0 R>>>>>>`,
      `<</VRI <</${digest} <</TS (text)>>>>>>`,
      `<</VRI <</${digest} <</Type [/VRI]>>>>>>`,
      `<</VRI <</${digest} <</X 1>>>>>>`,
      '<</VRI <</Type []>>>>',
    ],
  ],
  [
    'the extensions of a file',
    extensions,
    [
      '<<>>',
      '<</Type /Extensions /ADBE <</Type /DeveloperExtensions /BaseVersion /1.7 /ExtensionLevel 8>>>>',
      '<</ISO_ [<</BaseVersion /2.0 /ExtensionLevel 1 /ExtensionRevision (:2022) /URL (a)>> <<>>]>>',
    ],
    [
      '<</Type <<>> /ADBE /1.7>>',
      '<</ADBE /1.7>>',
      '<</ADBE [/1.7]>>',
      '<</ADBE 20 0 R>>',
      '<</ADBE <</X 1>>>>',
      ...['Type', 'BaseVersion', 'ExtensionLevel', 'ExtensionRevision', 'URL'].map((key) => `<</ADBE <</${key} [1]>>>>`),
    ],
  ],
  [
    'the properties of a file',
    information,
    ['<<>>', '<</Title (a) /Trapped /True /X 1 /Y true /Z 1.5>>', '<</X [(a) [1]] /Y <</Z 1>>>>'],
    ['[]', '<</Title 20 0 R>>', '<</Title null>>'],
  ],
  [
    'the resources of a form',
    resources,
    ['<<>>', '<</Font <</F1 14 0 R /F2 <<>>>> /XObject <</A 20 0 R /B 23 0 R>> /ProcSet [/PDF] /X 1>>', '<</X <</Y null>>>>'],
    ['[]', '<</XObject 20 0 R>>'],
  ],
  [
    'the appearances of an annotation',
    appearances,
    [
      '<<>>',
      ...['N', 'R', 'D'].flatMap((key) => [
        `<</${key} 21 0 R>>`,
        `<</${key} <</On 21 0 R /Off 22 0 R>>>>`,
        `<</${key} 27 0 R>>`,
        `<</${key} 29 0 R>>`,
      ]),
      '<</N <<>>>>',
    ],
    [
      '<</X 21 0 R>>',
      ...['N', 'R', 'D'].flatMap((key) => [`<</${key} 20 0 R>>`, `<</${key} <</On 23 0 R>>>>`, `<</${key} [21 0 R]>>`]),
      ...['23', '24', '25', '30'].map((number) => `<</N ${number} 0 R>>`),
      '<</N <</On <</Off 21 0 R>>>>>>',
      '<</N null>>',
    ],
  ],
];

describe.each(rows)('%s', (_, type, those, others) => {
  it.each(those)('can be %s', (text) => {
    expect(fits(type, objectOf(text))).toBe(true);
  });

  it.each(others)('cannot be %s', (text) => {
    expect(fits(type, objectOf(text))).toBe(false);
  });
});

describe('a document security store in several objects', () => {
  const signed = signPdfWith(
    smallPdf({
      catalog: '/DSS 12 0 R',
      objects: [
        '<< /Certs 13 0 R /VRI 14 0 R >>',
        '[17 0 R]',
        `<< /${digest} 15 0 R >>`,
        '<< /Cert 16 0 R >>',
        '[17 0 R]',
        streamText('certificate'),
      ],
    }),
    { docMDPLevel: 'LEVEL_1' },
  );
  it.each([
    ['a list of it', 13, (added: PdfObject) => [reference(17), added]],
    ['the list of one signature', 16, (added: PdfObject) => [reference(17), added]],
    ['one signature', 15, (added: PdfObject) => PdfDictionary.of({ Cert: reference(16), TS: added })],
    ['the signatures', 14, (added: PdfObject) => PdfDictionary.of({ [digest]: reference(15), [other]: PdfDictionary.of({ TS: added }) })],
  ])('grows in %s alone', (__, number, grown) => {
    const finding = (added: PdfObject): string | undefined =>
      findingOf(revised(signed, (revision) => revision.set(reference(number), grown(revision.add(added)))));
    expect(finding(stream('another'))).toBeUndefined();
    expect(finding(PdfDictionary.of({ Type: new PdfName('Page') }))).toContain('another type');
  });
});
