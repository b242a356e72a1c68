import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, contentDocument, evidenceOf, newKey, root, secretOf, type TestKey } from '../support/api.ts';
import { insertedBytes } from '../support/inserted-bytes.ts';
import { xmlsecVerdict } from '../support/xmlsec.ts';
import { succeeds } from '../support/succeeds.ts';

let key: TestKey;
beforeAll(async () => {
  key = await newKey('other');
});

const signed = async (document: Buffer, envelopedXAdESParameters: object = {}): Promise<Buffer> => {
  const answer = await call('other', 'signature/sign', {
    keyReference: secretOf(key),
    parameters: { envelopedXAdESSignature: { envelopedXAdESParameters } },
    inputDocuments: [contentDocument(document)],
  });
  succeeds(answer);
  return evidenceOf(answer);
};
const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le');
const bigEndian = (text: string): Buffer => utf16(text).swap16();
/** What the encodings of one byte have that is not ASCII: é, and the euro sign where it is. */
const western = (encoding: string, ...euro: readonly number[]): Buffer =>
  Buffer.concat([
    Buffer.from(`<?xml version='1.0' encoding='${encoding}'?><a b="`),
    Buffer.of(0xe9),
    Buffer.from('">prix '),
    Buffer.of(...euro),
    Buffer.from('</a>\n'),
  ]);
const mark = Buffer.of(0xef, 0xbb, 0xbf);

/** Size of a code unit, and the name of the encoding; default: bytes, UTF-8. */
interface Units {
  readonly unitBytes?: number;
  readonly encoding?: BufferEncoding;
}

const documents: readonly (readonly [string, Buffer, Units?])[] = [
  ['lines that end in CR and LF', Buffer.from('<?xml version="1.0"?>\r\n<a>\r\n  <b>x</b>\r\n</a>\r\n')],
  ['lines that end in CR', Buffer.from('<a>\r<b>x</b>\r</a>\r')],
  ['a carriage return as a character reference', Buffer.from('<a b="x&#13;&#xD;y">one&#13;\ntwo&#xD;\r\nthree</a>')],
  ['white space in tags', Buffer.from('<a  b = "1"\n\t c="2"\r\n><d   /><e\t></e  >x</a \n>')],
  ['single quotes', Buffer.from(`<?xml version='1.0' standalone='yes'?><a b='"' c="'">x</a>`)],
  ['character references and entities', Buffer.from('<a b="&#65;&quot;&#x20AC;">&lt;&amp;&#xE9;&#128512;</a>')],
  ['attributes in another order than the canonical one', Buffer.from('<a z="1" xmlns:q="urn:q" y="2" q:x="3" xmlns="urn:a">x</a>')],
  [
    'CDATA, comments and instructions',
    Buffer.from('<!-- < --><?a <b>?><a><![CDATA[</a> ]]]]><![CDATA[>]]><!-- </a> --><?x </a>?></a><!-- end -->'),
  ],
  ['a byte order mark', Buffer.concat([mark, Buffer.from('<a>é</a>')])],
  ['a byte order mark and a declaration', Buffer.concat([mark, Buffer.from('<?xml version="1.0" encoding="UTF-8"?><a>é</a>')])],
  ['no declaration and characters of two to four bytes', Buffer.from('<a>é€🖋</a>')],
  ['a root with a name of several bytes', Buffer.from('<état xmlns:ß="urn:s"><ß:é>x</ß:é></état>')],
  ['a prefix ds for something else', Buffer.from('<ds:a xmlns:ds="urn:other"><ds:b/></ds:a>')],
  ['the prefixes xad and sig for something else', Buffer.from('<xad:a xmlns:xad="urn:other" xmlns:sig="urn:third"><sig:b/></xad:a>')],
  ['a line of a megabyte', Buffer.from(`<a>${'long '.repeat(200_000)}<b c="${'x'.repeat(100_000)}"/></a>`)],
  ['1,000 lines', Buffer.from(`<a>\n${'<b>1</b>\n'.repeat(1000)}</a>\n`)],
  [
    'UTF-16, little-endian',
    utf16('\u{feff}<?xml version="1.0" encoding="UTF-16"?><a é="€">🖋</a>\r\n'),
    { unitBytes: 2, encoding: 'utf16le' },
  ],
  ['UTF-16, big-endian', bigEndian('\u{feff}<?xml version="1.0" encoding="UTF-16"?><a é="€">🖋</a>\r\n'), { unitBytes: 2 }],
  ['UTF-16 without a byte order mark', utf16('<?xml version="1.0" encoding="UTF-16LE"?><a>🖋</a>'), { unitBytes: 2, encoding: 'utf16le' }],
  ['ISO-8859-1', western('ISO-8859-1', 0xa3)],
  ['ISO-8859-15', western('iso-8859-15', 0xa4)],
  ['windows-1252', western('Windows-1252', 0x80)],
  ['US-ASCII', Buffer.from('<?xml version="1.0" encoding="US-ASCII"?><a>&#233;</a>')],
];

describe('an enveloped signature in a document', () => {
  it.each(documents.map(([name, document, units = {}]) => ({ name, document, units })))(
    'with $name is inserted, and changes no other byte',
    async ({ document, units: { unitBytes = 1, encoding = 'utf8' } }) => {
      for (const signaturePosition of ['LAST_CHILD', 'FIRST_CHILD']) {
        const evidence = await signed(document, { signaturePosition });
        const { bytes } = insertedBytes(document, evidence, unitBytes) ?? {};
        expect(bytes).toBeDefined();
        const text =
          unitBytes === 2 && encoding === 'utf8'
            ? Buffer.from(bytes ?? [])
                .swap16()
                .toString('utf16le')
            : bytes?.toString(encoding);
        expect(text?.match(/<\/?ds:Signature\b/g)).toEqual(['<ds:Signature', '</ds:Signature']);
        expect(xmlsecVerdict(evidence, { root: readFileSync(root) })).toBe('OK');
      }
    },
  );

  it.each([
    ['<a/>', '<a>…</a>'],
    ['<a b="1" />\n', '<a b="1" >…</a>\n'],
    ['<état/>', '<état>…</état>'],
    ['<p:a xmlns:p="urn:p"/><!-- end -->', '<p:a xmlns:p="urn:p">…</p:a><!-- end -->'],
  ])('that is %s makes two tags of the one: %s', async (document, expected) => {
    for (const bytes of [Buffer.from(document), utf16(`\u{feff}${document}`)]) {
      const evidence = await signed(bytes);
      const text = bytes.length === Buffer.from(document).length ? evidence.toString() : evidence.toString('utf16le').slice(1);
      expect(text.replace(/<ds:Signature .*<\/ds:Signature>/s, '…')).toBe(expected);
      expect(xmlsecVerdict(evidence, { root: readFileSync(root) })).toBe('OK');
    }
  });

  it('goes before, into and behind the element that is named, in every encoding', async () => {
    const text = '<?xml version="1.0" encoding="ENCODING"?><é:a xmlns:é="urn:x"><b>ä</b><é:c>ö</é:c><d/>ü</é:a>';
    const encoded = (encoding: string): Buffer => {
      const named = text.replace('ENCODING', encoding);
      return encoding === 'UTF-16' ? utf16(`\u{feff}${named}`) : Buffer.from(named, encoding === 'UTF-8' ? 'utf8' : 'latin1');
    };
    const places = { FIRST_CHILD: '<é:c>…ö</é:c>', LAST_CHILD: '<é:c>ö…</é:c>', NEXT_SIBLING: '<é:c>ö</é:c>…<d/>' };
    for (const encoding of ['UTF-8', 'UTF-16', 'ISO-8859-1', 'windows-1252']) {
      for (const [signaturePosition, expected] of Object.entries(places)) {
        const evidence = await signed(encoded(encoding), { xpathSignaturePosition: '//é:c', signaturePosition });
        const decoded = new TextDecoder(encoding === 'UTF-16' ? 'utf-16le' : encoding).decode(evidence);
        expect(decoded.replace(/<ds:Signature .*<\/ds:Signature>/s, '…')).toContain(expected);
        expect(xmlsecVerdict(evidence, { root: readFileSync(root) })).toBe('OK');
      }
    }
  });
});
