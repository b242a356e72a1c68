import { describe, expect, it } from 'vitest';
import { DerError } from '../../../src/asn1/reader.ts';
import { PdfDictionary, PdfReference, PdfString } from '../../../src/pdf/objects.ts';
import type { PdfFile } from '../../../src/pdf/pdf-file.ts';
import type { PadesParameters } from '../../../src/signatures/pades/pades-state.ts';
import { unmetDemand } from '../../../src/signatures/pades/seed-values.ts';
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
import { usualProperties } from '../../../src/signatures/request/signed-properties.ts';
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

describe('a seed value', () => {
  const usual = { algorithm: { scheme: 'ECDSA', hash: 'sha256' }, certifies: undefined, level: 'B', locksDocument: false, isBasic: false };
  const unmet = (seed: string, more: object = {}): string | undefined => {
    const file = fileWith([field(`/SV << ${seed} >>`), 'null']);
    const parameters = { ...usual, properties: usualProperties, ...more } as unknown as PadesParameters;
    return unmetDemand(file, dictionary(file, 12), parameters);
  };
  const reason = (commitmentText: string): object => ({ properties: { ...usualProperties, commitmentText } });

  it.each<[string, object, string | undefined]>([
    ['', {}, undefined],
    ['/Ff 1 /Filter /Adobe.PPKLite', {}, undefined],
    ['/Ff 1', {}, 'another filter'],
    ['/Ff 2 /SubFilter [/A /ETSI.CAdES.detached]', {}, undefined],
    ['/Ff 2 /SubFilter [/A /ETSI.CAdES.detached]', { isBasic: true }, 'another signatureFormat'],
    ['/Ff 2 /SubFilter /ETSI.CAdES.detached', {}, 'another signatureFormat'],
    ['/Ff 64 /DigestMethod [(SHA384) (SHA256)]', {}, undefined],
    ['/Ff 64 /DigestMethod [(SHA384)]', {}, 'another digestAlgorithm'],
    ['/Ff 8 /Reasons [(A)]', reason('A'), undefined],
    ['/Ff 8 /Reasons [(A)]', reason('B'), 'one of certain reasons, or none'],
    ['/Ff 8 /Reasons [(A)]', {}, 'one of certain reasons, or none'],
    ['/Ff 8 /Reasons [(.)]', {}, undefined],
    ['/Ff 8', {}, undefined],
    ['/Ff 8', reason('B'), 'one of certain reasons, or none'],
    ['/Ff 16', {}, 'a legal attestation'],
    ['/Ff 32 /AddRevInfo true', {}, 'revocation data in the signature'],
    ['/Ff 32 /AddRevInfo false', {}, undefined],
    ['/Ff 0 /AddRevInfo true', {}, undefined],
    ['/Ff 128 /LockDocument /true', {}, 'documentLock'],
    ['/Ff 128 /LockDocument /true', { locksDocument: true }, undefined],
    ['/Ff 128 /LockDocument /auto', {}, undefined],
    ['/Ff 4 /LockDocument /true', {}, undefined],
    ['/Cert << /Ff 2 >>', {}, 'a certain certificate'],
    ['/Cert << /Ff 0 >>', {}, undefined],
    ['/Cert [2]', {}, undefined],
    ['/TimeStamp << /Ff 1 >>', {}, 'a timeStamp'],
    ['/TimeStamp << /Ff 1 >>', { level: 'T' }, undefined],
    ['/TimeStamp << /Ff 0 >>', {}, undefined],
    ['/MDP << /P 0 >>', {}, undefined],
    ['/MDP << /P 2 >>', {}, 'another docMDPLevel'],
    ['/MDP << /P 2 >>', { certifies: 2 }, undefined],
    ['/MDP << /P 0 >>', { certifies: 2 }, 'another docMDPLevel'],
    ['/MDP << /P 1 >>', { locksDocument: true, certifies: 2 }, undefined],
    ['/MDP << >>', { certifies: 2 }, undefined],
    ['/MDP 2', {}, undefined],
    ['/Ff (1)', {}, undefined],
  ])('with %s and %j demands %s', (seed, more, expected) => {
    expect(unmet(seed, more)).toBe(expected);
  });

  it('is none where there is another object', () => {
    const file = fileWith([field('/SV [1]'), 'null']);
    expect(
      unmetDemand(file, dictionary(file, 12), { ...usual, properties: usualProperties } as unknown as PadesParameters),
    ).toBeUndefined();
  });
});
