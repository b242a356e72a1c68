import { describe, expect, it } from 'vitest';
import { SignatureBroken } from '../../../../src/cms/verify-signer-info.ts';
import { checkStructure } from '../../../../src/signatures/pades/verify/structure-changes.ts';
import { comparing, parsed, type Changes } from './two-revisions.ts';

interface Outcome {
  readonly fault?: string;
  /** Of the places that were asked for, those from which an object may be reached. */
  readonly claims: readonly string[];
  readonly edges: readonly string[];
  readonly settled: readonly number[];
}

const widget: Changes = {
  9: ['<</Fields [10 0 R 11 0 R]>>', '<</Fields [10 0 R 11 0 R 30 0 R]>>'],
  30: [undefined, '<</Subtype /Widget /FT /Sig /T (new)>>'],
};
const ofWidget = (more = '', kid = '<</Type /OBJR /Obj 30 0 R>>'): string => `<</S /Form /K ${kid} ${more}>>`;
const newElement: Changes = { ...widget, 31: [undefined, ofWidget()] };
const changed: Changes = { 23: ['<</A 1>>', '<</A 2>>'] };

/** What comes of a structure in object 20, or that stands in the catalog. */
function outcomeOf(changes: Changes, asked: readonly string[] = [], [was, is] = ['20 0 R', '20 0 R']): Outcome {
  const comparison = comparing(changes);
  let fault: string | undefined;
  try {
    checkStructure(comparison, parsed(was), parsed(is), { holder: 1, path: 'R' });
  } catch (error) {
    if (!(error instanceof SignatureBroken)) throw error;
    fault = error.message.replace(/^.*: /, '');
  }
  return {
    ...(fault === undefined ? {} : { fault }),
    claims: asked.filter((one) => {
      const [holder, path = '', target] = one.split(' ');
      return comparison.allows({ holder: Number(holder), path, target: Number(target) }, new Set());
    }),
    edges: comparison.edges.map(({ holder, path, target }) => `${holder} ${path} ${target}`),
    settled: [1, 20, 21, 22].filter((number) => comparison.isSettled(number)),
  };
}
const root = (was: string, is: string): Changes => ({ 20: [`<<${was}>>`, `<<${is}>>`] });
const faultOf = (...given: Parameters<typeof outcomeOf>): string | undefined => outcomeOf(...given).fault;

describe('the root of a structure', () => {
  it('may be none, and be in the catalog', () => {
    expect(outcomeOf({}, [], ['null', 'null'])).toEqual({ claims: [], edges: [], settled: [] });
    for (const pair of [
      ['null', '<<>>'],
      ['<<>>', 'null'],
      ['<<>>', '[]'],
    ] as const)
      expect(faultOf({}, [], [...pair])).toBe('the structure of the file');
    const direct: [string, string] = ['<</A 23 0 R>>', '<</A 23 0 R /K 31 0 R>>'];
    expect(outcomeOf({ ...newElement, ...changed }, ['1 R/K 31'], direct)).toEqual({
      ...{ claims: ['1 R/K 31'], edges: ['1 R/A 23'], settled: [] },
    });
  });

  it('leads to its first element, and where it did', () => {
    const changes = { ...newElement, ...changed, ...root('/RoleMap 23 0 R', '/RoleMap 23 0 R /K 31 0 R') };
    expect(outcomeOf(changes, ['20 K 31'])).toEqual({ claims: ['20 K 31'], edges: ['20 RoleMap 23'], settled: [20] });
    expect(faultOf(root('', '/ParentTree <<>>'))).toBeUndefined();
    expect(faultOf(root('/RoleMap <<>>', ''))).toBe('RoleMap of the structure');
  });

  it('has a next key that grows', () => {
    const next = (was: string, is: string): string | undefined =>
      faultOf({ ...root(`/A 1 ${was}`, `/A 1 ${is} /ParentTree <<>>`), 24: ['5'], 25: ['6', '7'] });
    const key = '/ParentTreeNextKey';
    for (const [was, is] of [
      ['5', '5'],
      ['5', '6'],
      ['24 0 R', '24 0 R'],
      ['24 0 R', '5'],
      ['5', '24 0 R'],
    ])
      expect(next(`${key} ${was ?? ''}`, `${key} ${is ?? ''}`)).toBeUndefined();
    expect(next('', `${key} 0`)).toBeUndefined();
    for (const [was, is] of [
      ['5', '4'],
      ['(x)', '5'],
      ['5', '(x)'],
      ['5', 'null'],
    ])
      expect(next(`${key} ${was ?? ''}`, `${key} ${is ?? ''}`)).toBe('ParentTreeNextKey of the structure');
  });
});

describe('the elements of a structure', () => {
  it('are new for a new widget, with what such an element has', () => {
    const all = ofWidget('/Type /StructElem /P 20 0 R /Pg 3 0 R /Alt (a) /T (b) /Lang (en) /ID (c) /NS <<>>');
    const elements: readonly Changes[] = [
      { 31: [undefined, all] },
      { 31: [undefined, ofWidget('', '32 0 R')], 32: [undefined, '<</Type /OBJR /Obj 30 0 R>>'] },
      { 31: [undefined, ofWidget('', '<</Type 24 0 R /Obj 30 0 R>>')], 24: ['/OBJR'] },
    ];
    for (const element of elements)
      expect(outcomeOf({ ...widget, ...element, ...root('/K [22 0 R]', '/K [22 0 R 31 0 R]'), 22: ['<<>>'] }, ['20 K/* 31'])).toEqual({
        ...{ claims: ['20 K/* 31'], edges: [], settled: [20] },
      });
  });

  it('are none that were there, though they are for it', () => {
    const added = { ...widget, 23: [ofWidget()], ...root('/K [22 0 R]', '/K [22 0 R 23 0 R]'), 22: ['<<>>'] } satisfies Changes;
    expect(faultOf(added)).toBe('an element of the structure was added');
    expect(faultOf({ ...newElement, ...root('/K [22 0 R]', '/K [31 0 R]'), 22: ['<<>>'] })).toBe('elements of the structure');
  });

  it('may have been given kids, and lead where they did', () => {
    const element = (was: string, is: string): Changes => ({
      ...{ ...newElement, ...changed, ...root('/K [21 0 R]', '/K [21 0 R] /ParentTree <<>>') },
      21: [was, is],
    });
    expect(outcomeOf(element('<</A 23 0 R>>', '<</A 23 0 R /K 31 0 R>>'), ['21 K 31'])).toEqual({
      ...{ claims: ['21 K 31'], edges: ['20 K/* 21', '20 K/* 21', '21 A 23'], settled: [20, 21] },
    });
    const beside = { ...newElement, ...root('/K [21 0 R]', '/K [21 0 R 31 0 R]'), 21: ['<</K 1>>', '<<>>'] } satisfies Changes;
    expect(outcomeOf(beside)).toMatchObject({ fault: 'elements of the structure', edges: ['20 K/* 21'] });
    // An element in itself is compared once.
    expect(faultOf(element('<</K [21 0 R]>>', '<</K [21 0 R 31 0 R]>>'))).toBeUndefined();
    expect(faultOf(element('[1]', '[2]'))).toBe('an element of the structure');
    expect(faultOf(element('<</S /P>>', '<</S /H1>>'))).toBe('S of an element of the structure');
  });
});

describe('the parents of a structure', () => {
  const parents = (was: string, is: string, more: Changes = {}): Changes => ({
    ...{ ...newElement, ...changed, ...more },
    ...root(`/ParentTree ${was}`, `/ParentTree ${is} /ParentTreeNextKey 9`),
  });

  it('have more numbers, or nodes, at the end', () => {
    const asked = ['20 ParentTree/Nums/* 31', '20 ParentTree/Kids/* 31'];
    expect(outcomeOf(parents('<</Nums [0 23 0 R]>>', '<</Nums [0 23 0 R 1 31 0 R]>>'), asked)).toEqual({
      ...{ claims: asked.slice(0, 1), edges: ['20 ParentTree/Nums/* 23'], settled: [20] },
    });
    expect(outcomeOf(parents('<</Kids [23 0 R]>>', '<</Kids [23 0 R 31 0 R]>>'), asked)).toEqual({
      ...{ claims: asked.slice(1), edges: ['20 ParentTree/Kids/* 23'], settled: [20] },
    });
    for (const key of ['Nums', 'Kids'])
      for (const is of ['[]', '[31 0 R 0]', '[1]'])
        expect(faultOf(parents(`<</${key} [0 23 0 R]>>`, `<</${key} ${is}>>`))).toBe('the parents of the structure');
  });

  it('keep what else they have', () => {
    expect(outcomeOf(parents('<</A 23 0 R>>', '<</A 23 0 R /Nums []>>')).edges).toEqual(['20 ParentTree/A 23']);
    expect(faultOf(parents('<</A 1>>', '<</A 2>>'))).toBe('the parents of the structure');
    for (const is of ['null', '[]', '/A']) expect(faultOf(parents('<</A 1>>', is))).toBe('the parents of the structure');
  });

  it.each<[string, boolean]>([
    ['99 0 R', true],
    ['5', true],
    ['[31 0 R]', true],
    ['<</A 1>>', true],
    ['23 0 R', true],
    ['/A', false],
    ['(a)', false],
    ['true', false],
  ])('may have at its end: %s: %s', (one, isAllowed) => {
    const { fault, edges } = outcomeOf(parents('<<>>', `<</Nums [1 ${one}]>>`));
    expect(fault).toBe(isAllowed ? undefined : 'the parents of the structure');
    // What was there before has to be reached as what it is.
    if (one === '23 0 R') expect(edges).toEqual(['20 ParentTree/Nums/* 23']);
  });
});
