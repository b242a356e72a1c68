import { describe, expect, it } from 'vitest';
import { PdfReference } from '../../../../src/pdf/objects.ts';
import { quotedName, signaturesOf } from '../../../../src/signatures/pades/verify/signatures-of.ts';
import { opened } from '../../../pdf/opened.ts';
import { smallPdf } from '../../../support/small-pdf.ts';

/** Names of the signatures and their numbers in a file with two fields, objects 12 and 13. */
function found(first: string, second: string, catalog = '', objects: readonly string[] = []): unknown[] {
  const fields = [first, second].map((value, index) => `<< /FT /Sig /T (${'ab'[index] ?? ''}) ${value} >>`);
  const file = opened(smallPdf({ catalog: `/AcroForm << /Fields [12 0 R 13 0 R] >> ${catalog}`, objects: [...fields, ...objects] }));
  return signaturesOf(file).map(({ name, value, field, dictionary }) => [
    ...[name, value instanceof PdfReference ? value.number : 'direct', field?.reference.number],
    dictionary.get('N'),
  ]);
}

describe('the signatures of a file', () => {
  const [one, other] = ['<< /N 1 >>', '<< /N 2 >>'];
  const ofField = ['the signature "a"', 14, 12, 1];

  it('are those of its fields that have one', () => {
    expect(found('/V 14 0 R', '/V << /N 3 >>', '', [one])).toEqual([ofField, ['the signature "b"', 'direct', 13, 3]]);
    expect(found('/V 14 0 R', '/V 99 0 R', '', [one])).toEqual([ofField]);
    expect(found('/V (a)', '')).toEqual([]);
  });

  it.each(['/Perms << /DocMDP 15 0 R >>', '/Perms 16 0 R'])('are the one that the catalog names, once: %s', (catalog) => {
    const objects = [one, other, '<< /DocMDP 15 0 R >>'];
    const certification = ['the certification signature', 15, undefined, 2];
    expect(found('/V 14 0 R', '', catalog, objects)).toEqual([ofField, certification]);
    expect(found('/V 14 0 R', '/V 15 0 R', catalog, objects)).toEqual([ofField, ['the signature "b"', 15, 13, 2]]);
    expect(found('', '', catalog, objects)).toEqual([certification]);
  });

  it('are one more where the catalog has it itself, and none where that is nothing', () => {
    expect(found('/V 14 0 R', '', '/Perms << /DocMDP << /N 1 >> >>', [one])).toEqual([
      ofField,
      ['the certification signature', 'direct', undefined, 1],
    ]);
    for (const perms of ['<< /DocMDP 99 0 R >>', '<< /DocMDP /A >>', '[15 0 R]', '<< /UR3 15 0 R >>'])
      expect(found('/V 14 0 R', '', `/Perms ${perms}`, [one, other])).toEqual([ofField]);
  });

  it('have names of 100 characters at most in messages', () => {
    expect(quotedName('a"b')).toBe(String.raw`"a\"b"`);
    expect(quotedName('a'.repeat(100))).toBe(`"${'a'.repeat(100)}"`);
    expect(quotedName('a'.repeat(101))).toBe(`"${'a'.repeat(100)}…"`);
  });
});
