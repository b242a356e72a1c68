import { describe, expect, it } from 'vitest';
import { bytesInMemory } from '../../../src/asn1/byte-source.ts';
import { PdfFault } from '../../../src/pdf/pdf-fault.ts';
import { PdfFile } from '../../../src/pdf/pdf-file.ts';
import { NotQuick } from '../../../src/pdf/work-limit.ts';
import { Refusal } from '../../../src/result-codes.ts';
import { usualMargin, visibleAsked } from '../../../src/signatures/pades/appearance/visible-asked.ts';
import { signatureFields } from '../../../src/signatures/pades/signed-fields.ts';
import {
  existingFrames,
  firstPage,
  invisibleFrame,
  newFrame,
  pageOfWidget,
  type Frame,
} from '../../../src/signatures/pades/target-field.ts';
import { VisibleSignatureFields } from '../../../src/signatures/request/pdf-fields.ts';
import { opened } from '../../pdf/opened.ts';
import { smallPdf, type SmallPdf } from '../../support/small-pdf.ts';

describe('the frame of a new field', () => {
  const frame = (fields: object, image?: { width: number; height: number }, pdf: SmallPdf = {}): Frame =>
    newFrame(opened(smallPdf({ pages: 3, ...pdf })), visibleAsked(VisibleSignatureFields.parse(fields), '/visible'), image, '/visible');
  const refusal = (fields: object, image?: { width: number; height: number }): unknown => {
    try {
      return frame(fields, image);
    } catch (error) {
      return error instanceof Refusal ? [error.code, error.message] : error;
    }
  };

  it.each([
    [{}, undefined, [200, 80]],
    [{}, { width: 60, height: 40 }, [60, 40]],
    [{ width: 100 }, undefined, [100, 40]],
    [{ height: 40 }, undefined, [100, 40]],
    [{ width: 120 }, { width: 60, height: 40 }, [120, 80]],
    [{ height: 20 }, { width: 60, height: 40 }, [30, 20]],
    [{ width: 50, height: 70 }, { width: 60, height: 40 }, [50, 70]],
  ])('with %j and an image of %j has the size %j', (fields, image, [width = 0, height = 0]) => {
    const { rectangle, ...found } = frame(fields, image);
    expect([found.width, found.height]).toEqual([width, height]);
    const right = 595 - usualMargin;
    expect(rectangle).toEqual([right - width, usualMargin, right, usualMargin + height]);
  });

  it.each([
    [{ pageSelection: 1 }, 4],
    [{ pageSelection: 2 }, 6],
    [{ pageSelection: 3 }, 8],
    [{ pageSelection: 1, pageNumerotation: 'FROM_END_TO_START' }, 8],
    [{ pageSelection: 3, pageNumerotation: 'FROM_END_TO_START' }, 4],
  ])('with %j is on the page of object %i', (fields, number) => {
    expect(frame(fields).page.reference.number).toBe(number);
  });

  it('is on no page that is not there, nor where it has no room', () => {
    expect(refusal({ pageSelection: 4 })).toEqual([
      'FIELDS_INCONSISTENT',
      expect.stringMatching(/^\/visible\/pageSelection: the document has no page 4$/),
    ]);
    expect(refusal({ width: 600 }, { width: 30, height: 1 })).toEqual([
      'FIELDS_INCONSISTENT',
      '/visible: 600 × 20 pixels have no room there on a page of 595 × 842',
    ]);
    expect(refusal({ width: 600 }, { width: 7, height: 1 })).toEqual([
      'FIELDS_INCONSISTENT',
      '/visible: 600 × 85.7 pixels have no room there on a page of 595 × 842',
    ]);
  });
});

describe('the frames of a field that is there', () => {
  const quarters = { 0: [1, 0, 0, 1, 0, 0], 90: [0, 1, -1, 0, 0, 0], 270: [0, -1, 1, 0, 0, 0] } as const;
  const widget = (more: string, parent = '/FT /Sig /T (f)'): string => `<< /Type /Annot /Subtype /Widget ${parent} ${more} >>`;
  /** Fields from object 16 on, in a file of three pages: objects 4, 6 and 8. */
  const fileWith = (objects: readonly string[], more: SmallPdf = {}, fields = '16 0 R'): PdfFile =>
    opened(smallPdf({ pages: 3, catalog: `/AcroForm << /Fields [${fields}] >>`, objects, ...more }));
  const frames = (file: PdfFile): readonly Frame[] => existingFrames(file, signatureFields(file)[0]?.widgets ?? []);
  const pagesOf = (file: PdfFile): readonly number[] => frames(file).map(({ page }) => page.reference.number);

  it.each([
    ['', [30, 20], quarters[0]],
    ['/UserUnit 2', [60, 40], quarters[0]],
    ['/Rotate 90', [20, 30], quarters[90]],
    ['/Rotate 270 /UserUnit 2', [40, 60], quarters[270]],
  ])('have the size and the direction in which a page is displayed that has %s', (page, size, matrix) => {
    const [found] = frames(fileWith([widget('/Rect [130 40 100 60]')], { page }));
    expect(found).toMatchObject({ rectangle: [100, 40, 130, 60], width: size[0], height: size[1], matrix });
  });

  it('are invisible where a widget has no rectangle', () => {
    const file = fileWith([widget('')], { page: '/Rotate 90' });
    const invisible = { rectangle: [0, 0, 0, 0], width: 0, height: 0, matrix: quarters[90] };
    expect(frames(file)).toMatchObject([invisible]);
    expect(invisibleFrame(firstPage(file))).toMatchObject(invisible);
  });

  it('are on the page that a widget names, or that has it, and else on the first one', () => {
    const [plain, annotated] = [widget('/Rect [0 0 9 9]'), { page: '/Annots [16 0 R]' }];
    expect(pagesOf(fileWith([plain]))).toEqual([4]);
    expect(pagesOf(fileWith([widget('/P 8 0 R')]))).toEqual([8]);
    // All pages have it: the first one counts, unless the widget says otherwise on that page.
    expect(pagesOf(fileWith([plain], annotated))).toEqual([4]);
    expect(pagesOf(fileWith([widget('/P 4 0 R')], annotated))).toEqual([4]);
    expect(pagesOf(fileWith([widget('/P 99 0 R')], annotated))).toEqual([4]);
    const file = fileWith([widget('/P 6 0 R')]);
    const [own] = signatureFields(file)[0]?.widgets ?? [];
    if (own === undefined) throw new Error('no widget');
    expect(pageOfWidget(file, own).reference.number).toBe(6);
    const nowhere = fileWith([plain]);
    const [lost] = signatureFields(nowhere)[0]?.widgets ?? [];
    if (lost === undefined) throw new Error('no widget');
    expect(pageOfWidget(nowhere, lost).reference.number).toBe(4);
  });

  /** A field of several widgets, objects from 17 on. */
  const several = (entries: readonly string[], more: SmallPdf = {}): PdfFile => {
    const kids = entries.map((_, index) => `${17 + index} 0 R`).join(' ');
    return fileWith([`<< /FT /Sig /T (f) /Kids [${kids}] >>`, ...entries.map((one) => widget(one, '/Parent 16 0 R'))], more);
  };

  it('are each on its own page, in their order', () => {
    expect(pagesOf(several(['/P 8 0 R', '/P 4 0 R', '/P 6 0 R']))).toEqual([8, 4, 6]);
    expect(pagesOf(several(['/P 6 0 R', '/P 99 0 R'], { page: '/Annots [18 0 R 15 0 R 5]' }))).toEqual([6, 4]);
  });

  it('are found in annotations that are an object of their own', () => {
    const objects = [widget('/Rect [0 0 9 9]'), '[16 0 R]'];
    const pages = smallPdf({ pages: 3, catalog: '/AcroForm << /Fields [16 0 R] >>', objects }).toString('latin1');
    // On the second page alone, in the place of white space.
    const text = pages.replace('/Contents 7 0 R  >>', '/Annots 17 0 R  >>');
    expect(text).not.toBe(pages);
    const moved = pages.length - text.length;
    const padded = text.replace('/Annots 17 0 R  >>', `/Annots 17 0 R${' '.repeat(moved + 2)}>>`);
    expect(pagesOf(opened(Buffer.from(padded, 'latin1')))).toEqual([6]);
  });

  it('are a hundred at most', () => {
    const many = (count: number): PdfFile => several(Array.from({ length: count }, () => '/P 4 0 R'));
    expect(frames(many(100))).toHaveLength(100);
    expect(() => frames(many(101))).toThrow(new PdfFault('a field has 101 widgets; at most 100 are supported'));
  });

  it('are drawn at once where there is one', () => {
    const quickly = (file: Buffer) => (): number => {
      const quick = new PdfFile(bytesInMemory(file), undefined, { mustBeQuick: true });
      return frames(quick).length;
    };
    const text = (count: number): Buffer => {
      const kids = Array.from({ length: count }, (_, index) => `${17 + index} 0 R`).join(' ');
      const widgets = Array.from({ length: count }, () => widget('/P 4 0 R', '/Parent 16 0 R'));
      const objects = [`<< /FT /Sig /T (f) /Kids [${kids}] >>`, ...widgets];
      return smallPdf({ pages: 3, catalog: '/AcroForm << /Fields [16 0 R] >>', objects });
    };
    expect(quickly(text(1))()).toBe(1);
    expect(quickly(text(2))).toThrow(NotQuick);
  });
});

it('has a first page, or is refused', () => {
  const empty = smallPdf().toString('latin1').replace('/Kids [4 0 R]', '/Kids [     ]');
  expect(() => firstPage(opened(Buffer.from(empty, 'latin1')))).toThrow(new PdfFault('the document has no pages'));
});
