import type { z } from 'zod';
import type { Picture } from '../../image/picture.ts';
import { imbalanceOf } from '../../pdf/content-balance.ts';
import { formFields } from '../../pdf/form-fields.ts';
import { isArray, PdfDictionary, type PdfReference, PdfStream, type PdfObject } from '../../pdf/objects.ts';
import { pages, type Page } from '../../pdf/pages.ts';
import { addPicture } from '../../pdf/picture-object.ts';
import { Drawing } from '../../pdf/drawing.ts';
import type { Revision } from '../../pdf/revision.ts';
import { PdfFault } from '../../pdf/pdf-fault.ts';
import { isTagged } from '../../pdf/structure-tree.ts';
import { Refusal } from '../../result-codes.ts';
import type { PdfContent } from '../request/pdf-fields.ts';
import { areaOn, displayedToPage, type Place } from './appearance/page-place.ts';
import { placeAsked } from './appearance/visible-asked.ts';
import { pictureOf, type DrawingRules } from './drawing-rules.ts';
import { existingFrames, noRoom } from './target-field.ts';

/** Numbers of pages, from 1 on, each range with its ends. */
type PageNumbers =
  | { readonly kind: 'ALL' | 'FIRST' | 'LAST' }
  | { readonly kind: 'RANGES'; readonly ranges: readonly (readonly [first: number, last: number])[] }
  | { readonly kind: 'PERIOD'; readonly start: number; readonly period: number };

/** An image on the pages of a document (interface, PDFContent). */
export interface PageImage {
  readonly image: Uint8Array;
  readonly target:
    | { readonly kind: 'FIELD'; readonly name: string }
    | { readonly kind: 'PAGES'; readonly numbers: PageNumbers; readonly place: Place };
  /** JSON Pointer of the member. */
  readonly at: string;
}

/** Reads PDFContent. @throws {Refusal} FIELD_INVALID, FIELDS_INCONSISTENT */
export function pageImageAsked(fields: z.output<typeof PdfContent>, at: string): PageImage {
  const { image, formField } = fields;
  if (formField !== undefined) return { image, target: { kind: 'FIELD', name: formField }, at };
  return { image, target: { kind: 'PAGES', numbers: numbersAsked(fields, at), place: placeAsked(fields, at, 'FROM_LOWER_LEFT') }, at };
}

function numbersAsked({ paging, pageSelection, pageStart, pagePeriod }: z.output<typeof PdfContent>, at: string): PageNumbers {
  if (paging === 'SPECIFIED_PAGES' || (paging === undefined && pageSelection !== undefined)) {
    if (pageSelection === undefined) throw inconsistent(`${at}/pageSelection`, 'SPECIFIED_PAGES needs pageSelection');
    return { kind: 'RANGES', ranges: rangesOf(pageSelection, at) };
  }
  if (paging === 'PERIOD_PAGES') {
    if (pageStart === undefined) throw inconsistent(`${at}/pageStart`, 'PERIOD_PAGES needs pageStart');
    if (pagePeriod === undefined) throw inconsistent(`${at}/pagePeriod`, 'PERIOD_PAGES needs pagePeriod');
    return { kind: 'PERIOD', start: pageStart, period: pagePeriod };
  }
  return { kind: paging === 'ALL_PAGES' ? 'ALL' : paging === 'LAST_PAGE' ? 'LAST' : 'FIRST' };
}

/** Returns the ranges in the order of their first pages; they may overlap. */
function rangesOf(selection: string, at: string): (readonly [number, number])[] {
  const given = selection.split(';').map((part) => {
    const [first = 0, last = first] = part.split('-').map(Number);
    if (last < first)
      throw new Refusal('FIELD_INVALID', { at: `${at}/pageSelection`, message: `the range ${part.trim()} ends before it begins` });
    return [first, last] as const;
  });
  return given.toSorted(([one], [other]) => one - other);
}

/**
 * Puts the image on the pages.
 * @throws {Refusal} DOCUMENT_INVALID, FIELDS_INCONSISTENT, UNSUPPORTED
 */
export function addPageImage(revision: Revision, { image, target, at }: PageImage, rules: DrawingRules): void {
  const picture = pictureOf(image, rules, `${at}/image`);
  const object = addPicture(revision, picture, rules);
  if (target.kind === 'FIELD') {
    fillButton(revision, target.name, picture, object, rules, at);
    return;
  }
  const { place } = target;
  for (const page of chosenPages(revision, target.numbers, at)) {
    const area = areaOn(page, place, picture);
    if (area === undefined) throw noRoom(page, picture, at);
    const matrix = displayedToPage(page);
    const { x, y, width, height } = area;
    const [a, b, c, d, e, f] = matrix;
    const placed = [a * width, b * width, c * height, d * height, a * x + c * y + e, b * x + d * y + f];
    drawOn(revision, page, object, placed);
  }
}

function chosenPages({ file }: Revision, numbers: PageNumbers, at: string): readonly Page[] {
  if (numbers.kind === 'FIRST' || numbers.kind === 'LAST') {
    const [page] = pages(file, numbers.kind === 'FIRST' ? 'FORWARD' : 'BACKWARD');
    if (page === undefined) throw new PdfFault('the document has no pages');
    return [page];
  }
  const chosen: Page[] = [];
  const rest = numbers.kind === 'RANGES' ? [...numbers.ranges].toReversed() : [];
  let count = 0;
  for (const page of pages(file)) {
    count += 1;
    while ((rest.at(-1)?.[1] ?? count) < count) rest.pop();
    if (numbers.kind === 'RANGES' ? (rest.at(-1)?.[0] ?? count + 1) <= count : isChosen(count, numbers)) chosen.push(page);
  }
  if (chosen.length > pagesMax)
    throw new Refusal('UNSUPPORTED', { at, message: `an image can be placed on ${pagesMax} pages at most, not on ${chosen.length}` });
  const missing = missingPage(count, numbers);
  if (missing !== undefined) throw inconsistent(`${at}/${missing.member}`, `the document has no page ${missing.number}; it has ${count}`);
  return chosen;
}

/** Each page is written anew, which takes memory. */
const pagesMax = 10_000;
/** Graphics states that a content may leave open. */
const imbalanceMax = 1000;

function isChosen(number: number, numbers: Exclude<PageNumbers, { readonly kind: 'RANGES' }>): boolean {
  if (numbers.kind === 'PERIOD') return number >= numbers.start && (number - numbers.start) % numbers.period === 0;
  return true;
}

function missingPage(count: number, numbers: PageNumbers): { readonly member: string; readonly number: number } | undefined {
  if (numbers.kind === 'PERIOD' && (numbers.start < 1 || numbers.start > count)) return { member: 'pageStart', number: numbers.start };
  if (numbers.kind !== 'RANGES') return undefined;
  const number = numbers.ranges.flat().find((one) => one < 1 || one > count);
  return number === undefined ? undefined : { member: 'pageSelection', number };
}

/** Draws an image over the content of a page, whose graphics state is restored before. */
function drawOn(revision: Revision, page: Page, image: PdfReference, matrix: readonly number[]): void {
  const found = revision.resolved(page.reference);
  const dictionary = found instanceof PdfDictionary ? found : page.dictionary;
  const known = revision.get(page.resources, 'XObject');
  const images = known instanceof PdfDictionary ? known : new PdfDictionary();
  const name = unusedName(images);
  const contents = revision.get(dictionary, 'Contents');
  const parts = isArray(contents) ? contents : contents === null ? [] : [dictionary.get('Contents')];
  const { restored, saved } = imbalanceOf(revision.file, page.dictionary.get('Contents'));
  if (Math.max(restored, saved) > imbalanceMax)
    throw new PdfFault(`page object ${page.reference.number} leaves more than ${imbalanceMax} graphics states open`);
  const numbers = matrix.map((one) => String(Number(one.toFixed(4)))).join(' ');
  const drawing = `q ${numbers} cm /${name} Do Q`;
  // In a tagged file, what is no content of the document is marked as such (ISO 32000-2, 14.8.2.2).
  const marked = isTagged(revision.file) ? `/Artifact BMC ${drawing} EMC` : drawing;
  const stream = (text: string): PdfReference => revision.add(new PdfStream(new PdfDictionary(), Buffer.from(text, 'latin1')));
  revision.set(
    page.reference,
    dictionary.with({
      Contents: [stream('q '.repeat(restored + 1)), ...parts, stream(`\n${'Q '.repeat(saved + 1)}${marked}\n`)],
      Resources: page.resources.with({ XObject: images.with({ [name]: image }) }),
    }),
  );
}

function unusedName(images: PdfDictionary): string {
  for (let count = 1; ; count += 1) if (!images.has(`Stamp${count}`)) return `Stamp${count}`;
}

/** Bit 17 of the flags of a button (12.7.5.2.1, table 229): it is a push button. */
const pushButton = 1 << 16;
/** Only the icon of a button is shown (12.5.6.19, table 192, TP). */
const iconOnly = 1;

/** Makes an image the icon of a push button, as large as it has room. */
function fillButton(
  revision: Revision,
  name: string,
  picture: Picture,
  image: PdfReference,
  { colourSpaces }: DrawingRules,
  at: string,
): void {
  const { file } = revision;
  const field = Array.from(formFields(file)).find((one) => one.name === name && one.type === 'Btn' && (one.flags & pushButton) !== 0);
  if (field === undefined) throw inconsistent(`${at}/formField`, 'the document has no push button of this name');
  const frames = existingFrames(file, field.widgets);
  for (const [index, widget] of field.widgets.entries()) {
    const frame = frames[index];
    if (frame === undefined) throw new RangeError('each widget has a frame');
    const { width, height, matrix, page } = frame;
    const drawing = new Drawing(revision);
    const scale = Math.min(width / picture.width, height / picture.height);
    const size = { width: picture.width * scale, height: picture.height * scale };
    drawing.image(image, { x: (width - size.width) / 2, y: (height - size.height) / 2, ...size });
    const icon = revision.add(drawing.form({ BBox: [0, 0, width, height], Matrix: matrix }, colourSpaces));
    const known = file.get(widget.dictionary, 'MK');
    const characteristics = known instanceof PdfDictionary ? known : new PdfDictionary();
    const rotation: PdfObject = page.rotation === 0 ? null : page.rotation;
    revision.set(
      widget.reference,
      widget.dictionary.with({
        AP: PdfDictionary.of({ N: icon }),
        MK: characteristics.with({ I: icon, TP: iconOnly, R: rotation }),
      }),
    );
  }
}

function inconsistent(at: string, message: string): Refusal {
  return new Refusal('FIELDS_INCONSISTENT', { at, message });
}
