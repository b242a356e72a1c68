import { describe, expect, it } from 'vitest';
import { flatDictionary } from '../../src/pdf/encryption/flat-dictionary.ts';
import { SecurityHandler } from '../../src/pdf/encryption/security-handler.ts';
import { ObjectParser } from '../../src/pdf/object-parser.ts';
import { PdfDictionary, PdfReference, PdfStream, PdfString, type PdfObject } from '../../src/pdf/objects.ts';
import { pages } from '../../src/pdf/pages.ts';
import { PdfFault, PdfLocked } from '../../src/pdf/pdf-fault.ts';
import { formFields } from '../../src/pdf/form-fields.ts';
import { Revision } from '../../src/pdf/revision.ts';
import { textOf, textString } from '../../src/pdf/text-string.ts';
import { qpdfFindings } from '../support/pdf-judges.ts';
import { madePdf, usualObjects } from './made-pdf.ts';
import { opened } from './opened.ts';
import { qpdf } from './qpdf.ts';

const id = '/ID [<00112233445566778899aabbccddeeff> <00112233445566778899aabbccddeeff>]';
const plain = madePdf(usualObjects(), { trailer: `/Info 15 0 R ${id}` });

const revisions: readonly (readonly [string, readonly string[]])[] = [
  ['2: RC4 of 40 bits', ['40']],
  ['3: RC4 of 128 bits', ['128', '--use-aes=n']],
  ['4: RC4 by a crypt filter', ['128', '--force-V4', '--use-aes=n']],
  ['4: AES of 128 bits', ['128', '--use-aes=y']],
  ['4: clear metadata', ['128', '--use-aes=y', '--cleartext-metadata']],
  ['5: AES of 256 bits, as Adobe had it', ['256', '--force-R5']],
  ['6: AES of 256 bits', ['256']],
];

function encrypted(options: readonly string[], { user = 'user', owner = 'owner', mode = 'preserve' } = {}): Buffer {
  return qpdf(plain, ['--allow-weak-crypto', `--object-streams=${mode}`, '--encrypt', user, owner, ...options, '--']);
}

/** Title of the information dictionary. */
function titleOf(pdf: Buffer, password: string | undefined): string | undefined {
  const file = opened(pdf, password);
  return textOf(file.get(file.dictionary(file.trailer.get('Info'), 'the information'), 'Title'));
}

describe('permissions that are written without a sign', () => {
  it.each(['3', '4', '6'])('mean the bits of a number with one, revision %s', (revision) => {
    const [, options = []] = revisions.find(([name]) => name.startsWith(`${revision}:`)) ?? [];
    const text = encrypted(options).toString('latin1');
    const [whole = '', digits = ''] = /\/P (-\d+)/.exec(text) ?? [];
    const unsigned = text.replace(whole, `/P ${(Number(digits) >>> 0).toString()}`);
    expect(unsigned).not.toBe(text);
    // The entry is behind all objects, or the offsets behind it move with it.
    const grown = unsigned.length - text.length;
    const moved =
      grown === 0 ? unsigned : unsigned.replace(/startxref\n(\d+)/, (_, offset: string) => `startxref\n${Number(offset) + grown}`);
    const file = opened(Buffer.from(moved, 'latin1'), 'user');
    expect([file.security?.allows('modify'), file.security?.allows('annotate')]).toEqual([true, true]);
  });
});

describe.each(revisions)('a file that is encrypted by revision %s', (_name, options) => {
  it.each(['preserve', 'generate'])('is read with the password of its user or its owner, objects in streams: %s', (mode) => {
    const pdf = encrypted(options, { mode });
    for (const password of ['user', 'owner']) {
      expect(titleOf(pdf, password)).toBe('A contract');
      const file = opened(pdf, password);
      const [page] = pages(file);
      const content = file.resolved(page?.dictionary.get('Contents') ?? null);
      expect(content).toBeInstanceOf(PdfStream);
      if (content instanceof PdfStream) expect(Buffer.from(file.content(content, 1000)).toString()).toContain('PAY 100');
      expect(Array.from(formFields(file), ({ value }) => textOf(file.resolved(value)))).toContain('Jérôme (1)');
    }
  });

  it('says that it needs a password, or another one', () => {
    const pdf = encrypted(options);
    expect(() => opened(pdf)).toThrow(new PdfLocked('the file is encrypted and needs a password'));
    for (const wrong of ['', 'User', 'x'.repeat(200)])
      expect(() => opened(pdf, wrong)).toThrow(new PdfLocked('the password does not open the file'));
  });

  it('is read without a password if its user needs none', () => {
    expect(titleOf(encrypted(options, { user: '' }), undefined)).toBe('A contract');
  });

  it('may have passwords beyond ASCII', () => {
    const isOld = options[0] !== '256';
    const password = isOld ? 'pass(word)' : 'Zoé ﬁ ½';
    expect(titleOf(encrypted(options, { user: password }), password)).toBe('A contract');
  });

  it('stays encrypted with a revision, and sound', () => {
    for (const mode of ['preserve', 'generate']) {
      const pdf = encrypted(options, { mode });
      const file = opened(pdf, 'owner');
      const revision = new Revision(file);
      const info = file.trailer.get('Info');
      if (!(info instanceof PdfReference)) throw new Error('no information');
      revision.set(info, file.dictionary(info, 'the information').with({ Title: textString('Zoé’s') }));
      const added = revision.add(new PdfStream(file.dictionary(info, 'it'), Buffer.from('secret text')));
      const written = Buffer.concat([pdf, revision.write().bytes]);
      expect(qpdfFindings(written, 'user')).toEqual([]);
      expect(titleOf(written, 'user')).toBe('Zoé’s');
      expect(written.includes('secret text')).toBe(false);
      const stream = opened(written, 'user').object(added);
      expect(stream).toBeInstanceOf(PdfStream);
      if (stream instanceof PdfStream) expect(Buffer.from(opened(written, 'user').content(stream, 100)).toString()).toBe('secret text');
    }
  });
});

describe('permissions', () => {
  it.each([
    [['128', '--use-aes=y', '--modify=none'], { modify: false, annotate: false, fillForms: false }],
    [['128', '--use-aes=n', '--modify=form'], { modify: false, annotate: false, fillForms: true }],
    [['128', '--use-aes=y', '--modify=form'], { modify: false, annotate: false, fillForms: true }],
    [['256', '--modify=annotate'], { modify: false, annotate: true, fillForms: true }],
    [['256', '--modify=all'], { modify: true, annotate: true, fillForms: true }],
    [['40', '--modify=n', '--annotate=y'], { modify: false, annotate: true, fillForms: true }],
    [['40', '--modify=n', '--annotate=n'], { modify: false, annotate: false, fillForms: false }],
  ])('are those of the user, and the owner has all: %j', (options, expected) => {
    const pdf = encrypted(options);
    const allowed = (password: string): unknown => {
      const { security } = opened(pdf, password);
      return { modify: security?.allows('modify'), annotate: security?.allows('annotate'), fillForms: security?.allows('fillForms') };
    };
    expect(allowed('user')).toEqual(expected);
    expect(allowed('owner')).toEqual({ modify: true, annotate: true, fillForms: true });
  });
});

describe('a stream of an encrypted file', () => {
  const isEncrypted = (options: readonly string[], entries: string): boolean => {
    const dictionary = new ObjectParser({ bytes: Buffer.from(`<<${entries}>>`), offset: 0, isLast: true }).object();
    if (!(dictionary instanceof PdfDictionary)) throw new Error('no dictionary');
    return opened(encrypted(options), 'user').security?.stream(new PdfReference(7, 0), dictionary) !== undefined;
  };
  const aes = ['128', '--use-aes=y'];

  it.each<[string, boolean]>([
    ['', true],
    ['/Filter /FlateDecode', true],
    ['/Type /XRef', false],
    ['/Type /Metadata', true],
    ['/Filter /Crypt', false],
    ['/Filter /Crypt /DecodeParms null', false],
    ['/Filter [/Crypt /FlateDecode] /DecodeParms [<</Name /Identity>> null]', false],
    ['/Filter /Crypt /DecodeParms <</Name /Identity>>', false],
    ['/Filter /Crypt /DecodeParms <</Name /StdCF>>', true],
    ['/Filter /Crypt /DecodeParms <</Name /Unknown>>', false],
    ['/Filter [/FlateDecode /Crypt] /DecodeParms [null <</Name /Identity>>]', true],
    ['/Filter []', true],
  ])('with %s is encrypted itself: %s', (entries, expected) => {
    expect(isEncrypted(aes, entries)).toBe(expected);
  });

  it.each([
    ['2', true],
    ['3', true],
    ['4: AES', false],
  ])('has a key that depends on clear metadata from revision 4 on: %s', (revision, opens) => {
    const [, options = []] = revisions.find(([name]) => name.startsWith(revision)) ?? [];
    const file = opened(encrypted(options), 'user');
    const encrypt = file.dictionary(file.trailer.get('Encrypt'), 'the encryption');
    const flat = flatDictionary(encrypt, (object) => file.resolved(object)).with({ EncryptMetadata: false });
    const open = (): unknown => SecurityHandler.open(flat, file.resolved(file.trailer.get('ID')), 'user');
    if (opens) expect(open).not.toThrow();
    else expect(open).toThrow(PdfLocked);
  });

  it('that has metadata is not, where they are clear', () => {
    expect(isEncrypted([...aes, '--cleartext-metadata'], '/Type /Metadata')).toBe(false);
    expect(isEncrypted([...aes, '--cleartext-metadata'], '/Type /XObject')).toBe(true);
  });
});

describe('an encryption', () => {
  const standard = `/Filter /Standard /P -4 /O <${'00'.repeat(32)}> /U <${'00'.repeat(32)}>`;
  it.each([
    ['/Filter /Adobe.PubSec /V 4', 'security handler Adobe.PubSec'],
    [`${standard} /V 3 /R 3`, 'not supported'],
    [`${standard} /V 5 /R 4`, 'not supported'],
    ...['/V 4 /R 6', '/V 4 /R 3', '/V 4 /R 5', '/V 5 /R 7', '/V 1 /R 4', '/V 2 /R 4'].map((entries) => [
      `${standard} ${entries}`,
      'not supported',
    ]),
    [`${standard} /V 4 /R 4 /CF <</A <</CFM /AESV3>>>> /StmF /A /StrF /A`, 'not supported'],
    [`${standard} /V 4 /R 4 /CF <</A <</CFM /constructor>>>> /StmF /A /StrF /A`, 'not supported'],
    [`${standard} /V 99 /R 99`, 'not supported'],
  ])('is not supported: %s', (entries, message) => {
    const read = (): unknown => opened(madePdf(usualObjects(), { trailer: `/Encrypt <<${entries}>>` }));
    expect(read).toThrow(PdfLocked);
    expect(read).toThrow(message);
  });

  const many = `[${'18 0 R '.repeat(20_000)}]`;
  it.each([
    ['7', 'is no dictionary'],
    ['<<>>', 'names no security handler'],
    [`<<${standard} /V 4 /R 4 /StmF /A>>`, 'names no crypt filter'],
    ['<</Filter /Standard /V 1 /R 2 /P -4 /O (a) /U (b)>>', 'too short'],
    ['<</Filter /Standard /V 1 /R 2>>', 'no permissions'],
    ['<</Filter /Standard /V 1 /R 2 /P -4.5>>', 'no permissions'],
    ['<</Filter /Standard /V 1 /R 2 /P /All>>', 'no permissions'],
    [`<<${standard} /V 2 /R 3 /Length 99>>`, 'a length that does not occur'],
    ['<</Filter /Standard /CF 17 0 R>>', 'too many values'],
  ])('is refused if it is malformed: %s', (encrypt, message) => {
    const read = (): unknown => opened(madePdf({ ...usualObjects(), 17: many, 18: many }, { trailer: `/Encrypt ${encrypt}` }));
    expect(read).toThrow(PdfFault);
    expect(read).toThrow(message);
  });

  it('has 10,000 values at most, with those that its references lead to', () => {
    const flat = (count: number): PdfDictionary =>
      flatDictionary(new PdfDictionary([['A', Array.from({ length: count - 1 }, (_, index) => index)]]), (object) => object);
    expect(flat(10_000).get('A')).toHaveLength(9999);
    expect(() => flat(10_001)).toThrow('too many values');
    const followed = (object: PdfObject): unknown =>
      flatDictionary(new PdfDictionary([['A', object]]), (one) => (one instanceof PdfReference ? 7 : one)).get('A');
    expect(followed([[[new PdfReference(1, 0)]]])).toEqual([[[7]]]);
    expect(followed([[[[new PdfReference(1, 0)]]]])).toEqual([[[[new PdfReference(1, 0)]]]]);
    const nested = (depth: number): PdfObject => (depth === 0 ? new PdfReference(1, 0) : PdfDictionary.of({ B: nested(depth - 1) }));
    const innermost = (found: unknown): unknown => (found instanceof PdfDictionary ? innermost(found.get('B')) : found);
    expect([0, 1, 2, 3, 4].map((depth) => innermost(followed(nested(depth))))).toEqual([7, 7, 7, 7, new PdfReference(1, 0)]);
  });

  // The vector changes the last byte of the only block, which is the padding of 'A contract': 6 bytes.
  it.each([0, 17, 255])('refuses a string whose padding is damaged: %i', (padding) => {
    const text = encrypted(['256']).toString('latin1');
    const at = text.indexOf('/Title <') + '/Title <'.length + 30;
    const byte = Number.parseInt(text.slice(at, at + 2), 16) ^ 6 ^ padding;
    const changed = `${text.slice(0, at)}${byte.toString(16).padStart(2, '0')}${text.slice(at + 2)}`;
    expect(() => titleOf(Buffer.from(changed, 'latin1'), 'user')).toThrow(PdfFault);
  });

  it('keeps a key that was made without an ID: the first one stays empty', () => {
    const given = encrypted(['256']).toString('latin1');
    const withoutId = Buffer.from(
      given.replace(/\/ID \[<[^\]]*\]/, (found) => ' '.repeat(found.length)),
      'latin1',
    );
    const file = opened(withoutId, 'user');
    const revision = new Revision(file);
    revision.add(textString('new'));
    const written = opened(Buffer.concat([withoutId, revision.write().bytes]), 'user');
    const [first, second] = written.array(written.trailer.get('ID'), 'ID');
    expect([first, second].map((one) => (one instanceof PdfString ? one.raw.length : -1))).toEqual([0, 16]);
  });
});
