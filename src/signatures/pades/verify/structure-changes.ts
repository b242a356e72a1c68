import { isArray, isInteger, isName, PdfDictionary, PdfReference, type PdfObject } from '../../../pdf/objects.ts';
import { notAllowed, type Comparison, type Place } from './comparison.ts';
import { elementsOf } from './form-changes.ts';
import { below, changedKeys } from './same-objects.ts';

/** Entries of an element for a new widget. Others, such as ActualText, replace what it says. */
const elementEntries: ReadonlySet<string> = new Set(['Type', 'S', 'P', 'Pg', 'K', 'Alt', 'T', 'Lang', 'ID', 'NS']);
const rootEntries: ReadonlySet<string> = new Set(['K', 'ParentTree', 'ParentTreeNextKey']);

/**
 * Compares the structures of a tagged file (ISO 32000-2, 14.7): elements for new widgets may be
 * added at its top, and to the tree that leads from widgets to elements.
 */
export function checkStructure(comparison: Comparison, was: PdfObject, is: PdfObject, at: Place): void {
  const entered = comparison.enter(was, is, at);
  if (entered.was === null && entered.is === null) return;
  if (!(entered.was instanceof PdfDictionary) || !(entered.is instanceof PdfDictionary)) throw notAllowed('the structure of the file');
  const [old, now] = [entered.was, entered.is];
  const { holder, path } = entered.place;
  for (const key of changedKeys(old, now)) if (!rootEntries.has(key)) throw notAllowed(`${key} of the structure`);
  comparison.keepOthers(old, now, entered.place);
  // Its elements name it as their parent. What changed means nothing but in it.
  if (entered.place.holder !== at.holder) comparison.settle(holder, 'ELEMENT');
  checkNextKey(comparison, old, now);
  checkKids(comparison, old.get('K'), now.get('K'), { holder, path: below(path, 'K') });
  checkParents(comparison, old.get('ParentTree'), now.get('ParentTree'), { holder, path: below(path, 'ParentTree') });
}

function checkNextKey({ before, after }: Comparison, was: PdfDictionary, is: PdfDictionary): void {
  const [old, now] = [before.get(was, 'ParentTreeNextKey'), after.get(is, 'ParentTreeNextKey')];
  if (old === null && now === null) return;
  if ((old !== null && !isInteger(old)) || !isInteger(now) || now < (old ?? 0)) throw notAllowed('ParentTreeNextKey of the structure');
}

/**
 * Compares kids: elements may be added. Those that changed themselves may have been given more
 * kids.
 */
function checkKids(comparison: Comparison, was: PdfObject, is: PdfObject, at: Place): void {
  const entered = comparison.enter(was, is, at);
  const old = isArray(entered.was) ? entered.was : was === null ? [] : [was];
  const now = isArray(entered.is) ? entered.is : is === null ? [] : [is];
  const place = isArray(entered.is) ? { holder: entered.place.holder, path: below(entered.place.path, '*') } : at;
  const { kept, added } = elementsOf(old, now);
  if (kept === undefined) throw notAllowed('elements of the structure');
  for (const one of kept) {
    comparison.keep(one, place);
    checkElement(comparison, one);
  }
  for (const one of added) checkNewElement(comparison, one, place);
}

function checkElement(comparison: Comparison, object: PdfObject): void {
  const change = object instanceof PdfReference ? comparison.changes.get(object.number) : undefined;
  if (!(object instanceof PdfReference) || change?.kind !== 'CHANGED' || comparison.isSettled(object.number)) return;
  const { before: was, after: is } = change;
  if (!(was instanceof PdfDictionary) || !(is instanceof PdfDictionary)) throw notAllowed('an element of the structure');
  const other = changedKeys(was, is).find((key) => key !== 'K');
  if (other !== undefined) throw notAllowed(`${other} of an element of the structure`);
  comparison.settle(object.number, 'ELEMENT');
  comparison.keepOthers(was, is, { holder: object.number, path: '' });
  checkKids(comparison, was.get('K'), is.get('K'), { holder: object.number, path: 'K' });
}

function checkNewElement(comparison: Comparison, object: PdfObject, place: Place): void {
  const { after, changes } = comparison;
  const element = after.resolved(object);
  if (!(object instanceof PdfReference) || changes.get(object.number)?.kind !== 'NEW' || !(element instanceof PdfDictionary))
    throw notAllowed('an element of the structure was added');
  const other = element.keys().find((key) => !elementEntries.has(key));
  if (other !== undefined) throw notAllowed(`an element of the structure with ${other} was added`);
  const kid = after.get(element, 'K');
  const widget = kid instanceof PdfDictionary && isName(after.get(kid, 'Type'), 'OBJR') ? kid.get('Obj') : null;
  if (!comparison.isNewWidget(widget)) throw notAllowed('an element of the structure was added that is not for a new signature');
  comparison.allowNew(object, place);
}

/** The tree of numbers (7.9.7) may have more at its end, in its root. */
function checkParents(comparison: Comparison, was: PdfObject, is: PdfObject, at: Place): void {
  const entered = comparison.enter(was, is, at);
  if (entered.was === null && entered.is === null) return;
  const old = entered.was instanceof PdfDictionary ? entered.was : new PdfDictionary();
  if (!(entered.is instanceof PdfDictionary)) throw notAllowed('the parents of the structure');
  const { holder, path } = entered.place;
  comparison.keepOthers(old, entered.is, entered.place);
  for (const key of changedKeys(old, entered.is)) if (key !== 'Nums' && key !== 'Kids') throw notAllowed('the parents of the structure');
  for (const key of ['Nums', 'Kids'] as const) {
    const list = comparison.enter(old.get(key), entered.is.get(key), { holder, path: below(path, key) });
    const before = isArray(list.was) ? list.was : [];
    const after = isArray(list.is) ? list.is : [];
    const { kept } = elementsOf(before, after.slice(0, before.length));
    if (kept === undefined) throw notAllowed('the parents of the structure');
    comparison.keep(kept, list.place);
    const place = { holder: list.place.holder, path: below(list.place.path, '*') };
    for (const one of after.slice(before.length)) checkNewParent(comparison, one, place);
  }
}

/**
 * What a number leads to is a new node, or an element or a list of them that is new, or an element
 * that was there.
 */
function checkNewParent(comparison: Comparison, object: PdfObject, place: Place): void {
  const is = comparison.after.resolved(object);
  if (is !== null && !isInteger(is) && !isArray(is) && !(is instanceof PdfDictionary)) throw notAllowed('the parents of the structure');
  if (object instanceof PdfReference && comparison.changes.get(object.number)?.kind === 'NEW') comparison.allowNew(object, place);
  else comparison.keep(object, place);
}
