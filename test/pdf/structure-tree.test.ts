import { describe, expect, it } from 'vitest';
import { archivalOf, calibratedColours, type Archival } from '../../src/pdf/archival.ts';
import { objectText } from '../../src/pdf/object-text.ts';
import { PdfReference } from '../../src/pdf/objects.ts';
import { pages } from '../../src/pdf/pages.ts';
import { PdfFault } from '../../src/pdf/pdf-fault.ts';
import { Revision } from '../../src/pdf/revision.ts';
import { addToStructure, isTagged } from '../../src/pdf/structure-tree.ts';
import { madePdf, usualObjects, type MadeObjects } from './made-pdf.ts';
import { opened } from './opened.ts';

const catalog = (more: string): string => `<</Type /Catalog /Pages 2 0 R ${more}>>`;
const tagged = catalog('/MarkInfo <</Marked true>> /StructTreeRoot 20 0 R');

describe('a file is tagged', () => {
  const isSo = (entries: string, root = '<</Type /StructTreeRoot>>'): boolean =>
    isTagged(opened(madePdf({ ...usualObjects(), 1: catalog(entries), 20: root })));

  it('if it says so and has a structure', () => {
    expect(isSo('/MarkInfo <</Marked true>> /StructTreeRoot 20 0 R')).toBe(true);
    expect(isSo('/MarkInfo <</Marked true>> /StructTreeRoot <<>>')).toBe(true);
    expect(isSo('/MarkInfo <</Marked false>> /StructTreeRoot 20 0 R')).toBe(false);
    expect(isSo('/MarkInfo <<>> /StructTreeRoot 20 0 R')).toBe(false);
    expect(isSo('/MarkInfo [true] /StructTreeRoot 20 0 R')).toBe(false);
    expect(isSo('/StructTreeRoot 20 0 R')).toBe(false);
    expect(isSo('/MarkInfo <</Marked true>>')).toBe(false);
    expect(isSo('/MarkInfo <</Marked true>> /StructTreeRoot 20 0 R', '[]')).toBe(false);
  });
});

describe('a widget in the structure of a file', () => {
  /** The key of the widget, and what these objects are then. New objects begin with 25. */
  function added(objects: MadeObjects, numbers: readonly number[]): readonly [number, ...string[]] {
    const file = opened(madePdf({ ...usualObjects(), 1: tagged, 24: 'null', ...objects }));
    const revision = new Revision(file);
    const [page] = pages(file);
    if (page === undefined) throw new Error('no page');
    const key = addToStructure(revision, page, new PdfReference(10, 0), 'Signature of A');
    return [key, ...numbers.map((number) => objectText(revision.resolved(new PdfReference(number, 0))))];
  }
  const element = (parent: number): string =>
    `<</Type /StructElem/S /Form/P ${parent} 0 R/Alt (Signature of A)/Pg 3 0 R/K <</Type /OBJR/Obj 10 0 R/Pg 3 0 R>>>>`;

  it('is the last element of the document, where that is the only one of the root', () => {
    for (const kids of ['21 0 R', '[21 0 R]', '22 0 R']) {
      const root = `<</Type /StructTreeRoot/K ${kids}/ParentTree <</Nums [0 23 0 R]>>/ParentTreeNextKey 1>>`;
      const objects = { 20: root, 21: '<</S /Document/K 23 0 R>>', 22: '[21 0 R]', 23: '<</S /P>>' };
      expect(added(objects, [25, 21, 20])).toEqual([
        1,
        element(21),
        '<</S /Document/K [23 0 R 25 0 R]>>',
        `<</Type /StructTreeRoot/K ${kids}/ParentTree <</Nums [0 23 0 R 1 25 0 R]>>/ParentTreeNextKey 2>>`,
      ]);
    }
  });

  it.each([
    ['/K [21 0 R 23 0 R]', '/K [21 0 R 23 0 R 25 0 R]'],
    ['/K 23 0 R', '/K [23 0 R 25 0 R]'],
    ['/K [23 0 R]', '/K [23 0 R 25 0 R]'],
    ['/K null', '/K 25 0 R'],
    ['/K []', '/K [25 0 R]'],
    ['/K <</S /Document>>', '/K [<</S /Document>> 25 0 R]'],
  ])('is the last element of the root with %s', (kids, then) => {
    const objects = { 20: `<<${kids}>>`, 21: '<</S /Document>>', 23: '<</S /P>>' };
    const [key, own, root = ''] = added(objects, [25, 20]);
    expect([key, own]).toEqual([0, element(20)]);
    expect(root).toContain(then);
    expect(root).toContain('/ParentTree <</Nums [0 25 0 R]>>/ParentTreeNextKey 1');
  });

  it('has its own place in the tree of parents, behind all others', () => {
    const withTree = (tree: string, next = '', more: MadeObjects = {}): readonly [number, ...string[]] =>
      added({ 20: `<</K 21 0 R /ParentTree ${tree} ${next}>>`, 21: '<</S /Document>>', ...more }, [20, 22, 26]);
    // The next key can be too small, or there can be room before it.
    expect(withTree('<</Nums [0 21 0 R 7 21 0 R]>>', '/ParentTreeNextKey 3')[0]).toBe(8);
    expect(withTree('<</Nums [0 21 0 R]>>', '/ParentTreeNextKey 30')[0]).toBe(30);
    expect(withTree('<</Nums [0 21 0 R]>>', '/ParentTreeNextKey (x)')[0]).toBe(1);
    const [key, root, tree] = withTree('22 0 R', '', { 22: '<</Nums [4 21 0 R]>>' });
    expect([key, tree]).toEqual([5, '<</Nums [4 21 0 R 5 25 0 R]>>']);
    expect(root).toContain('/ParentTree 22 0 R/ParentTreeNextKey 6');
    const leaves = { 22: '<</Kids [23 0 R 24 0 R]>>', 23: '<</Limits [0 1] /Nums [0 21 0 R]>>', 24: '<</Kids [23 0 R]>>' };
    expect(withTree('22 0 R', '', leaves).slice(0, 1)).toEqual([1]);
    expect(withTree('22 0 R', '', leaves).slice(2)).toEqual(['<</Kids [23 0 R 24 0 R 26 0 R]>>', '<</Limits [1 1]/Nums [1 25 0 R]>>']);
    // A tree that is none is begun anew.
    expect(withTree('99 0 R')[1]).toContain('/ParentTree <</Nums [0 25 0 R]>>');
  });

  it.each<[string, MadeObjects, readonly string[]]>([
    ['type of the document', { 21: '<</S 22 0 R>>', 22: '/Document' }, ['/K 25 0 R>>', '/K 21 0 R/ParentTree <</Nums [0 25 0 R]>>']],
    ['kids of the document', { 21: '<</S /Document/K 22 0 R>>', 22: '[23 0 R]' }, ['/K [23 0 R 25 0 R]>>', '']],
    [
      'next key',
      { 20: '<</K 21 0 R/ParentTreeNextKey 22 0 R>>', 22: '30' },
      ['', '/ParentTreeNextKey 31/ParentTree <</Nums [30 25 0 R]>>'],
    ],
    ['numbers', { 20: '<</K 21 0 R/ParentTree <</Nums 22 0 R>>>>', 22: '[4 23 0 R]' }, ['', '/Nums [4 23 0 R 5 25 0 R]']],
    ['largest key', { 20: '<</K 21 0 R/ParentTree <</Nums [22 0 R 23 0 R]>>>>', 22: '4' }, ['', '/Nums [22 0 R 23 0 R 5 25 0 R]']],
    [
      'leaves',
      { 20: '<</K 21 0 R/ParentTree <</Kids 22 0 R>>>>', 22: '[23 0 R]', 23: '<</Nums [6 21 0 R]>>' },
      ['', '/ParentTree <</Kids [23 0 R 26 0 R]>>/ParentTreeNextKey 8'],
    ],
  ])('is found where an object of its own has the %s', (_what, objects, [document, root]) => {
    const usual = { 20: '<</K 21 0 R>>', 21: '<</S /Document>>', 23: '<</S /P>>' };
    const [, ofDocument, ofRoot] = added({ ...usual, ...objects }, [21, 20]);
    expect(ofDocument).toContain(document);
    expect(ofRoot).toContain(root);
  });

  it('has the key behind that of the last leaf, at most 30 levels below', () => {
    const keyOf = (tree: string, more: MadeObjects): number => added({ 20: `<</ParentTree ${tree}>>`, ...more }, [])[0];
    expect(keyOf('<</Kids [22 0 R 23 0 R]>>', { 22: '<</Nums [0 9 0 R]>>', 23: '<</Nums [5 9 0 R]>>' })).toBe(6);
    expect(keyOf('<</Kids [22 0 R]>>', { 22: '<</Kids 23 0 R>>', 23: '[24 0 R]', 24: '<</Nums 21 0 R>>', 21: '[7 9 0 R]' })).toBe(8);
    expect(keyOf('[1]', {})).toBe(0);
    const chain = (levels: number): number => {
      const nodes = Array.from({ length: levels }, (_, index): [number, string] => [100 + index, `<</Kids [${101 + index} 0 R]>>`]);
      return keyOf('100 0 R', { ...Object.fromEntries(nodes), [100 + levels]: '<</Nums [3 9 0 R]>>' });
    };
    expect(chain(30)).toBe(4);
    expect(() => chain(31)).toThrow(PdfFault);
  });

  it.each<[string, MadeObjects]>([
    ['no structure', { 1: catalog('') }],
    ['a root that is no object of its own', { 1: catalog('/StructTreeRoot <</K 21 0 R>>'), 21: '<</S /P>>' }],
    ['a root that is no object of its own, with a document', { 1: catalog('/StructTreeRoot <</K 21 0 R>>'), 21: '<</S /Document>>' }],
    ['a tree of parents in itself', { 20: '<</ParentTree 21 0 R>>', 21: '<</Kids [21 0 R]>>' }],
  ])('is refused with %s', (_what, objects) => {
    expect(() => added(objects, [])).toThrow(PdfFault);
  });
});

describe('a file for archives', () => {
  const archival = (metadata: string | undefined, more = ''): Archival | undefined =>
    archivalOf(
      opened(
        madePdf({
          ...usualObjects(),
          1: catalog(`${metadata === undefined ? '' : '/Metadata 20 0 R'} ${more}`),
          20: { entries: '', bytes: Buffer.from(metadata ?? '') },
          21: '<</S /GTS_PDFA1 /DestOutputProfile 7 0 R>>',
          22: '<</S /GTS_PDFX /DestOutputProfile 7 0 R>>',
          23: '<</S /GTS_PDFA1>>',
        }),
      ),
    );

  it.each<[string, number | undefined]>([
    ['<pdfaid:part>1</pdfaid:part>', 1],
    ['<pdfaid:part> 2 </pdfaid:part>', 2],
    ['<x pdfaid:part="3"/>', 3],
    ["<x pdfaid:part = '2'/>", 2],
    ['<x/>', undefined],
    ['<pdfaid:part></pdfaid:part>', undefined],
    ['pdfaid:part 1', undefined],
  ])('says so in its metadata: %s', (metadata, part) => {
    expect(archival(metadata)?.part).toBe(part);
  });

  it('says what its colours mean, or not', () => {
    const has = (intents: string): boolean | undefined => archival('<x pdfaid:part="2"/>', intents)?.hasOutputIntent;
    expect(['/OutputIntents [21 0 R]', '/OutputIntents [22 0 R 21 0 R]'].map(has)).toEqual([true, true]);
    expect(['', '/OutputIntents 21 0 R', '/OutputIntents [22 0 R]', '/OutputIntents [23 0 R]', '/OutputIntents []'].map(has)).toEqual([
      ...[false, false, false, false, false],
    ]);
    expect(archival(undefined)).toBeUndefined();
  });

  it('gets colours that are those of sRGB', () => {
    expect(objectText(calibratedColours())).toBe(
      '<</DefaultRGB [/CalRGB <</WhitePoint [0.9505 1 1.089]/Gamma [2.2 2.2 2.2]/Matrix [0.4124 0.2126 0.0193 0.3576 0.7152 0.1192 0.1805 0.0722 0.9505]>>]/DefaultGray [/CalGray <</WhitePoint [0.9505 1 1.089]/Gamma 2.2>>]>>',
    );
  });
});
