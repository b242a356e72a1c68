import { isArray, PdfDictionary, PdfName, PdfReference, PdfString, type PdfArray, type PdfObject } from '../../../pdf/objects.ts';
import { pages } from '../../../pdf/pages.ts';
import type { PdfFile } from '../../../pdf/pdf-file.ts';
import { notAllowed, type Comparison, type Place } from './comparison.ts';
import { elementsOf } from './form-changes.ts';
import { checkAppearances } from './permitted-places.ts';
import { below, changedKeys } from './same-objects.ts';

/**
 * Entries of a page that a new widget changes. The order of tabs is set where the file is tagged.
 */
const pageEntries: ReadonlySet<string> = new Set(['Annots', 'Tabs']);

/**
 * Annotations with which a reader comments on a document (ISO 32000-2, 12.5.6, table 171), without
 * those that act.
 */
const comments: ReadonlySet<string> = new Set([
  ...['Text', 'FreeText', 'Line', 'Square', 'Circle', 'Polygon', 'PolyLine', 'Highlight', 'Underline', 'Squiggly'],
  ...['StrikeOut', 'Caret', 'Stamp', 'Ink', 'Popup', 'FileAttachment'],
]);

/**
 * Entries of comments that may change. None of them means anything in another object, Contents
 * excepted.
 */
const commentEntries: ReadonlySet<string> = new Set([
  ...['Contents', 'Rect', 'C', 'AP', 'AS', 'M', 'NM', 'T', 'Popup', 'CA', 'RC', 'CreationDate', 'IRT', 'Subj', 'RT', 'IT', 'QuadPoints'],
  ...['Vertices', 'InkList', 'L', 'LE', 'IC', 'BS', 'BE', 'DA', 'DS', 'Q', 'CL', 'RD', 'Border', 'F', 'State', 'StateModel', 'Open'],
  ...['Name', 'Sy', 'FS'],
]);

/**
 * Compares a changed dictionary that is no field: a page to which an annotation was added, or a
 * comment where comments are allowed. Both are settled.
 * @throws {SignatureBroken} for any other change
 */
export function checkDictionary(comparison: Comparison, number: number, was: PdfDictionary, is: PdfDictionary): void {
  const keys = changedKeys(was, is);
  const place = { holder: number, path: '' };
  if (keys.every((key) => pageEntries.has(key))) {
    if (!isPage(comparison.before, number, was)) throw notAllowed(`${keys.join(', ')} of object ${number}, which is no page`);
    if (keys.includes('Tabs') && (was.has('Tabs') || !(is.get('Tabs') instanceof PdfName))) throw notAllowed('Tabs of a page');
    checkAnnotations(comparison, was.get('Annots'), is.get('Annots'), { holder: number, path: 'Annots' });
  } else if (comparison.rules.level === 3 && isComment(comparison.before, was) && isComment(comparison.after, is)) {
    const other = keys.find((key) => !commentEntries.has(key));
    if (other !== undefined) throw notAllowed(`${other} of an annotation`);
    checkAppearances(comparison, number, was, is);
  } else {
    throw notAllowed(`${keys.slice(0, 5).join(', ')} of ${nameOf(comparison.before, was)} (object ${number})`);
  }
  comparison.keepOthers(was, is, place);
  comparison.settle(number, isComment(comparison.after, is) ? 'ANNOTATION' : 'PAGE');
}

const pageDepthMax = 100;
/** Kids of nodes of page trees, so that many pages of one node take no longer than few. */
const numbersOfKids = new WeakMap<PdfArray, ReadonlySet<number>>();

/**
 * Checks whether an object is a page: its parent has it among its kids, up to the root of the page
 * tree.
 */
function isPage(file: PdfFile, number: number, page: PdfDictionary): boolean {
  // Some producers leave the parent out.
  if (!page.has('Parent')) return Array.from(pages(file)).some(({ reference }) => reference.number === number);
  const root = file.catalog.get('Pages');
  let [kid, dictionary] = [number, page];
  for (let depth = 0; depth < pageDepthMax; depth += 1) {
    const above = dictionary.get('Parent');
    const parent = file.resolved(above);
    const kids = parent instanceof PdfDictionary ? file.get(parent, 'Kids') : null;
    if (!(above instanceof PdfReference) || !(parent instanceof PdfDictionary) || !isArray(kids)) return false;
    if (!numbersIn(kids).has(kid)) return false;
    if (above.equals(root)) return true;
    [kid, dictionary] = [above.number, parent];
  }
  return false;
}

function numbersIn(kids: PdfArray): ReadonlySet<number> {
  const known = numbersOfKids.get(kids);
  if (known !== undefined) return known;
  const numbers = new Set(kids.flatMap((one) => (one instanceof PdfReference ? one.number : [])));
  numbersOfKids.set(kids, numbers);
  return numbers;
}

/**
 * Compares the annotations of a page: widgets of new signatures may be added, and comments on level
 * 3.
 */
export function checkAnnotations(comparison: Comparison, was: PdfObject, is: PdfObject, at: Place): void {
  const entered = comparison.enter(was, is, at);
  if ([entered.was, entered.is].some((one) => one !== null && !isArray(one))) throw notAllowed('annotations of a page that are no array');
  const place = { holder: entered.place.holder, path: below(entered.place.path, '*') };
  const isLevel3 = comparison.rules.level === 3;
  // Comments may go, too, so only the others must be there in their order.
  const fixed = (file: PdfFile, list: PdfObject): PdfObject =>
    isLevel3 && isArray(list) ? list.filter((one) => !isComment(file, file.resolved(one))) : list;
  const { kept, added } = elementsOf(fixed(comparison.before, entered.was), fixed(comparison.after, entered.is));
  if (kept === undefined) throw notAllowed('an annotation of a page is gone, or its annotations have another order');
  for (const one of added) {
    if (!comparison.isNewWidget(one)) throw notAllowed('an annotation was added to a page');
    comparison.allowNew(one, place);
  }
  comparison.keep(kept, entered.place);
  if (isLevel3 && isArray(entered.is)) for (const one of entered.is) checkComment(comparison, one, place);
}

/** A comment is new, or is compared by itself if it changed. */
function checkComment(comparison: Comparison, object: PdfObject, place: Place): void {
  const comment = comparison.after.resolved(object);
  if (!isComment(comparison.after, comment)) return;
  const number = object instanceof PdfReference ? object.number : place.holder;
  const isNew = object instanceof PdfReference && comparison.changes.get(number)?.kind === 'NEW';
  if (isNew) comparison.allowNew(object, place);
  else comparison.keep(object, place);
  if (isNew && comparison.isFirst(comments, `${number}`)) checkAppearances(comparison, number, undefined, comment);
}

function isComment(file: PdfFile, object: PdfObject): object is PdfDictionary {
  if (!(object instanceof PdfDictionary) || object.has('A') || object.has('AA') || object.has('Kids')) return false;
  const subtype = file.get(object, 'Subtype');
  const contents = file.get(object, 'Contents');
  return subtype instanceof PdfName && comments.has(subtype.text) && (contents === null || contents instanceof PdfString);
}

function nameOf(file: PdfFile, dictionary: PdfDictionary): string {
  const type = file.get(dictionary, 'Type');
  return type instanceof PdfName ? `a dictionary of type ${JSON.stringify(type.text.slice(0, 40))}` : 'a dictionary';
}
