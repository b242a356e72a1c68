import { describe, expect, it } from 'vitest';
import { SecurityHandler } from '../../src/pdf/encryption/security-handler.ts';
import { PdfDictionary, PdfName, PdfString } from '../../src/pdf/objects.ts';
import { PdfLocked } from '../../src/pdf/pdf-fault.ts';
import { textOf } from '../../src/pdf/text-string.ts';
import { madePdf, usualObjects } from './made-pdf.ts';
import { opened } from './opened.ts';
import { qpdf } from './qpdf.ts';

const id = '/ID [<00112233445566778899aabbccddeeff> <00112233445566778899aabbccddeeff>]';
const plain = madePdf(usualObjects(), { trailer: `/Info 15 0 R ${id}` });
const methods = { 2: ['40'], 3: ['128', '--use-aes=n'], 4: ['128', '--use-aes=y'], 5: ['256', '--force-R5'], 6: ['256'] } as const;
type Revision = keyof typeof methods;

/** A file whose user has a password of these bytes. */
function encrypted(
  revision: Revision,
  password: string | Uint8Array,
  owner: string | Uint8Array = 'owner',
  permissions: readonly string[] = [],
): Buffer {
  const hex = (bytes: string | Uint8Array): string => Buffer.from(bytes).toString('hex');
  const options = ['--allow-weak-crypto', '--password-mode=hex-bytes', '--object-streams=preserve'];
  return qpdf(plain, [...options, '--encrypt', hex(password), hex(owner), ...methods[revision], ...permissions, '--']);
}

function titleOf(pdf: Buffer, password: string): string | undefined {
  const file = opened(pdf, password);
  return textOf(file.get(file.dictionary(file.trailer.get('Info'), 'the information'), 'Title'));
}

const opens = (pdf: Buffer, password: string): boolean => {
  try {
    return titleOf(pdf, password) === 'A contract';
  } catch (error) {
    if (error instanceof PdfLocked) return false;
    throw error;
  }
};

describe('a password', () => {
  it.each<[Revision, string, Uint8Array]>([
    [2, 'Zoé', Buffer.from('Zoé', 'latin1')],
    [3, 'Zoé €', Buffer.from('Zo\u00e9 \u00a0', 'latin1')],
    [4, 'Zoé', Buffer.from('Zoé', 'utf8')],
    [4, '密码', Buffer.from('密码', 'utf8')],
    [5, 'Zoé ﬁ ½', Buffer.from('Zoé fi 1⁄2', 'utf8')],
    [6, 'Zoé ﬁ ½', Buffer.from('Zoé fi 1⁄2', 'utf8')],
    [6, 'Zoé ﬁ ½', Buffer.from('Zoé ﬁ ½', 'utf8')],
    [6, 'e\u0301', Buffer.from('é', 'utf8')],
    [6, 'a\u00a0b\u1680c\u3000d', Buffer.from('a b c d', 'utf8')],
    [6, 'a\u00adb\u200d\ufe0fc', Buffer.from('abc', 'utf8')],
  ])('of revision %i has the encoding of the standard, or UTF-8 as it is: %s', (revision, password, bytes) => {
    expect(opens(encrypted(revision, bytes), password)).toBe(true);
  });

  it.each<[Revision, string, Uint8Array]>([
    [2, 'Zoé', Buffer.from('Zoé', 'latin1')],
    [4, 'Zoé', Buffer.from('Zoé', 'latin1')],
    [5, 'ﬁ', Buffer.from('fi', 'utf8')],
    [6, 'ﬁ', Buffer.from('fi', 'utf8')],
  ])(
    'of revision %i is first what the standard takes it for, where UTF-8 as it is opens the file, too: %s',
    (revision, password, standard) => {
      const asItIs = Buffer.from(password, 'utf8');
      const isOwner = (pdf: Buffer): boolean | undefined => opened(pdf, password).security?.allows('modify');
      const denied = revision === 2 ? ['--modify=n'] : ['--modify=none'];
      expect(isOwner(encrypted(revision, asItIs, standard, denied))).toBe(true);
      expect(isOwner(encrypted(revision, standard, asItIs, denied))).toBe(false);
    },
  );

  it('of revision 6 is the same with any space, and without what is not seen', () => {
    const spaces = ['\u00a0', '\u1680', '\u2000', '\u2005', '\u200a', '\u202f', '\u205f', '\u3000'];
    const ofSpaces = encrypted(6, Buffer.from(spaces.map(() => 'a ').join('')));
    expect(opens(ofSpaces, spaces.map((space) => `a${space}`).join(''))).toBe(true);
    const unseen = [
      '\u00ad',
      '\u034f',
      '\u1806',
      '\u180b',
      '\u180c',
      '\u180d',
      '\u200b',
      '\u200c',
      '\u200d',
      '\u2060',
      '\ufe00',
      '\ufe0f',
      '\ufeff',
    ];
    const ofLetters = encrypted(6, Buffer.from('a'.repeat(unseen.length)));
    expect(opens(ofLetters, unseen.map((one) => `a${one}`).join(''))).toBe(true);
    expect(opens(ofLetters, unseen.map((one) => `a${one}`).join('\u200e'))).toBe(false);
  });

  it.each<[Revision, string]>([
    [3, '密码'],
    [4, 'ZOÉ'],
    [6, '密码'],
    [6, 'Zoe'],
  ])('of revision %i does not open what has another one: %s', (revision, password) => {
    expect(opens(encrypted(revision, 'Zoé'), password)).toBe(false);
  });

  it.each<[Revision, number]>([
    [2, 32],
    [3, 32],
    [4, 32],
    [5, 127],
    [6, 127],
  ])('of revision %i has %i bytes that count', (revision, count) => {
    const [user, owner] = ['u'.repeat(count), 'o'.repeat(count)];
    const pdf = encrypted(revision, user, owner);
    for (const password of [user, owner]) {
      expect([`${password}x`, `${password}${'y'.repeat(100)}`].map((one) => opens(pdf, one))).toEqual([true, true]);
      expect(opens(pdf, password.slice(1))).toBe(false);
    }
  });

  it.each<Revision>([2, 3, 4, 5, 6])(
    'of revision %i is found where the entries of the encryption are longer than they have to be',
    (revision) => {
      const text = encrypted(revision, 'user').toString('latin1');
      let grown = 0;
      const longer = text.replaceAll(/\/(?:O|U|OE|UE) <[0-9a-f]+/g, (entry) => {
        grown += 32;
        return `${entry}${'00'.repeat(16)}`;
      });
      expect(grown).toBe(revision >= 5 ? 128 : 64);
      const pdf = Buffer.from(
        longer.replace(/startxref\n(\d+)/, (_, offset: string) => `startxref\n${Number(offset) + grown}`),
        'latin1',
      );
      expect([opens(pdf, 'user'), opens(pdf, 'owner'), opens(pdf, 'other')]).toEqual([true, true, false]);
    },
  );

  // By qpdf, whose salts are random: the number of rounds is what the last byte of each says.
  it.each([
    ['after the first 64', 'u9', 'fdb31bc76107182b262ee2b0f84067564f1ab54a8803ec6d193709e7bdbdaf577c5def35dcfe1eb4525cb5985d619af7'],
    ['not after 63', 'u0', '8207d80e04d7c4a1240ee78e73cca766af20514c72ecc715cd1780dbc5b27866dd2e81d2300f53f7d01a9cc999109326'],
    ['by a byte of 33 after 65', 'u56', '22b3af38e40a50e823ecadc8e6de8c4e9ebada204695d73cc0f7da53a823ded234d7f31e1a0fd60aa31bce84e12246cd'],
    ['not by 35 after 66', 'u25', '2199b6a5b4d0cf71e34c8fe1947c2e30d3a81380141a86c1691a06489829b6ea24dcc69bc89289106560f7fd9b9dcfa5'],
  ])('of revision 6 is hashed in rounds that end %s', (_, password, entry) => {
    const name = (text: string): PdfName => new PdfName(text);
    const zeros = (bytes: number): PdfString => new PdfString(Buffer.alloc(bytes));
    const encrypt = PdfDictionary.of({
      ...{ Filter: name('Standard'), V: 5, R: 6, P: -4, StmF: name('Identity'), StrF: name('Identity') },
      ...{ U: new PdfString(Buffer.from(entry, 'hex')), UE: zeros(32), O: zeros(48), OE: zeros(32) },
    });
    expect(SecurityHandler.open(encrypt, null, password).allows('modify')).toBe(true);
    expect(() => SecurityHandler.open(encrypt, null, `${password}1`)).toThrow(PdfLocked);
  });
});
