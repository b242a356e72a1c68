import { describe, expect, it } from 'vitest';
import { objectText } from '../../../src/pdf/object-text.ts';
import { isArray, PdfDictionary, PdfReference, PdfStream, type PdfObject } from '../../../src/pdf/objects.ts';
import { pages } from '../../../src/pdf/pages.ts';
import { PdfFault } from '../../../src/pdf/pdf-fault.ts';
import { Revision } from '../../../src/pdf/revision.ts';
import { Refusal } from '../../../src/result-codes.ts';
import { drawingRules } from '../../../src/signatures/pades/drawing-rules.ts';
import { addPageImage, pageImageAsked } from '../../../src/signatures/pades/page-image.ts';
import { PdfContent } from '../../../src/signatures/request/pdf-fields.ts';
import type { PdfFile } from '../../../src/pdf/pdf-file.ts';
import { madePdf, usualObjects } from '../../pdf/made-pdf.ts';
import { opened } from '../../pdf/opened.ts';
import { smallPdf, type SmallPdf } from '../../support/small-pdf.ts';
import { pngOf } from './png.ts';

const image = pngOf(60, 40, [10, 200, 30]);
const at = '/image';

const revisionWith = (pdf: SmallPdf, fields: object): Revision => revisionOf(opened(smallPdf(pdf)), fields);

/** The revision of a file with the image as these fields ask for it. */
function revisionOf(file: PdfFile, fields: object): Revision {
  const revision = new Revision(file);
  addPageImage(revision, pageImageAsked(PdfContent.parse({ image, ...fields }), at), drawingRules(file));
  return revision;
}

/** Code and place of a refusal, or the message of a fault. */
function refused(pdf: SmallPdf, fields: object): unknown {
  try {
    revisionWith(pdf, fields);
    return undefined;
  } catch (error) {
    return error instanceof Refusal ? [error.code, error.at] : error instanceof PdfFault ? error.message : error;
  }
}

const dictionaryOf = (revision: Revision, reference: PdfObject): PdfDictionary => {
  const found = revision.resolved(reference);
  if (!(found instanceof PdfDictionary)) throw new Error('no dictionary');
  return found;
};
const textOf = (revision: Revision, reference: PdfObject): string => {
  const found = revision.resolved(reference);
  if (!(found instanceof PdfStream) || !(found.encoded instanceof Uint8Array)) throw new Error('no stream of its own');
  return Buffer.from(found.encoded).toString('latin1');
};

/** Numbers of the pages on which the image is. */
function imagedPages(count: number, fields: object): number[] {
  const revision = revisionWith({ pages: count }, fields);
  return Array.from(pages(revision.file)).flatMap(({ reference }, index) =>
    isArray(revision.get(dictionaryOf(revision, reference), 'Contents')) ? [index + 1] : [],
  );
}

describe('an image is placed', () => {
  it.each([
    [{}, [1]],
    [{ paging: 'FIRST_PAGE' }, [1]],
    [{ paging: 'LAST_PAGE' }, [6]],
    [{ paging: 'ALL_PAGES' }, [1, 2, 3, 4, 5, 6]],
    [{ pageSelection: '2' }, [2]],
    [{ pageSelection: '1;6' }, [1, 6]],
    [{ paging: 'SPECIFIED_PAGES', pageSelection: '5;1-2;2-3;2' }, [1, 2, 3, 5]],
    [{ pageSelection: '3-3;4-6' }, [3, 4, 5, 6]],
    [{ pageSelection: '1-5;2-3' }, [1, 2, 3, 4, 5]],
    [{ pageSelection: '1-2;1-5;6;2-3' }, [1, 2, 3, 4, 5, 6]],
    [{ pageSelection: '4-5;1;2-4' }, [1, 2, 3, 4, 5]],
    [{ paging: 'FIRST_PAGE', pageSelection: '2' }, [1]],
    [{ paging: 'PERIOD_PAGES', pageStart: 1, pagePeriod: 1 }, [1, 2, 3, 4, 5, 6]],
    [{ paging: 'PERIOD_PAGES', pageStart: 1, pagePeriod: 4 }, [1, 5]],
    [{ paging: 'PERIOD_PAGES', pageStart: 4, pagePeriod: 2 }, [4, 6]],
    [{ paging: 'PERIOD_PAGES', pageStart: 6, pagePeriod: 9 }, [6]],
  ])('with %j on the pages %j', (fields, expected) => {
    expect(imagedPages(6, fields)).toEqual(expected);
  });

  it.each([
    [{ paging: 'SPECIFIED_PAGES' }, ['FIELDS_INCONSISTENT', '/image/pageSelection']],
    [{ pageSelection: '2-1' }, ['FIELD_INVALID', '/image/pageSelection']],
    [{ pageSelection: '0' }, ['FIELDS_INCONSISTENT', '/image/pageSelection']],
    [{ pageSelection: '1;7' }, ['FIELDS_INCONSISTENT', '/image/pageSelection']],
    [{ pageSelection: '5-7' }, ['FIELDS_INCONSISTENT', '/image/pageSelection']],
    [{ paging: 'PERIOD_PAGES', pagePeriod: 1 }, ['FIELDS_INCONSISTENT', '/image/pageStart']],
    [{ paging: 'PERIOD_PAGES', pageStart: 1 }, ['FIELDS_INCONSISTENT', '/image/pagePeriod']],
    [{ paging: 'PERIOD_PAGES', pageStart: 0, pagePeriod: 1 }, ['FIELDS_INCONSISTENT', '/image/pageStart']],
    [{ paging: 'PERIOD_PAGES', pageStart: -1, pagePeriod: 1 }, ['FIELDS_INCONSISTENT', '/image/pageStart']],
    [{ paging: 'PERIOD_PAGES', pageStart: 7, pagePeriod: 1 }, ['FIELDS_INCONSISTENT', '/image/pageStart']],
    [{ x: 600, y: 0 }, ['FIELDS_INCONSISTENT', '/image']],
    [{ formField: 'button' }, ['FIELDS_INCONSISTENT', '/image/formField']],
  ])('not with %j', (fields, expected) => {
    expect(refused({ pages: 6 }, fields)).toEqual(expected);
  });

  it('on 10,000 pages at most', () => {
    expect(refused({ pages: 10_001 }, { paging: 'ALL_PAGES' })).toEqual(['UNSUPPORTED', '/image']);
    expect(refused({ pages: 10_001 }, { pageSelection: '2-10001' })).toBeUndefined();
  });
});

describe('a page with an image', () => {
  const page = (pdf: SmallPdf, fields: object = { x: 15, y: 35 }) => {
    const revision = revisionWith(pdf, fields);
    const dictionary = dictionaryOf(revision, new PdfReference(4, 0));
    const contents = revision.get(dictionary, 'Contents');
    return { revision, dictionary, parts: isArray(contents) ? contents : [] };
  };

  it.each([
    ['', '60 0 0 40 15 35'],
    ['/Rotate 90', '0 60 -40 0 560 15'],
    ['/Rotate 180', '-60 0 0 -40 580 807'],
    ['/Rotate 270', '0 -60 40 0 35 827'],
    ['/UserUnit 2', '30 0 0 20 7.5 17.5'],
    ['/CropBox [10.5 20 500 700]', '60 0 0 40 25.5 55'],
  ])('shows it upright over its content: %s', (more, matrix) => {
    const { revision, parts } = page({ page: more });
    expect([textOf(revision, parts[0] ?? null), objectText(parts[1] ?? null), textOf(revision, parts[2] ?? null)]).toEqual([
      'q ',
      '5 0 R',
      `\nQ q ${matrix} cm /Stamp1 Do Q\n`,
    ]);
  });

  it('has the graphics state restored before, and as much as its content leaves open', () => {
    const { revision, parts } = page({ content: () => 'Q Q q q q' });
    expect([textOf(revision, parts[0] ?? null), textOf(revision, parts[2] ?? null)]).toEqual([
      'q q q ',
      expect.stringMatching(/^\nQ Q Q Q q 60 /),
    ]);
    expect(refused({ content: () => 'q '.repeat(1000) }, {})).toBeUndefined();
    expect(refused({ content: () => 'q '.repeat(1001) }, {})).toContain('leaves more than 1000 graphics states open');
    expect(refused({ content: () => 'Q '.repeat(1001) }, {})).toContain('leaves more than 1000 graphics states open');
  });

  it('keeps its resources, and gives the image a name that is not used', () => {
    const { revision, dictionary, parts } = page({
      page: '/Resources << /XObject << /Stamp1 3 0 R /Stamp2 3 0 R >> /Font << /F1 3 0 R >> >>',
    });
    const resources = dictionaryOf(revision, dictionary.get('Resources'));
    expect(objectText(resources)).toMatch(/\/XObject <<\/Stamp1 3 0 R\/Stamp2 3 0 R\/Stamp3 \d+ 0 R>>/);
    expect(objectText(resources)).toContain('/Font <</F1 3 0 R>>');
    expect(textOf(revision, parts[2] ?? null)).toContain('/Stamp3 Do');
  });

  it('keeps all parts of its content, and may have none', () => {
    const { 3: usual, 7: content, ...others } = usualObjects();
    for (const [contents, parts] of [
      ['/Contents [7 0 R 7 0 R]', 4],
      ['/Contents 20 0 R', 3],
      ['/Contents null', 2],
      ['', 2],
    ] as const) {
      const made = {
        ...others,
        3: typeof usual === 'string' ? usual.replace('/Contents 7 0 R', contents) : '',
        7: content ?? '',
        20: '[7 0 R]',
      };
      const revision = revisionOf(opened(madePdf(made)), { x: 1, y: 1 });
      expect(revision.get(dictionaryOf(revision, new PdfReference(3, 0)), 'Contents')).toHaveLength(parts);
    }
  });

  it('marks it as no content in a tagged file', () => {
    const catalog = '/MarkInfo << /Marked true >> /StructTreeRoot 12 0 R';
    const { revision, parts } = page({ catalog, objects: ['<< /Type /StructTreeRoot >>'] });
    expect(textOf(revision, parts[2] ?? null)).toMatch(/^\nQ \/Artifact BMC q .* Do Q EMC\n$/);
    const untagged = page({ catalog: '/MarkInfo << /Marked false >> /StructTreeRoot 12 0 R', objects: ['<< /Type /StructTreeRoot >>'] });
    expect(textOf(untagged.revision, untagged.parts[2] ?? null)).not.toContain('Artifact');
  });
});

describe('an image in a push button', () => {
  const button = (more: string): SmallPdf => ({
    catalog: '/AcroForm << /Fields [12 0 R] >>',
    page: '/Annots [12 0 R] /Rotate 0',
    objects: [`<< /Type /Annot /Subtype /Widget /P 4 0 R ${more} >>`],
  });
  const push = '/FT /Btn /T (button) /Ff 65536 /Rect [100 100 220 300]';

  it('is its icon, as large as it has room, in the middle', () => {
    const revision = revisionWith(button(push), { formField: 'button' });
    const widget = dictionaryOf(revision, new PdfReference(12, 0));
    const icon = dictionaryOf(revision, widget.get('AP')).get('N');
    expect(textOf(revision, icon)).toBe('q 120 0 0 80 0 60 cm /Im1 Do Q\n');
    expect(objectText(widget.get('MK'))).toBe(`<</I ${objectText(icon)}/TP 1>>`);
    const form = revision.resolved(icon);
    expect(form instanceof PdfStream ? objectText(form.dictionary) : '').toContain('/BBox [0 0 120 200]/Matrix [1 0 0 1 0 0]');
  });

  it('is as high as a wide button, and keeps what else describes it', () => {
    const revision = revisionWith(button('/FT /Btn /T (button) /Ff 65536 /Rect [100 100 400 180] /MK << /BG [1] /TP 0 >>'), {
      formField: 'button',
    });
    const widget = dictionaryOf(revision, new PdfReference(12, 0));
    const icon = dictionaryOf(revision, widget.get('AP')).get('N');
    expect(textOf(revision, icon)).toBe('q 120 0 0 80 90 0 cm /Im1 Do Q\n');
    expect(objectText(widget.get('MK'))).toBe(`<</BG [1]/TP 1/I ${objectText(icon)}>>`);
  });

  it('is turned with its page', () => {
    const pdf = { ...button(push), page: '/Annots [12 0 R] /Rotate 90' };
    const revision = revisionWith(pdf, { formField: 'button' });
    const widget = dictionaryOf(revision, new PdfReference(12, 0));
    const form = revision.resolved(dictionaryOf(revision, widget.get('AP')).get('N'));
    expect(form instanceof PdfStream ? objectText(form.dictionary) : '').toContain('/BBox [0 0 200 120]/Matrix [0 1 -1 0 0 0]');
    expect(dictionaryOf(revision, widget.get('MK')).get('R')).toBe(90);
  });

  it.each([
    ['a check box', '/FT /Btn /T (button) /Ff 0 /Rect [0 0 9 9]'],
    ['a radio button', '/FT /Btn /T (button) /Ff 32768 /Rect [0 0 9 9]'],
    ['a text field', '/FT /Tx /T (button) /Ff 65536 /Rect [0 0 9 9]'],
    ['another name', '/FT /Btn /T (other) /Ff 65536 /Rect [0 0 9 9]'],
  ])('is not there for %s', (_what, more) => {
    expect(refused(button(more), { formField: 'button' })).toEqual(['FIELDS_INCONSISTENT', '/image/formField']);
  });
});
