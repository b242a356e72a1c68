import { formFields } from '../../../pdf/form-fields.ts';
import { isArray, isInteger, isName, PdfDictionary, PdfReference, type PdfObject } from '../../../pdf/objects.ts';
import { rectangleOf } from '../../../pdf/pages.ts';
import type { PdfFile } from '../../../pdf/pdf-file.ts';
import { isDocumentTimeStamp, type SignatureField } from '../signed-fields.ts';
import { notAllowed, type Comparison, type Place } from './comparison.ts';
import { checkAppearances } from './permitted-places.ts';
import { below, sameObjects } from './same-objects.ts';
import { quotedName } from './signatures-of.ts';

/** There are signatures, and the file may only be appended to (ISO 32000-2, 12.7.3, table 225). */
const signatureFlags = 1 | 2;
/** Entries that a form may have which is new, beside its fields. */
const entriesOfNewForm: ReadonlySet<string> = new Set(['DA', 'DR']);
/**
 * Entries that a new signature field and its widgets may have (12.5.2, 12.5.6.19, 12.7.4 and
 * 12.7.5.5): none that acts.
 */
const entriesOfNewField: ReadonlySet<string> = new Set([
  ...['Type', 'Subtype', 'Rect', 'Contents', 'P', 'NM', 'M', 'F', 'AP', 'AS', 'Border', 'C', 'StructParent', 'H', 'MK', 'BS', 'CA', 'Lang'],
  ...['FT', 'Parent', 'Kids', 'T', 'TU', 'TM', 'Ff', 'V', 'DA', 'Q', 'Lock', 'SV'],
]);

/** Compares the interactive forms: only signature fields with their signatures may be added. */
export function checkForm(comparison: Comparison, was: PdfObject, is: PdfObject, at: Place): void {
  const entered = comparison.enter(was, is, at);
  if (entered.was === null && entered.is === null) return;
  if (!(entered.is instanceof PdfDictionary)) throw notAllowed('the interactive form is gone');
  const known = entered.was instanceof PdfDictionary ? entered.was : undefined;
  for (const key of new Set([...(known?.keys() ?? []), ...entered.is.keys()])) {
    const [old, now] = [known?.get(key) ?? null, entered.is.get(key)];
    const place = { holder: entered.place.holder, path: below(entered.place.path, key) };
    if (key === 'Fields') checkFields(comparison, old, now, place);
    else if (key === 'SigFlags') checkFlags(comparison, old, now);
    // False is what it is without the entry (12.7.3, table 224).
    else if (key === 'NeedAppearances' && [old, now].every((one) => one === null || one === false)) continue;
    else if (known !== undefined || !entriesOfNewForm.has(key)) comparison.mustBeSame(old, now, place, `${key} of the interactive form`);
  }
}

function checkFlags({ before, after }: Comparison, was: PdfObject, is: PdfObject): void {
  const [old, now] = [before.resolved(was) ?? 0, after.resolved(is) ?? 0];
  if (!isInteger(old) || !isInteger(now) || (now & ~signatureFlags) !== (old & ~signatureFlags) || (now & old) !== old)
    throw notAllowed('the flags of the interactive form');
}

function checkFields(comparison: Comparison, was: PdfObject, is: PdfObject, at: Place): void {
  const entered = comparison.enter(was, is, at);
  const place = { holder: entered.place.holder, path: below(entered.place.path, '*') };
  const { kept, added } = elementsOf(entered.was, entered.is);
  if (kept === undefined) throw notAllowed('a form field was removed');
  comparison.keep(kept, entered.place);
  const names = added.length === 0 ? new Set<string>() : new Set(Array.from(formFields(comparison.before), ({ name }) => name));
  for (const one of added) {
    const field = one instanceof PdfReference ? comparison.newFields.find(({ reference }) => reference.equals(one)) : undefined;
    if (field === undefined) throw notAllowed('a form field was added that is no signature field');
    if (names.has(field.name)) throw notAllowed(`a second field ${quotedName(field.name)}`);
    checkNewField(comparison, field);
    comparison.allowNew(one, place);
  }
}

/**
 * Returns the elements that an array still has, and those that it has beside them. `kept` is
 * undefined if one is missing, or they are in another order.
 */
export function elementsOf(
  was: PdfObject,
  is: PdfObject,
): { readonly kept: readonly PdfObject[] | undefined; readonly added: readonly PdfObject[] } {
  const [old, now] = [isArray(was) ? was : [], isArray(is) ? is : []];
  const added: PdfObject[] = [];
  let at = 0;
  for (const one of now) {
    const next = old[at];
    if (next !== undefined && sameObjects(next, one)) at += 1;
    else added.push(one);
  }
  return { kept: at === old.length ? old : undefined, added };
}

/**
 * A field that was prepared before, or that can do or show more than a signature, is not accepted.
 * A field without a signature could show anything and nobody would answer for it (sneaky signature
 * attack, Mladenov et al. 2021).
 */
function checkNewField(comparison: Comparison, field: SignatureField): void {
  const { after, changes, rules } = comparison;
  const name = quotedName(field.name);
  if (field.signature === undefined) throw notAllowed(`a new field ${name} without a signature`);
  const isTimeStamp = isDocumentTimeStamp(after, field.signature);
  if (rules.level === 1 && !isTimeStamp) throw notAllowed(`the signature ${name} (no changes are allowed)`);
  const parts = [field, ...field.widgets];
  for (const { reference, dictionary } of parts) {
    if (changes.get(reference.number)?.kind !== 'NEW') throw notAllowed(`the field ${name} is made of an object that was there before`);
    const other = dictionary.keys().find((key) => !entriesOfNewField.has(key));
    if (other !== undefined) throw notAllowed(`${other} of the new field ${name}`);
  }
  for (const { reference, dictionary } of field.widgets) {
    if (!isName(after.get(dictionary, 'Subtype'), 'Widget')) throw notAllowed(`the new field ${name} has an annotation that is no widget`);
    if (rules.level === 1 && isVisible(after, dictionary)) throw notAllowed(`a visible field ${name} (no changes are allowed)`);
    if (!reference.equals(field.reference) && dictionary.has('Parent') && !field.reference.equals(dictionary.get('Parent')))
      throw notAllowed(`a widget of the new field ${name} is in another field`);
    checkAppearances(comparison, reference.number, undefined, dictionary);
  }
  const kids = field.dictionary.has('Kids') ? after.get(field.dictionary, 'Kids') : [];
  if (!isArray(kids) || !kids.every((kid) => after.resolved(kid) instanceof PdfDictionary))
    throw notAllowed(`Kids of the new field ${name}`);
  if (field.dictionary.has('Parent')) throw notAllowed(`the new field ${name} is in another field`);
}

/** Checks whether a widget may show something: unless its rectangle is one without an area. */
export function isVisible(file: PdfFile, widget: PdfDictionary): boolean {
  const rectangle = rectangleOf(file, widget.get('Rect'));
  return rectangle === undefined || (rectangle.left < rectangle.right && rectangle.bottom < rectangle.top);
}
