import { describe, expect, it } from 'vitest';
import { SignatureBroken } from '../../../../src/cms/verify-signer-info.ts';
import { PdfDictionary } from '../../../../src/pdf/objects.ts';
import type { DocMdpLevel } from '../../../../src/signatures/pades/signed-fields.ts';
import type { Comparison } from '../../../../src/signatures/pades/verify/comparison.ts';
import { checkAnnotations, checkDictionary } from '../../../../src/signatures/pades/verify/page-changes.ts';
import { comparing, parsed, type Changes } from './two-revisions.ts';

const text = '<</Subtype /Text>>';
const widget: Changes = {
  9: ['<</Fields [10 0 R 11 0 R]>>', '<</Fields [10 0 R 11 0 R 30 0 R]>>'],
  30: [undefined, '<</Subtype /Widget /FT /Sig /T (new)>>'],
};

/** Why something is not allowed. */
function faultOf(step: () => void): string | undefined {
  try {
    step();
    return undefined;
  } catch (error) {
    if (error instanceof SignatureBroken) return error.message.replace(/^.*?: /, '');
    throw error;
  }
}

/** Compares these dictionaries in their two states. */
function compared(comparison: Comparison, ...numbers: readonly number[]): string | undefined {
  return faultOf(() => {
    for (const number of numbers) {
      const change = comparison.changes.get(number);
      if (change?.kind !== 'CHANGED' || !(change.before instanceof PdfDictionary) || !(change.after instanceof PdfDictionary))
        throw new Error('no dictionary that changed');
      checkDictionary(comparison, number, change.before, change.after);
    }
  });
}
const edgesOf = (comparison: Comparison): readonly string[] =>
  comparison.edges.map(({ holder, path, target }) => `${holder} ${path} ${target}`);
const allows = (comparison: Comparison, path: string, target: number): boolean => comparison.allows({ holder: 7, path, target }, new Set());

describe('a page that is given an order of tabs', () => {
  const page = (was: string, is = `${was} /Tabs /S`): Changes[number] => [`<</Type /Page ${was}>>`, `<</Type /Page ${is}>>`];
  const tree = (entries: string): Changes[number] => [`<</Type /Pages ${entries}>>`];

  it('is in the tree, by its parents up to the root', () => {
    expect(compared(comparing({ 3: page('/Parent 2 0 R') }), 3)).toBeUndefined();
    expect(compared(comparing({ 5: page('/Parent 4 0 R'), 6: page('/Parent 4 0 R') }), 5, 6)).toBeUndefined();
    expect(compared(comparing({ 3: page('/Parent 2 0 R'), 2: tree('/Kids 20 0 R'), 20: ['[3 0 R 4 0 R]'] }), 3)).toBeUndefined();
    const isNone = 'Tabs of object 20, which is no page';
    const others: readonly Changes[] = [
      { 20: page('/Parent 2 0 R') },
      { 20: page('/Parent 21 0 R'), 21: tree('/Kids [20 0 R]') },
      { 20: page('/Parent 21 0 R'), 21: tree('/Kids [20 0 R] /Parent 2 0 R') },
      { 20: page('/Parent 21 0 R'), 21: tree('/Kids 5 /Parent 2 0 R') },
      { 20: page('/Parent <</Kids [20 0 R]>>') },
      { 20: page('/Parent 21 0 R'), 21: tree('/Kids [20 0 R] /Parent 21 0 R') },
    ];
    for (const changes of others) expect(compared(comparing(changes), 20)).toBe(isNone);
  });

  it('is in the tree, where it does not name its parent', () => {
    expect(compared(comparing({ 3: page('') }), 3)).toBeUndefined();
    expect(compared(comparing({ 20: page('') }), 20)).toBe('Tabs of object 20, which is no page');
  });

  it('has at most 100 nodes above it', () => {
    const below = (nodes: number): string | undefined => {
      const between = Array.from({ length: nodes - 1 }, (_, index): [number, Changes[number]] => [
        100 + index,
        tree(`/Kids [${index === nodes - 2 ? 20 : 101 + index} 0 R] /Parent ${index === 0 ? 2 : 99 + index} 0 R`),
      ]);
      const changes = { ...Object.fromEntries(between), 2: tree('/Kids [100 0 R]'), 20: page(`/Parent ${98 + nodes} 0 R`) };
      return compared(comparing(changes), 20);
    };
    expect(below(100)).toBeUndefined();
    expect(below(101)).toBe('Tabs of object 20, which is no page');
  });

  it('leads where it did, and is found as a page', () => {
    const comparison = comparing({ 3: page('/Parent 2 0 R /B [23 0 R]'), 23: ['<</A 1>>', '<</A 2>>'] });
    expect(compared(comparison, 3)).toBeUndefined();
    expect(edgesOf(comparison)).toEqual(['3 B/* 23']);
    expect([allows(comparison, 'Dest/*', 3), allows(comparison, 'Pg', 3), allows(comparison, 'Popup', 3)]).toEqual([true, true, false]);
  });

  it('is no other dictionary, of which five keys are named', () => {
    const entries = (value: number): string => ['A', 'B', 'C', 'D', 'E', 'F'].map((key) => `/${key} ${value}`).join(' ');
    expect(compared(comparing({ 20: [`<<${entries(1)}>>`, `<<${entries(2)}>>`] }), 20)).toBe('A, B, C, D, E of a dictionary (object 20)');
    const type = (length: number): string | undefined =>
      compared(comparing({ 20: [`<</Type /${'t'.repeat(length)}>>`, `<</Type /${'t'.repeat(length)} /A 1>>`] }), 20);
    expect(type(40)).toBe(`A of a dictionary of type "${'t'.repeat(40)}" (object 20)`);
    expect(type(41)).toBe(type(40));
  });
});

describe('a comment that changed', () => {
  const comment = (was: string, is: string, level: DocMdpLevel = 3): Comparison =>
    comparing({ 20: [`<</Subtype /Text ${was}>>`, `<</Subtype /Text ${is}>>`], 23: ['<</A 1>>', '<</A 2>>'] }, level);

  it('was one before and is one now, where they are allowed', () => {
    expect(compared(comment('/Contents (a)', '/Contents (b)'), 20)).toBeUndefined();
    for (const [was, is] of [
      ['/Contents 5', '/Contents (b)'],
      ['/Contents (a)', '/Contents 5'],
    ] as const)
      expect(compared(comment(was, is), 20)).toBe('Contents of a dictionary (object 20)');
    for (const level of [1, 2] as const)
      expect(compared(comment('/Contents (a)', '/Contents (b)', level), 20)).toBe('Contents of a dictionary (object 20)');
  });

  it('leads where it did, and is found as an annotation', () => {
    const comparison = comment('/OC 23 0 R', '/OC 23 0 R /M (now)');
    expect(compared(comparison, 20)).toBeUndefined();
    expect(edgesOf(comparison)).toEqual(['20 OC 23']);
    expect([allows(comparison, 'Popup', 20), allows(comparison, 'Pg', 20)]).toEqual([true, false]);
  });
});

describe('the annotations of a page', () => {
  const place = { holder: 3, path: 'Annots' };
  /** Objects 20 and 21 are comments, 22 is a link. */
  const objects: Changes = { 20: [text], 21: [text], 22: ['<</Subtype /Link>>'], ...widget, 31: [undefined, text] };
  const outcome = (level: DocMdpLevel, was: string, is: string, more: Changes = {}): [string | undefined, Comparison] => {
    const comparison = comparing({ ...objects, ...more }, level);
    return [faultOf(() => checkAnnotations(comparison, parsed(was), parsed(is), place)), comparison];
  };
  const gone = 'an annotation of a page is gone, or its annotations have another order';
  const added = 'an annotation was added to a page';

  it.each<[string, string, string | undefined, string | undefined]>([
    ['[20 0 R 22 0 R]', '[22 0 R]', gone, undefined],
    ['[20 0 R 21 0 R]', '[21 0 R 20 0 R]', gone, undefined],
    ['[20 0 R 22 0 R]', '[20 0 R]', gone, gone],
    ['[20 0 R]', '[20 0 R 31 0 R]', added, undefined],
    ['[20 0 R]', '[20 0 R 22 0 R]', added, added],
    ['null', '[30 0 R]', undefined, undefined],
    ['[22 0 R]', '[30 0 R 22 0 R]', undefined, undefined],
    ['[22 0 R]', 'null', gone, gone],
    ['[22 0 R]', '/A', 'annotations of a page that are no array', 'annotations of a page that are no array'],
    ['/A', '[22 0 R]', 'annotations of a page that are no array', 'annotations of a page that are no array'],
  ])('%s may become %s, or not', (was, is, onLevel2, onLevel3) => {
    expect([outcome(2, was, is)[0], outcome(3, was, is)[0]]).toEqual([onLevel2, onLevel3]);
  });

  it('lead to new signatures, new comments, and where they did', () => {
    const changed: Changes = { 22: ['<</Subtype /Link>>', '<</Subtype /Link /A 1>>'] };
    const [fault, comparison] = outcome(3, '[22 0 R]', '[22 0 R 30 0 R 31 0 R]', changed);
    expect([fault, edgesOf(comparison)]).toEqual([undefined, ['3 Annots/* 22']]);
    const leads = (target: number): boolean => comparison.allows({ holder: 3, path: 'Annots/*', target }, new Set());
    expect([30, 31, 22].map(leads)).toEqual([true, true, false]);
    const [, ofComment] = outcome(3, '[20 0 R 21 0 R]', '[21 0 R 20 0 R]', { 20: [text, '<</Subtype /Text /M (now)>>'] });
    expect(edgesOf(ofComment)).toEqual(['3 Annots/* 20']);
  });
});
