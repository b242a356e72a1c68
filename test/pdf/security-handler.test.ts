import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { flatDictionary } from '../../src/pdf/encryption/flat-dictionary.ts';
import { rc4 } from '../../src/pdf/encryption/rc4.ts';
import { SecurityHandler } from '../../src/pdf/encryption/security-handler.ts';
import { PdfDictionary, PdfName, PdfReference, PdfString, type PdfObject } from '../../src/pdf/objects.ts';
import { PdfFault, PdfLocked } from '../../src/pdf/pdf-fault.ts';
import { textOf } from '../../src/pdf/text-string.ts';
import { encryptedPdf, type SecurityRevision } from '../support/encrypted-pdf.ts';
import { madePdf, usualObjects } from './made-pdf.ts';
import { opened } from './opened.ts';
import { qpdf } from './qpdf.ts';

const firstId = '00112233445566778899aabbccddeeff';
const trailer = `/Info 15 0 R /ID [<${firstId}> <${firstId}>]`;
const plain = madePdf(usualObjects(), { trailer });
const given = new Map(
  Object.entries({ 2: ['40'], 3: ['128', '--use-aes=n'], 4: ['128', '--use-aes=y'], 5: ['256', '--force-R5'], 6: ['256'] }).map(
    ([revision, options]) => [
      Number(revision),
      qpdf(plain, ['--allow-weak-crypto', '--object-streams=preserve', '--encrypt', 'user', 'owner', ...options, '--']),
    ],
  ),
);

/** Opens what qpdf encrypted, with other entries of its encryption. */
function open(revision: number, changes: Readonly<Record<string, PdfObject | undefined>> = {}): SecurityHandler {
  const file = opened(given.get(revision) ?? Buffer.of(), 'user');
  const flat = flatDictionary(file.dictionary(file.trailer.get('Encrypt'), 'the encryption'), (object) => file.resolved(object));
  return SecurityHandler.open(flat.with(changes), file.resolved(file.trailer.get('ID')), 'user');
}

const name = (text: string): PdfName => new PdfName(text);
const filter = (method: string | undefined): PdfDictionary => PdfDictionary.of({ CFM: method === undefined ? undefined : name(method) });
const one = new PdfReference(7, 0);
const none = new PdfDictionary();
/** RC4 keeps the length of its input, AES adds a vector and a padding. */
const strings = (handler: SecurityHandler): number | undefined => handler.strings(one)?.encrypt(Buffer.of(1, 2, 3)).length;
const streams = (handler: SecurityHandler): number | undefined => handler.stream(one, none)?.encrypt(Buffer.of(1, 2, 3)).length;

describe('crypt filters', () => {
  const filters = PdfDictionary.of({ Aes: filter('AESV2'), Old: filter('V2'), None: filter('None'), Silent: filter(undefined) });
  it.each([
    ['Aes', 'Old', 32, 3],
    ['Old', 'Aes', 3, 32],
    ['Old', 'Identity', 3, undefined],
    ['Identity', 'Old', undefined, 3],
    ['None', 'Silent', undefined, undefined],
    [undefined, 'Aes', undefined, 32],
    ['Aes', undefined, 32, undefined],
  ])('are those that are named, for strings %s, for streams %s', (ofStrings, ofStreams, stringBytes, streamBytes) => {
    const named = (text: string | undefined): PdfName | undefined => (text === undefined ? undefined : name(text));
    const handler = open(4, { CF: filters, StrF: named(ofStrings), StmF: named(ofStreams) });
    expect([strings(handler), streams(handler)]).toEqual([stringBytes, streamBytes]);
  });

  it('cannot be given the name of the one that does nothing', () => {
    const handler = open(4, { CF: PdfDictionary.of({ Identity: filter('AESV2') }), StrF: name('Identity'), StmF: name('Identity') });
    expect([strings(handler), streams(handler)]).toEqual([undefined, undefined]);
  });

  it.each([
    [4, 'AESV3'],
    [6, 'AESV2'],
    [6, 'V2'],
    [4, 'Unknown'],
  ])('of revision %i are not of the method %s', (revision, method) => {
    expect(() => open(revision, { CF: PdfDictionary.of({ A: filter(method) }) })).toThrow(PdfLocked);
  });
});

describe('the entries of an encryption', () => {
  it.each<[number, Readonly<Record<string, PdfObject | undefined>>]>([
    // The key of revision 2 has 40 bits, and that of crypt filters the length of their algorithm.
    [2, { V: 2, Length: 128 }],
    [2, { Length: 99 }],
    [4, { Length: undefined }],
    [4, { Length: 40 }],
    [6, { Length: 7 }],
  ])('of revision %i may say something else of the length of the key: %o', (revision, changes) => {
    expect(() => open(revision, changes)).not.toThrow();
  });

  it.each<[number, Readonly<Record<string, PdfObject | undefined>>, typeof PdfFault | typeof PdfLocked]>([
    [3, { Length: undefined }, PdfLocked],
    [3, { Length: 40 }, PdfLocked],
    [3, { Length: 32 }, PdfFault],
    [3, { Length: 124 }, PdfFault],
    [3, { Length: 136 }, PdfFault],
    [3, { Length: name('128') }, PdfFault],
    [3, { V: 1 }, PdfLocked],
    [3, { U: new PdfString(Buffer.alloc(31)) }, PdfFault],
    [5, { U: new PdfString(Buffer.alloc(47)) }, PdfFault],
    [6, { U: new PdfString(Buffer.alloc(47)) }, PdfFault],
    [6, { O: new PdfString(Buffer.alloc(47)) }, PdfFault],
    [6, { OE: new PdfString(Buffer.alloc(31)) }, PdfFault],
    [6, { UE: new PdfString(Buffer.alloc(31)) }, PdfFault],
    [6, { UE: undefined }, PdfFault],
    [6, { StrF: name('Other') }, PdfFault],
    [6, { StmF: 1 }, PdfFault],
  ])('of revision %i must be sound, and those of its key: %o', (revision, changes, fault) => {
    expect(() => open(revision, changes)).toThrow(fault);
  });
});

describe('an encryption', () => {
  it.each([
    [0, []],
    [1 << 3, ['modify']],
    [1 << 5, ['annotate']],
    [1 << 8, ['fillForms']],
    [~(1 << 3), ['annotate', 'fillForms']],
  ])('of the permissions %i allows its user %j', (permissions, expected) => {
    const handler = open(6, { P: permissions });
    expect((['modify', 'annotate', 'fillForms'] as const).filter((permission) => handler.allows(permission))).toEqual(expected);
  });

  it.each<SecurityRevision>([3, 6])('of revision %i is opened as its owner does where both have one password', (revision) => {
    const same = encryptedPdf(plain, { revision, user: 'one', owner: 'one', permissions: ['--modify=none'] });
    expect(opened(same, 'one').security?.allows('modify')).toBe(true);
  });

  it('is that of passwords', () => {
    expect(() => open(6, { Filter: undefined })).toThrow(new PdfFault('the encryption of the file names no security handler'));
    expect(() => open(6, { Filter: name('Adobe.PubSec') })).toThrow(PdfLocked);
  });

  it('leaves out cross-references, and metadata where it says so', () => {
    const isEncrypted = (type: string, changes: Readonly<Record<string, PdfObject>> = {}): boolean =>
      open(6, changes).stream(one, PdfDictionary.of({ Type: name(type) })) !== undefined;
    expect([isEncrypted('Metadata'), isEncrypted('XRef'), isEncrypted('XObject')]).toEqual([true, false, true]);
    expect(isEncrypted('Metadata', { EncryptMetadata: false })).toBe(false);
    expect(isEncrypted('XObject', { EncryptMetadata: false })).toBe(true);
  });

  it('is another one for a stream that names a filter for it', () => {
    const filters = { CF: PdfDictionary.of({ Aes: filter('AESV2'), Old: filter('V2') }), StrF: name('Aes'), StmF: name('Aes') };
    const bytes = (entries: Readonly<Record<string, PdfObject>>): number | undefined =>
      open(4, filters)
        .stream(one, PdfDictionary.of(entries))
        ?.encrypt(Buffer.of(1, 2, 3)).length;
    const parameters = (text: string): PdfDictionary => PdfDictionary.of({ Name: name(text) });
    expect(bytes({ Filter: name('Crypt'), DecodeParms: parameters('Old') })).toBe(3);
    expect(bytes({ Filter: [name('Crypt'), name('FlateDecode')], DecodeParms: [parameters('Old'), null] })).toBe(3);
    expect(bytes({ Filter: [name('FlateDecode'), name('Crypt')], DecodeParms: [parameters('Old')] })).toBe(32);
    for (const own of ['Identity', 'Unknown']) expect(bytes({ Filter: name('Crypt'), DecodeParms: parameters(own) })).toBeUndefined();
    expect(bytes({ Filter: name('Crypt') })).toBeUndefined();
  });
});

describe('the key of an object', () => {
  it('depends on its number and its generation, but for AES of 256 bits', () => {
    const encryptedBy = (number: number, generation: number): string =>
      Buffer.from(open(3).strings(new PdfReference(number, generation))?.encrypt(Buffer.alloc(8)) ?? []).toString('hex');
    const places = [encryptedBy(7, 0), encryptedBy(7, 1), encryptedBy(7, 256), encryptedBy(8, 0), encryptedBy(0x010007, 0)];
    expect(new Set(places).size).toBe(places.length);
    const cipher = open(6).strings(one)?.encrypt(Buffer.from('text'));
    expect(
      Buffer.from(
        open(6)
          .strings(new PdfReference(9, 3))
          ?.decrypt(cipher ?? Buffer.of()) ?? [],
      ).toString(),
    ).toBe('text');
  });

  it.each([4, 6])('of revision %i is used with a vector that is never the same', (revision) => {
    const cipher = open(revision).strings(one);
    const vectors = Array.from({ length: 8 }, () =>
      Buffer.from(cipher?.encrypt(Buffer.from('text')).subarray(0, 16) ?? []).toString('hex'),
    );
    expect(new Set(vectors).size).toBe(8);
  });

  it('is there for numbers of three bytes', () => {
    const [last, next] = [new PdfReference(0xffffff, 0), new PdfReference(0x1000000, 0)];
    expect(() => open(4).strings(last)).not.toThrow();
    expect(() => open(4).strings(next)).toThrow(PdfFault);
    expect(() => open(6).strings(next)).not.toThrow();
  });

  it('is not needed for what is empty', () => {
    for (const revision of [3, 4, 6]) expect(open(revision).strings(one)?.decrypt(Buffer.of())).toHaveLength(0);
    expect(() => open(4).strings(one)?.decrypt(Buffer.of(1))).toThrow(PdfFault);
  });
});

describe('a file that is encrypted by RC4 with a key of another length', () => {
  const padding = Buffer.from('28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a', 'hex');
  const md5 = (...parts: readonly Uint8Array[]): Buffer => createHash('md5').update(Buffer.concat(parts)).digest();
  const padded = (password: string): Buffer => Buffer.concat([Buffer.from(password), padding]).subarray(0, 32);
  const repeated = (key: Uint8Array, value: Uint8Array): Uint8Array =>
    Array.from({ length: 20 }, (_, round) => key.map((byte) => byte ^ round)).reduce((bytes, each) => rc4(each, bytes), value);

  /** A file whose title alone is encrypted, by revision 3 (ISO 32000-2, 7.6.4.3 and 7.6.4.4, algorithms 2, 3 and 5). */
  function encrypted(keyBytes: number, entries: string): Buffer {
    let ownerKey = md5(padded('owner'));
    for (let round = 0; round < 50; round += 1) ownerKey = md5(ownerKey);
    const owner = repeated(ownerKey.subarray(0, keyBytes), padded('user'));
    let digest = md5(padded('user'), owner, Buffer.from('fcffffff', 'hex'), Buffer.from(firstId, 'hex'));
    for (let round = 0; round < 50; round += 1) digest = md5(digest.subarray(0, keyBytes));
    const key = digest.subarray(0, keyBytes);
    const user = repeated(key, md5(padding, Buffer.from(firstId, 'hex')));
    const ofTitle = md5(key, Buffer.of(15, 0, 0, 0, 0)).subarray(0, Math.min(16, keyBytes + 5));
    const hex = (bytes: Uint8Array): string => `<${Buffer.from(bytes).toString('hex')}>`;
    const standard = `/Filter /Standard ${entries} /R 3 /P -4 /O ${hex(owner)} /U ${hex(Buffer.concat([user, Buffer.alloc(16)]))}`;
    return madePdf(
      {
        1: '<</Type /Catalog /Pages 2 0 R>>',
        2: '<</Type /Pages /Kids [] /Count 0>>',
        15: `<</Title ${hex(rc4(ofTitle, Buffer.from('A title')))}>>`,
      },
      { trailer: `${trailer} /Encrypt <<${standard}>>` },
    );
  }

  it.each([
    [5, '/V 1', true],
    [5, '/V 1 /Length 128', true],
    // By the standard 40 bits; qpdf takes it for 128.
    [5, '/V 2', false],
    [5, '/V 2 /Length 40', true],
    [8, '/V 2 /Length 64', true],
    [16, '/V 2 /Length 128', true],
  ])('is read: %i bytes, %s; as by qpdf: %s', (keyBytes, entries, byQpdf) => {
    const pdf = encrypted(keyBytes, entries);
    for (const password of ['user', 'owner']) {
      const file = opened(pdf, password);
      expect(textOf(file.get(file.dictionary(file.trailer.get('Info'), 'the information'), 'Title'))).toBe('A title');
      expect(file.security?.allows('modify')).toBe(true);
    }
    expect(() => opened(pdf, 'other')).toThrow(PdfLocked);
    if (byQpdf) expect(qpdf(pdf, ['--password=user', '--decrypt']).toString('latin1')).toContain('(A title)');
  });
});
