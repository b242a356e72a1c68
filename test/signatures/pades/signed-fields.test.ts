import { describe, expect, it } from 'vitest';
import { DerError } from '../../../src/asn1/reader.ts';
import { PdfDictionary, PdfReference, PdfString } from '../../../src/pdf/objects.ts';
import type { PdfFile } from '../../../src/pdf/pdf-file.ts';
import {
  byteRangeOf,
  docMdpLevel,
  encodedSignature,
  isDocumentTimeStamp,
  lockedBy,
  lockOf,
  locks,
  signatureFields,
  type LockedFields,
} from '../../../src/signatures/pades/signed-fields.ts';
import { SignatureRoom, withContents } from '../../../src/signatures/pades/signature-room.ts';
import { opened } from '../../pdf/opened.ts';
import { smallPdf } from '../../support/small-pdf.ts';

/** Objects 12 and on of a small file; the fields are the first two. */
function fileWith(objects: readonly string[], catalog = ''): PdfFile {
  return opened(smallPdf({ catalog: `/AcroForm << /Fields [12 0 R 13 0 R] >> ${catalog}`, objects }));
}
const dictionary = (file: PdfFile, number: number): PdfDictionary => file.dictionary(new PdfReference(number, 0), 'the object');
const field = (more: string): string => `<< /FT /Sig /T (f) ${more} >>`;
const docMdp = (entries: string): string => `<< /Reference [<< /TransformMethod /DocMDP ${entries} >>] >>`;

describe('the changes that a document allows', () => {
  const level = (signature: string, { catalog = '', second = 'null', lock = '' } = {}): number | undefined => {
    const file = fileWith([field(`/V 14 0 R ${lock}`), second, signature], catalog);
    return docMdpLevel(file, signatureFields(file));
  };

  it.each<[string, object, number | undefined]>([
    ['<< /Type /Sig >>', {}, undefined],
    [docMdp('/TransformParams << /P 1 >>'), {}, 1],
    [docMdp('/TransformParams << /P 2 >>'), {}, 2],
    [docMdp('/TransformParams << /P 3 >>'), {}, 3],
    // Without a level, or with none that there is, it is the usual one.
    [docMdp('/TransformParams << >>'), {}, 2],
    [docMdp('/TransformParams << /P 4 >>'), {}, 2],
    [docMdp('/TransformParams << /P 0 >>'), {}, 2],
    [docMdp(''), {}, 2],
    ['<< /Reference [<< /TransformMethod /Other /TransformParams << /P 1 >> >>] >>', {}, undefined],
    ['<< /Reference << /TransformMethod /DocMDP >> >>', {}, undefined],
    ['<< /Reference [5 null] >>', {}, undefined],
    // What Perms names certifies, whatever it says.
    ['<< /Type /Sig >>', { catalog: '/Perms << /DocMDP 14 0 R >>' }, 2],
    ['<< /Type /Sig >>', { catalog: '/Perms << /DocMDP 99 0 R >>' }, undefined],
    ['<< /Type /Sig >>', { catalog: '/Perms [14 0 R]' }, undefined],
    [docMdp('/TransformParams << /P 3 >>'), { catalog: '/Perms << /DocMDP 14 0 R >>' }, 3],
    // The strictest counts.
    [
      docMdp('/TransformParams << /P 3 >>'),
      { second: field(`/T (g) /V ${docMdp('/TransformParams << /P 1 >>')}`).replace('/T (f)', '') },
      1,
    ],
    [
      docMdp('/TransformParams << /P 2 >>'),
      { second: field(`/T (g) /V ${docMdp('/TransformParams << /P 3 >>')}`).replace('/T (f)', '') },
      2,
    ],
    ['<< /Type /Sig >>', { lock: '/Lock << /Action /All /P 1 >>' }, 1],
    ['<< /Type /Sig >>', { lock: '/Lock << /Action /All >>' }, undefined],
    ['null', { lock: '/Lock << /Action /All /P 1 >>' }, undefined],
    ['<< /Reference [<< /TransformMethod /FieldMDP /TransformParams << /Action /All /P 1 >> >>] >>', {}, 1],
  ])('by %s and %j are those of level %s', (signature, more, expected) => {
    expect(level(signature, more)).toBe(expected);
  });
});

describe('a lock', () => {
  const lock = (text: string): LockedFields | undefined => lockOf(fileWith(['null', 'null', text]), new PdfReference(14, 0));

  it.each<[string, LockedFields | undefined]>([
    ['<< /Action /All >>', { action: 'All', fields: [], permission: undefined }],
    ['<< /Action /Include /Fields [(a) (b.c) 5] /P 1 >>', { action: 'Include', fields: ['a', 'b.c'], permission: 1 }],
    ['<< /Action /Exclude /Fields [(a)] /P 2 >>', { action: 'Exclude', fields: ['a'], permission: 2 }],
    ['<< /Action /Exclude /Fields (a) /P 3 >>', { action: 'Exclude', fields: [], permission: 3 }],
    ['<< /Action /All /P 4 >>', { action: 'All', fields: [], permission: undefined }],
    ['<< /Action /Odd >>', undefined],
    ['<< /Action (All) >>', undefined],
    ['<< >>', undefined],
    ['[/All]', undefined],
    ['null', undefined],
  ])('%s is read as %j', (text, expected) => {
    expect(lock(text)).toEqual(expected);
  });

  it('by a signature is that of its parameters, and of all fields where they cannot be read', () => {
    const locked = (parameters: string): readonly LockedFields[] => {
      const file = fileWith(['null', 'null', `<< /Reference [<< /TransformMethod /FieldMDP ${parameters} >>] >>`]);
      return lockedBy(file, dictionary(file, 14));
    };
    expect(locked('/TransformParams << /Action /Include /Fields [(a)] >>')).toMatchObject([{ action: 'Include', fields: ['a'] }]);
    for (const parameters of ['', '/TransformParams << >>', '/TransformParams [1]', '/TransformParams << /Action /Odd >>'])
      expect(locked(parameters)).toEqual([{ action: 'All', fields: [] }]);
  });

  it.each<[LockedFields, string, boolean]>([
    [{ action: 'All', fields: [] }, 'a', true],
    [{ action: 'All', fields: ['a'] }, 'a', true],
    [{ action: 'Include', fields: ['a', 'b'] }, 'b', true],
    [{ action: 'Include', fields: ['a'] }, 'a.b', true],
    [{ action: 'Include', fields: ['a'] }, 'ab', false],
    [{ action: 'Include', fields: ['a.b'] }, 'a', false],
    [{ action: 'Include', fields: [] }, 'a', false],
    [{ action: 'Exclude', fields: ['a'] }, 'a', false],
    [{ action: 'Exclude', fields: ['a'] }, 'a.b.c', false],
    [{ action: 'Exclude', fields: ['a'] }, 'b', true],
    [{ action: 'Exclude', fields: [] }, 'b', true],
  ])('%j for the field %s: %s', (lockedFields, name, expected) => {
    expect(locks(lockedFields, name)).toBe(expected);
  });
});

describe('what says how a document is signed', () => {
  /** Objects from 14 on, of which each says what the one before refers to. */
  const file = fileWith(
    [
      ...[field('/V 14 0 R'), '<< /FT /Btn /T (g) /V 15 0 R >>'],
      ...['<< /Reference 16 0 R /Type 25 0 R /ByteRange 27 0 R >>', '<< /Type /Sig /SubFilter 26 0 R >>', '[17 0 R 21 0 R]'],
      ...['<< /TransformMethod 18 0 R /TransformParams 19 0 R >>', '/DocMDP', '<< /P 20 0 R >>', '3'],
      ...['<< /TransformMethod /FieldMDP /TransformParams << /Action 22 0 R /Fields 23 0 R /P 20 0 R >> >>', '/Exclude', '[24 0 R]', '(b)'],
      ...['/DocTimeStamp', '/ETSI.RFC3161', '[0 1 2 3]', '<< /DocMDP 29 0 R >>', docMdp('/TransformParams << /P 1 >>')],
    ],
    '/Perms 28 0 R',
  );

  it('is found where objects of their own have it', () => {
    const [own, ...others] = signatureFields(file);
    expect([own?.name, others]).toEqual(['f', []]);
    const signature = dictionary(file, 14);
    expect(lockedBy(file, signature)).toEqual([{ action: 'Exclude', fields: ['b'], permission: 3 }]);
    expect(byteRangeOf(file, signature)).toEqual([0, 1, 2, 3]);
    expect([14, 15].map((number) => isDocumentTimeStamp(file, dictionary(file, number)))).toEqual([true, true]);
  });

  it('is what Perms names, too, where that is the signature of no field', () => {
    expect(docMdpLevel(file, signatureFields(file))).toBe(1);
    const signature = '<< /Reference [<< /TransformMethod 17 0 R /TransformParams 15 0 R >>] >>';
    const withoutPerms = fileWith([field('/V 14 0 R'), 'null', signature, '<< /P 16 0 R >>', '3', '/DocMDP']);
    expect(docMdpLevel(withoutPerms, signatureFields(withoutPerms))).toBe(3);
  });
});

describe('a signature in a file', () => {
  it('is a document time-stamp by its type or by its format', () => {
    const isStamp = (text: string): boolean => {
      const file = fileWith(['null', 'null', text]);
      return isDocumentTimeStamp(file, dictionary(file, 14));
    };
    expect(['<< /Type /DocTimeStamp >>', '<< /Type /Sig /SubFilter /ETSI.RFC3161 >>'].map(isStamp)).toEqual([true, true]);
    expect(['<< /Type /Sig /SubFilter /ETSI.CAdES.detached >>', '<< >>'].map(isStamp)).toEqual([false, false]);
  });

  it.each<[string, readonly number[] | undefined]>([
    ['[0 10 20 30]', [0, 10, 20, 30]],
    ['[0 15 0 R]', [0, 7]],
    ['[]', []],
    ['[0 10 20 -1]', undefined],
    ['[0 1.5]', undefined],
    ['[0 (1)]', undefined],
    ['5', undefined],
    ['null', undefined],
  ])('has the byte range %s', (text, expected) => {
    const file = fileWith(['null', 'null', `<< /ByteRange ${text} >>`, '7']);
    expect(byteRangeOf(file, dictionary(file, 14))).toEqual(expected);
  });

  it('ends before the zeros that fill its room', () => {
    const encoded = (contents: Uint8Array): Uint8Array => encodedSignature(PdfDictionary.of({ Contents: new PdfString(contents) }));
    expect(encoded(Buffer.from('30030201050000', 'hex'))).toEqual(Buffer.from('3003020105', 'hex'));
    expect(encoded(Buffer.from('308002010500000000', 'hex'))).toEqual(Buffer.from('30800201050000', 'hex'));
    expect(() => encoded(Buffer.from('300302', 'hex'))).toThrow(DerError);
    expect(() => encodedSignature(new PdfDictionary())).toThrow(DerError);
  });
});

describe('the room of a signature', () => {
  const room = new SignatureRoom(4);
  const text = `<</Contents ${room.contents.filler}/ByteRange ${room.byteRange.filler}>>`;
  const holes = new Map([
    [room.contents, 100 + text.indexOf(room.contents.filler)],
    [room.byteRange, 100 + text.indexOf(room.byteRange.filler)],
  ]);

  it('is left out by its byte range, which is written into its own room', () => {
    const { revision, byteRange } = room.placed({ bytes: Buffer.from(text), holes }, 100);
    expect(byteRange).toEqual([0, 112, 122, 100 + text.length - 122]);
    expect(Buffer.from(revision).toString()).toBe(
      `<</Contents <00000000>/ByteRange [0 ${['112', '122', String(100 + text.length - 122)].map((one) => one.padEnd(10)).join(' ')}]>>`,
    );
    const filled = (hex: string): string => Buffer.from(withContents(revision, byteRange, 100, Buffer.from(hex, 'hex'))).toString();
    expect(filled('abcdef')).toContain('/Contents <abcdef00>/');
    expect(filled('abcdef12')).toContain('/Contents <abcdef12>/');
    expect(() => filled('abcdef1234')).toThrow(RangeError);
  });

  it.each([room.contents, room.byteRange])('must be in the revision', (missing) => {
    const others = new Map([...holes].filter(([hole]) => hole !== missing));
    expect(() => room.placed({ bytes: Buffer.from(text), holes: others }, 100)).toThrow('no room');
  });
});
