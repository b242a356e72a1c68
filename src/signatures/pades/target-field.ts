import { areaOn, displayedSize, pageRectangle, uprightMatrix } from './appearance/page-place.ts';
import type { Area } from '../../pdf/drawing.ts';
import { isArray, PdfReference } from '../../pdf/objects.ts';
import { pages, rectangleOf, type Page } from '../../pdf/pages.ts';
import { PdfFault } from '../../pdf/pdf-fault.ts';
import type { PdfFile } from '../../pdf/pdf-file.ts';
import { Refusal } from '../../result-codes.ts';
import type { PageChoice, VisibleSignature } from './appearance/visible-signature.ts';
import type { SignatureField } from './signed-fields.ts';

/** Where an appearance is shown. */
export interface Frame {
  readonly page: Page;
  /** Rect of the widget, in the coordinates of the page. */
  readonly rectangle: readonly [number, number, number, number];
  /** Of the appearance as it is displayed, in 1/72 inch; zero for an invisible one. */
  readonly width: number;
  readonly height: number;
  /** Turns it so that it is upright. */
  readonly matrix: readonly number[];
}

/** Of a field without a size of its own and without an image. */
const usualSize = { width: 200, height: 80 };

export function invisibleFrame(page: Page): Frame {
  return { page, rectangle: [0, 0, 0, 0], width: 0, height: 0, matrix: uprightMatrix(page) };
}

/**
 * Returns the frame of a new field. `image`: its size in pixels. `at`: JSON Pointer of the options.
 * @throws {Refusal} FIELDS_INCONSISTENT for a page that is not there, or without room for it
 */
export function newFrame(
  file: PdfFile,
  { page: choice, place, width, height }: VisibleSignature,
  image: { readonly width: number; readonly height: number } | undefined,
  at: string,
): Frame {
  const page = pageAt(file, choice);
  if (page === undefined)
    throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/pageSelection`, message: `the document has no page ${choice.number}` });
  const size = sizeOf(width, height, image ?? usualSize);
  const area = areaOn(page, place, size);
  if (area === undefined) throw noRoom(page, size, at);
  return { page, rectangle: pageRectangle(page, area), ...size, matrix: uprightMatrix(page) };
}

/** A side that is absent follows the other one, in the proportions of the image. */
function sizeOf(
  width: number | undefined,
  height: number | undefined,
  usual: { readonly width: number; readonly height: number },
): Pick<Area, 'width' | 'height'> {
  if (width !== undefined) return { width, height: height ?? (width * usual.height) / usual.width };
  return height === undefined ? usual : { width: (height * usual.width) / usual.height, height };
}

export function noRoom(page: Page, { width, height }: Pick<Area, 'width' | 'height'>, at: string): Refusal {
  const shown = displayedSize(page);
  const words = (size: number): string => String(Math.round(size * 10) / 10);
  return new Refusal('FIELDS_INCONSISTENT', {
    at,
    message: `${words(width)} × ${words(height)} pixels have no room there on a page of ${words(shown.width)} × ${words(shown.height)}`,
  });
}

function pageAt(file: PdfFile, { from, number }: PageChoice): Page | undefined {
  let count = 0;
  for (const page of pages(file, from === 'START' ? 'FORWARD' : 'BACKWARD')) {
    count += 1;
    if (count === number) return page;
    if (number < 1) return undefined;
  }
  return undefined;
}

/** Returns the first page. @throws {PdfFault} if there is none */
export function firstPage(file: PdfFile): Page {
  const [page] = pages(file);
  if (page === undefined) throw new PdfFault('the document has no pages');
  return page;
}

/** Widgets of one field; usually there is one. */
const widgetsMax = 100;

type Widget = SignatureField['widgets'][number];

/**
 * Returns the frames of the widgets of a field, in their order.
 * @throws {PdfFault} for more than 100
 * @throws {NotQuick} for more than one
 */
export function existingFrames(file: PdfFile, widgets: readonly Widget[]): readonly Frame[] {
  if (widgets.length > widgetsMax) throw new PdfFault(`a field has ${widgets.length} widgets; at most ${widgetsMax} are supported`);
  if (widgets.length > 1) file.bytes.work.long();
  const found = pagesOfWidgets(file, widgets);
  return widgets.map((widget) => frameOf(file, widget, found.get(widget.reference.number) ?? firstPage(file)));
}

function frameOf(file: PdfFile, widget: Widget, page: Page): Frame {
  const rectangle = rectangleOf(file, widget.dictionary.get('Rect'));
  if (rectangle === undefined) return invisibleFrame(page);
  const { left, bottom, right, top } = rectangle;
  const [across, up] = [(right - left) * page.userUnit, (top - bottom) * page.userUnit];
  const [width, height] = page.rotation % 180 === 0 ? [across, up] : [up, across];
  return { page, rectangle: [left, bottom, right, top], width, height, matrix: uprightMatrix(page) };
}

/** Returns the page of a widget. */
export function pageOfWidget(file: PdfFile, widget: Widget): Page {
  return pagesOfWidgets(file, [widget]).get(widget.reference.number) ?? firstPage(file);
}

/**
 * Returns the pages of widgets by their numbers: those that they name, else those that have them
 * among their annotations.
 */
function pagesOfWidgets(file: PdfFile, widgets: readonly Widget[]): ReadonlyMap<number, Page> {
  const found = new Map<number, Page>();
  const sought = new Map(widgets.map(({ reference, dictionary }) => [reference.number, dictionary.get('P')]));
  for (const page of pages(file)) {
    for (const [number, named] of sought) if (page.reference.equals(named)) found.set(number, page);
    const annotations = file.get(page.dictionary, 'Annots');
    for (const one of isArray(annotations) ? annotations : [])
      if (one instanceof PdfReference && sought.has(one.number) && !found.has(one.number)) found.set(one.number, page);
    if (found.size === sought.size) break;
  }
  return found;
}
