import { describe, expect, it } from 'vitest';
import { pages } from '../../src/pdf/pages.ts';
import { PdfFault } from '../../src/pdf/pdf-fault.ts';
import { PdfDictionary } from '../../src/pdf/objects.ts';
import { PdfFile } from '../../src/pdf/pdf-file.ts';
import { madePdf, usualObjects, type MadeObjects } from './made-pdf.ts';
import { countedSource, opened } from './opened.ts';

const objects = usualObjects();

function shown(pdf: Buffer, order: 'FORWARD' | 'BACKWARD' = 'FORWARD'): unknown[] {
  return Array.from(pages(opened(pdf), order), ({ reference, box, rotation, userUnit }) => {
    const { left, bottom, right, top } = box;
    return [reference.number, [left, bottom, right, top], rotation, userUnit];
  });
}

/** One page with these entries, below a tree with those. */
function pageWith(entries: string, tree = ''): MadeObjects {
  return {
    1: '<</Type /Catalog /Pages 2 0 R>>',
    2: `<</Type /Pages /Kids [3 0 R] /Count 1 ${tree}>>`,
    3: `<</Type /Page /Parent 2 0 R ${entries}>>`,
  };
}

describe('the pages of a file', () => {
  it('have their own attributes, or those of the nodes above them', () => {
    const expected = [
      [3, [0, 0, 612, 792], 0, 1],
      [5, [10, 10, 500, 600], 90, 1],
      [6, [0, 0, 300.5, 400], 270, 2],
    ];
    expect(shown(madePdf(objects))).toEqual(expected);
    expect(shown(madePdf(objects), 'BACKWARD')).toEqual(expected.toReversed());
    const [first] = pages(opened(madePdf(objects)));
    expect(first?.resources.get('Font')).toBeInstanceOf(PdfDictionary);
  });

  it.each<[string, string, unknown[]]>([
    ['corners in any order', '/MediaBox [200 300 0 10]', [[0, 10, 200, 300], 0, 1]],
    ['a crop box that goes beyond the media box', '/MediaBox [0 0 100 100] /CropBox [-50 20 50 500]', [[0, 20, 50, 100], 0, 1]],
    ['a crop box outside of the media box', '/MediaBox [0 0 100 100] /CropBox [200 200 300 300]', [[0, 0, 100, 100], 0, 1]],
    ['no media box', '', [[0, 0, 612, 792], 0, 1]],
    ['a media box that is none', '/MediaBox [0 0 /A 9]', [[0, 0, 612, 792], 0, 1]],
    ['more than one turn', '/Rotate 810', [[0, 0, 612, 792], 90, 1]],
    ['a turn to the left', '/Rotate -450', [[0, 0, 612, 792], 270, 1]],
    ['a unit that is none', '/UserUnit -1', [[0, 0, 612, 792], 0, 1]],
    ['a unit of nothing', '/UserUnit 0', [[0, 0, 612, 792], 0, 1]],
    ['a media box of five numbers', '/MediaBox [0 0 10 10 10]', [[0, 0, 612, 792], 0, 1]],
    ['a crop box that goes beyond on the other sides', '/MediaBox [10 10 100 100] /CropBox [20 -50 500 50]', [[20, 10, 100, 50], 0, 1]],
    ['a crop box of no height', '/MediaBox [0 0 100 100] /CropBox [10 10 50 10]', [[0, 0, 100, 100], 0, 1]],
    ['kids, though it is no node', '/Kids []', [[0, 0, 612, 792], 0, 1]],
  ])('may have %s', (_name, entries, [box, rotation, unit]) => {
    expect(shown(madePdf(pageWith(entries)))).toEqual([[3, box, rotation, unit]]);
  });

  it('may have all that they say in objects of its own', () => {
    const made = {
      ...{ 1: '<</Type /Catalog /Pages 2 0 R>>', 2: '<</Type 4 0 R /Kids 5 0 R>>', 4: '/Pages', 5: '[3 0 R 12 0 R]' },
      ...{ 3: '<</Type /Page /MediaBox 6 0 R /CropBox [0 0 8 0 R 9 0 R] /Rotate 7 0 R /UserUnit 8 0 R>>', 6: '[0 0 9 0 R 50]' },
      ...{ 7: '90', 8: '2', 9: '100', 10: '/Page', 12: '<</Type 10 0 R /Kids []>>' },
    };
    expect(shown(madePdf(made))).toEqual([
      [3, [0, 0, 2, 50], 90, 2],
      [12, [0, 0, 612, 792], 0, 1],
    ]);
  });

  it('need not say that they are pages', () => {
    expect(shown(madePdf({ ...objects, 3: '<</Parent 2 0 R>>' }))).toHaveLength(3);
  });

  it.each<[string, MadeObjects, string]>([
    ['that are in themselves', { ...objects, 4: '<</Type /Pages /Kids [2 0 R]>>' }, 'has object 2 twice'],
    ['that occur twice', { ...objects, 4: '<</Type /Pages /Kids [3 0 R]>>' }, 'has object 3 twice'],
    ['without kids', { ...objects, 4: '<</Type /Pages>>' }, 'node 4 of the page tree has no kids'],
    ['whose kids are none', { ...objects, 4: '<</Type /Pages /Kids 7>>' }, 'node 4 of the page tree has no kids'],
    ['whose kid is no reference', { ...objects, 4: '<</Type /Pages /Kids [<</Type /Page>>]>>' }, 'a kid that is no reference'],
    ['that do not exist', { ...objects, 4: '<</Type /Pages /Kids [99 0 R]>>' }, 'node 99 of the page tree is no dictionary'],
    ['whose tree is no reference', { ...objects, 1: '<</Type /Catalog /Pages <</Kids []>>>>' }, 'names no page tree'],
    ['with half a turn', pageWith('/Rotate 45'), 'no multiple of 90'],
    ['without an area', pageWith('/MediaBox [0 0 0 100]'), 'has no area'],
    ['without a height', pageWith('/MediaBox [0 5 100 5]'), 'has no area'],
    [
      'that say by an object of its own that they are nodes',
      { ...objects, 4: '<</Type 14 0 R>>', 14: '/Pages' },
      'node 4 of the page tree has no kids',
    ],
  ])('are refused: ones %s', (_name, made, message) => {
    const read = (): unknown => [...pages(opened(madePdf(made)))];
    expect(read).toThrow(PdfFault);
    expect(read).toThrow(message);
  });

  it('are refused if the tree is too deep, and found if it is not', () => {
    const chain = (depth: number): Buffer => {
      const made: Record<number, string> = { 1: '<</Type /Catalog /Pages 2 0 R>>' };
      for (let number = 2; number < depth + 2; number += 1) made[number] = `<</Type /Pages /Kids [${number + 1} 0 R]>>`;
      return madePdf({ ...made, [depth + 2]: '<</Type /Page>>' });
    };
    expect([...pages(opened(chain(100)))]).toHaveLength(1);
    expect(() => [...pages(opened(chain(200)))]).toThrow('more than 100 levels');
  });

  it('are read only as far as they are asked for', () => {
    const made: Record<number, string> = {
      1: '<</Type /Catalog /Pages 2 0 R>>',
      2: `<</Type /Pages /Kids [${Array.from({ length: 200 }, (_, index) => `${index + 3} 0 R`).join(' ')}] /MediaBox [0 0 9 9]>>`,
    };
    for (let number = 3; number < 203; number += 1) made[number] = `<</Type /Page /Note (${'x'.repeat(50_000)})>>`;
    const pdf = madePdf(made);
    for (const order of ['FORWARD', 'BACKWARD'] as const) {
      const { source, bytesRead } = countedSource(pdf);
      const [page] = pages(new PdfFile(source), order);
      expect(page?.reference.number).toBe(order === 'FORWARD' ? 3 : 202);
      expect(bytesRead()).toBeLessThan(pdf.length / 10);
    }
  });
});
