import { describe, expect, it } from 'vitest';
import { boundsOf, renderedPage, type RenderedPage } from '../../../support/rendered-page.ts';
import { smallPdf, type SmallPdf } from '../../../support/small-pdf.ts';
import { pngOf } from '../png.ts';
import { signPdf, signPdfWith } from '../sign-pdf.ts';

const green = [10, 200, 30] as const;
const isGreen = (colour: readonly number[]): boolean => green.every((part, index) => Math.abs(part - (colour[index] ?? -1)) < 4);
const imageOnly = { image: pngOf(60, 40, green), renderNameVisible: false, renderDateVisible: false };

function greenPart(page: RenderedPage):
  | {
      readonly fromLeft: number;
      readonly fromRight: number;
      readonly bottom: number;
      readonly fromTop: number;
      readonly size: readonly number[];
    }
  | undefined {
  const bounds = boundsOf(page, isGreen);
  if (bounds === undefined) return undefined;
  const { left, bottom, right, top } = bounds;
  return { fromLeft: left, fromRight: page.width - right, bottom, fromTop: page.height - top, size: [right - left, top - bottom] };
}

const near = (value: number): unknown => expect.toSatisfy((one: number) => Math.abs(one - value) <= 1, `${value} or next to it`);

const kinds: readonly (readonly [string, SmallPdf])[] = [
  ['upright', {}],
  ['rotated by 90 degrees', { page: '/Rotate 90' }],
  ['rotated by 180 degrees', { page: '/Rotate 180' }],
  ['rotated by -90 degrees', { page: '/Rotate -90' }],
  ['cropped', { page: '/CropBox [50 70 500 700]' }],
  ['cropped and rotated by 270 degrees', { page: '/CropBox [50 70 500 700] /Rotate 270' }],
  ['with a media box that does not begin at zero', { tree: '', page: '/MediaBox [-100 50 400 650] /Rotate 90' }],
];

describe('a visible signature', () => {
  it.each(kinds)('is x and y from the lower right corner of a page that is %s', (_, pdf) => {
    const signed = signPdfWith(smallPdf(pdf), { visibleSignature: { ...imageOnly, absolute: true, x: 30, y: 50 } });
    expect(greenPart(renderedPage(signed))).toMatchObject({ fromRight: near(30), bottom: near(50), size: [near(60), near(40)] });
  });

  it.each(kinds)('is at the edges of a page that is %s', (_, pdf) => {
    const place = { absolute: false, horizontalPosition: 'LEFT', verticalPosition: 'TOP', margin: 25 };
    const signed = signPdfWith(smallPdf(pdf), { visibleSignature: { ...imageOnly, ...place } });
    expect(greenPart(renderedPage(signed))).toMatchObject({ fromLeft: near(25), fromTop: near(25), size: [near(60), near(40)] });
  });

  it('is in the middle', () => {
    const place = { horizontalPosition: 'MIDDLE', verticalPosition: 'BOTTOM', margin: 0 };
    const signed = signPdfWith(smallPdf(), { visibleSignature: { ...imageOnly, ...place } });
    expect(greenPart(renderedPage(signed))).toMatchObject({ fromLeft: near((595 - 60) / 2), bottom: near(0) });
  });

  it.each([
    ['the size of the image', {}, [60, 40]],
    ['the width given, in the proportions of the image', { width: 120 }, [120, 80]],
    ['the height given, in the proportions of the image', { height: 20 }, [30, 20]],
    ['both, with the image inside', { width: 120, height: 120 }, [120, 80]],
  ])('has %s', (_, size, expected) => {
    const signed = signPdfWith(smallPdf(), { visibleSignature: { ...imageOnly, ...size } });
    expect(greenPart(renderedPage(signed))?.size).toEqual(expected.map(near));
  });

  it.each([
    [{ paging: 'FIRST_PAGE' }, 1],
    [{ paging: 'LAST_PAGE' }, 4],
    [{ paging: 'SELECTED_PAGE', pageSelection: 2 }, 2],
    [{ paging: 'SELECTED_PAGE', pageSelection: 2, pageNumerotation: 'FROM_START_TO_END' }, 2],
    [{ paging: 'SELECTED_PAGE', pageSelection: 2, pageNumerotation: 'FROM_END_TO_START' }, 3],
  ])('with %j is on page %d alone', (paging, expected) => {
    const signed = signPdfWith(smallPdf({ pages: 4 }), { visibleSignature: { ...imageOnly, ...paging } });
    const shown = [1, 2, 3, 4].filter((page) => greenPart(renderedPage(signed, page, 24)) !== undefined);
    expect(shown).toEqual([expected]);
  });

  it('has the colour asked for, and a rule and labels that are lighter', () => {
    const visibleSignature = {
      absolute: true,
      x: 100,
      y: 100,
      width: 300,
      height: 80,
      fontColor: '#C00000',
      fontSize: 30,
      renderNameVisible: true,
    };
    const page = renderedPage(signPdfWith(smallPdf({ content: () => '' }), { visibleSignature }));
    const bounds = boundsOf(page, (colour) => colour.join() === '192,0,0');
    expect(bounds?.left).toBeGreaterThan(195);
    expect(bounds?.left).toBeLessThan(220);
    expect(bounds?.top).toBeLessThanOrEqual(180);
    expect(bounds?.bottom).toBeGreaterThanOrEqual(100);
    const rule = boundsOf(page, ([red, other, blue]) => red > 230 && other === blue && other > 150 && other < 190);
    expect(rule?.left).toBeGreaterThanOrEqual(195);
    expect(rule?.left).toBeLessThan(bounds?.left ?? 0);
  });
});

describe('an image on the pages', () => {
  const content = (more: object): Readonly<Record<string, unknown>> => ({
    contentPreparation: { PDFContent: { image: imageOnly.image, ...more } },
  });

  it.each(kinds)('is x and y from the lower left corner of a page that is %s', (_, pdf) => {
    const signed = signPdf(smallPdf(pdf), content({ absolute: true, x: 15, y: 35 }));
    expect(greenPart(renderedPage(signed))).toMatchObject({ fromLeft: near(15), bottom: near(35), size: [near(60), near(40)] });
  });

  it.each([
    [{ paging: 'FIRST_PAGE' }, [1]],
    [{ paging: 'LAST_PAGE' }, [5]],
    [{ paging: 'ALL_PAGES' }, [1, 2, 3, 4, 5]],
    [{ paging: 'SPECIFIED_PAGES', pageSelection: '2;4-5' }, [2, 4, 5]],
    [{ paging: 'SPECIFIED_PAGES', pageSelection: ' 4 - 5 ; 1-2;2;1 ' }, [1, 2, 4, 5]],
    [{ paging: 'PERIOD_PAGES', pageStart: 2, pagePeriod: 2 }, [2, 4]],
  ])('with %j is on the pages %j', (paging, expected) => {
    const signed = signPdf(smallPdf({ pages: 5 }), content(paging));
    expect([1, 2, 3, 4, 5].filter((page) => greenPart(renderedPage(signed, page, 24)) !== undefined)).toEqual(expected);
  });

  it.each([
    ['changes its coordinates', '2 0 0 -2 100 100 cm'],
    ['saves the graphics state and does not restore it', 'q 3 0 0 3 50 50 cm q 2 0 0 2 10 10 cm'],
    ['restores more than it saves', 'q Q Q Q 2 0 0 2 0 0 cm'],
    [
      'has these operators in strings, comments and images',
      '2 0 0 2 0 0 cm % q\n(q \\) q) pop <71> /q BI /W 1 /H 1 /BPC 8 /CS /G ID q EI q',
    ],
  ])('is drawn upright although the content of the page %s', (_, text) => {
    const pdf = smallPdf({ content: () => text });
    const signed = signPdf(pdf, content({ absolute: true, x: 15, y: 35 }));
    expect(greenPart(renderedPage(signed))).toMatchObject({ fromLeft: near(15), bottom: near(35), size: [near(60), near(40)] });
  });
});
