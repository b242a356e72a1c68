import { isArray, PdfDictionary, PdfName, PdfReference, PdfString, type PdfObject } from '../../../pdf/objects.ts';
import type { PdfFile } from '../../../pdf/pdf-file.ts';
import { notAllowed, type Comparison, type Place } from './comparison.ts';
import { claimAppearance } from './field-changes.ts';
import { elementsOf } from './form-changes.ts';
import { below, changedKeys } from './same-objects.ts';

/** Entries of a page that a new widget changes. The order of tabs is set where the file is tagged. */
const pageEntries: ReadonlySet<string> = new Set(['Annots', 'Tabs']);

/** Annotations with which a reader comments on a document (ISO 32000-2, 12.5.6, table 171), without those that act. */
const comments: ReadonlySet<string> = new Set([
  ...['Text', 'FreeText', 'Line', 'Square', 'Circle', 'Polygon', 'PolyLine', 'Highlight', 'Underline', 'Squiggly'],
  ...['StrikeOut', 'Caret', 'Stamp', 'Ink', 'Popup', 'FileAttachment'],
]);

/** Entries of comments that may change. None of them means anything in another object, Contents excepted. */
const commentEntries: ReadonlySet<string> = new Set([
  ...['Contents', 'Rect', 'C', 'AP', 'AS', 'M', 'NM', 'T', 'Popup', 'CA', 'RC', 'CreationDate', 'IRT', 'Subj', 'RT', 'IT', 'QuadPoints'],
  ...['Vertices', 'InkList', 'L', 'LE', 'IC', 'BS', 'BE', 'DA', 'DS', 'Q', 'CL', 'RD', 'Border', 'F', 'State', 'StateModel', 'Open'],
  ...['Name', 'Sy', 'FS'],
]);

/**
 * Compares a changed dictionary that is no field: a page to which an annotation was added, or a
 * comment where comments are allowed. Both are settled, whatever leads to them: Annots and Tabs mean
 * nothing but in a page, and a comment has no entry that another object would have.
 * @throws {SignatureBroken} for any other change
 */
export function checkDictionary(comparison: Comparison, number: number, was: PdfDictionary, is: PdfDictionary): void {
  const keys = changedKeys(was, is);
  const place = { holder: number, path: '' };
  if (keys.every((key) => pageEntries.has(key))) {
    if (was.has('Tabs') && keys.includes('Tabs')) throw notAllowed('Tabs of a page');
    checkAnnotations(comparison, was.get('Annots'), is.get('Annots'), { holder: number, path: 'Annots' });
  } else if (comparison.rules.level === 3 && isComment(comparison.before, was) && isComment(comparison.after, is)) {
    const other = keys.find((key) => !commentEntries.has(key));
    if (other !== undefined) throw notAllowed(`${other} of an annotation`);
    claimAppearance(comparison, is.get('AP'), { holder: number, path: 'AP' }, 0);
  } else {
    throw notAllowed(`${keys.slice(0, 5).join(', ')} of ${nameOf(comparison.before, was)} (object ${number})`);
  }
  comparison.keepOthers(was, is, place);
  comparison.settle(number);
}

/** Compares the annotations of a page: widgets of new signatures may be added, and comments on level 3. */
export function checkAnnotations(comparison: Comparison, was: PdfObject, is: PdfObject, at: Place): void {
  const entered = comparison.enter(was, is, at);
  const place = { holder: entered.place.holder, path: below(entered.place.path, '*') };
  const isLevel3 = comparison.rules.level === 3;
  // Comments may go, too, so only the others must be there in their order.
  const fixed = (file: PdfFile, list: PdfObject): PdfObject =>
    isLevel3 && isArray(list) ? list.filter((one) => !isComment(file, file.resolved(one))) : list;
  const { kept, added } = elementsOf(fixed(comparison.before, entered.was), fixed(comparison.after, entered.is));
  if (kept === undefined) throw notAllowed('an annotation of a page is gone, or its annotations have another order');
  for (const one of added) {
    if (!isNewWidget(comparison, one)) throw notAllowed('an annotation was added to a page');
    comparison.enter(null, one, place);
  }
  comparison.keep(kept, entered.place);
  if (!isLevel3 || !isArray(entered.is)) return;
  for (const one of entered.is) {
    const comment = comparison.after.resolved(one);
    if (isComment(comparison.after, comment)) comparison.enter(null, one, place);
  }
}

function isNewWidget({ newFields }: Comparison, object: PdfObject): boolean {
  return object instanceof PdfReference && newFields.some(({ widgets }) => widgets.some(({ reference }) => reference.equals(object)));
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
