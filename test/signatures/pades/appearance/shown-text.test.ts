import { describe, expect, it } from 'vitest';
import { symbolText } from '../../../../src/signatures/pades/appearance/symbol-codes.ts';
import { shownLines, signerName, type Shown, type TextSource } from '../../../../src/signatures/pades/appearance/shown-text.ts';
import { commitmentWords, dateWords, timeStampName } from '../../../../src/signatures/pades/appearance/wording.ts';
import { usualProperties } from '../../../../src/signatures/request/signed-properties.ts';
import { softwareSigner } from '../../software-signer.ts';
import { usualSigner } from '../sign-pdf.ts';

const nothing: Shown = { nameOnLeft: false, name: false, identifier: false, labels: false, date: false, location: false, reason: false };
const source: TextSource = {
  ...{ certificate: usualSigner().certificate, properties: usualProperties, date: new Date('2026-05-04T03:02:01Z') },
  ...{ shown: nothing, freeText: undefined, language: 'en', timeZone: 'UTC' },
};
const textsOf = (shown: Partial<Shown>, more: Partial<TextSource> = {}): readonly string[] =>
  shownLines({ ...source, ...more, shown: { ...nothing, ...shown } }).map(({ text }) => text);
const reason = (commitmentText: string | undefined, commitments: TextSource['properties']['commitments'] = []): readonly string[] =>
  textsOf({ reason: true }, { properties: { ...usualProperties, commitmentText, commitments } });

describe('the lines of an appearance', () => {
  it('are those that are shown, where they say something', () => {
    expect(textsOf({})).toEqual([]);
    expect(textsOf({ name: true, identifier: true, date: true, location: true, reason: true })).toEqual([
      'Camille Martin',
      'CN=Camille Martin',
      '4 May 2026, 03:02:01\u00a0+00:00',
    ]);
    expect([reason(undefined), reason(' \t'), reason('It is so.')]).toEqual([[], [], ['It is so.']]);
    expect(textsOf({ location: true }, { properties: { ...usualProperties, place: { city: 'Lyon' } as never } })).toEqual(['Lyon']);
  });

  it('have 200 characters at most, without a space before the ellipsis', () => {
    expect(reason('x'.repeat(200))).toEqual(['x'.repeat(200)]);
    expect(reason('x'.repeat(201))).toEqual([`${'x'.repeat(200)}…`]);
    expect(reason(`${'x'.repeat(198)}  and more`)).toEqual([`${'x'.repeat(198)}…`]);
  });

  it('are those of a free text, which has 1000 characters at most', () => {
    const free = (freeText: string): readonly string[] => textsOf({}, { freeText });
    expect(free('One\r\nTwo\rThree\n\n  \nFour')).toEqual(['One', 'Two', 'Three', 'Four']);
    expect(free('x'.repeat(1000))).toEqual(['x'.repeat(1000)]);
    expect(free('x'.repeat(1001))).toEqual([`${'x'.repeat(1000)}…`]);
  });

  it('have labels where they are shown, but not the free text', () => {
    const labels = (language: 'en' | 'fr'): unknown =>
      shownLines({ ...source, language, freeText: 'free', shown: { ...nothing, labels: true, name: true, date: true } }).map(
        ({ label, isName }) => [label?.beside, label?.inline, isName],
      );
    expect(labels('en')).toEqual([
      ['Signed by', 'Signed by: ', true],
      ['Date', 'Date: ', false],
      [undefined, undefined, false],
    ]);
    expect(labels('fr')).toEqual([
      ['Signé par', 'Signé par\u00a0: ', true],
      ['Date', 'Date\u00a0: ', false],
      [undefined, undefined, false],
    ]);
  });

  it('give the reason as a text, or else as all commitments', () => {
    expect(reason('Because', ['APPROVAL'])).toEqual(['Because']);
    expect(reason(undefined, ['APPROVAL', 'RECEIPT'])).toEqual(['Proof of approval, Proof of receipt']);
  });
});

describe('the name of a signer', () => {
  it('is the common name, in 200 characters, or else all of the subject', () => {
    const named = (subject: string): string => signerName(softwareSigner(subject).certificate);
    expect(named('Ann')).toBe('Ann');
    expect(named(' /O=Company')).toBe('O=Company,CN=\\ ');
    // OpenSSL takes the separators of other parts as they are.
    expect(named(`${'a'.repeat(60)}${`/OU=${'b'.repeat(60)}`.repeat(2)}`)).toBe('a'.repeat(60));
    expect(named(` ${`/OU=${'b'.repeat(60)}`.repeat(4)}`)).toMatch(/^.{200}…$/);
  });

  it('in the identifier has a space behind each comma between its parts, and none within them', () => {
    const { certificate } = softwareSigner('Martin, Camille/O=Company');
    expect(textsOf({ identifier: true }, { certificate })).toEqual(['O=Company, CN=Martin\\, Camille']);
  });
});

describe('words', () => {
  it('of commitments differ, in either language', () => {
    for (const words of Object.values(commitmentWords)) expect(new Set(Object.values(words)).size).toBe(5);
    expect(commitmentWords.en).toMatchObject({ RECEIPT: 'Proof of receipt', DELIVERY: 'Proof of delivery', SENDER: 'Proof of sender' });
    expect(commitmentWords.fr).toMatchObject({ RECEIPT: 'Preuve de réception', ORIGIN: 'Preuve d’origine', SENDER: 'Preuve d’envoi' });
  });

  it('of months are in their order', () => {
    const months = (language: 'en' | 'fr'): readonly string[] =>
      Array.from({ length: 12 }, (_, month) => dateWords(new Date(Date.UTC(2026, month, 7)), language, 'UTC').split(' ')[1] ?? '');
    expect(months('en').join(' ')).toBe('Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec');
    expect(months('fr').join(' ')).toBe('janv. févr. mars avril mai juin juil. août sept. oct. nov. déc.');
  });

  it('of time-stamps are in the language', () => {
    expect([timeStampName('en'), timeStampName('fr')]).toEqual(['Time-stamp', 'Horodatage']);
  });
});

describe('symbolText', () => {
  it('reads codes up to the last one before a gap, and behind it, and no halves of characters', () => {
    expect(symbolText('~\u007f\u009f\u00a1\u00ff', 'SYMBOL')).toBe('∼\u007f\u009fϒ ');
    expect(symbolText('\u00a0\u{1f600}', 'SYMBOL')).toBe('\u00a0\u{1f600}');
  });
});
