import { isDeepStrictEqual } from 'node:util';
import { formFields, type FormField } from '../../../pdf/form-fields.ts';
import {
  isArray,
  isInteger,
  PdfDictionary,
  PdfName,
  type PdfReference,
  PdfStream,
  PdfString,
  type PdfObject,
} from '../../../pdf/objects.ts';
import { isDocumentTimeStamp, lockOf, locks, type LockedFields } from '../signed-fields.ts';
import { notAllowed, type Comparison } from './comparison.ts';
import { isVisible } from './form-changes.ts';
import { checkAppearances } from './permitted-places.ts';
import { changedKeys, sameObjects } from './same-objects.ts';
import { quotedName } from './signatures-of.ts';

/** Entries that change when a field is filled in (ISO 32000-2, 12.7.4 and 12.5.6.19). */
const filledEntries: ReadonlySet<string> = new Set(['V', 'RV', 'AS', 'AP', 'M']);
/** Those of a choice: the items that are chosen, and the first one that is shown (12.7.5.4). */
const chosenEntries: ReadonlySet<string> = new Set([...filledEntries, 'I', 'TI']);
/**
 * Those of which at least one changes, by the type of the field: the value, the chosen items, the
 * state of a button. An appearance by itself would show another value than the field has.
 */
const valueEntries: ReadonlyMap<string, readonly string[]> = new Map([
  ['Tx', ['V']],
  ['Ch', ['V', 'I']],
  ['Btn', ['V', 'AS']],
]);
const readOnlyFlag = 1;
/** Of a button: it has no value (12.7.5.2.2). */
const pushButtonFlag = 1 << 16;
const signedEntries: ReadonlySet<string> = new Set(['V', 'AP', 'AS', 'M', 'F', 'Lock', 'P']);
/** Bits of an annotation (12.5.3, table 167) that signing may set: Print and Locked. */
const flagsOfSigned = 4 | 128;
const shownEntries: ReadonlySet<string> = new Set(['AP', 'AS', 'F']);
const textStreamKeys: ReadonlySet<string> = new Set(['Length', 'Filter', 'DecodeParms']);

/** Fields of a file by the numbers of their dictionaries and of their widgets. */
export type FieldsByNumber = ReadonlyMap<number, FormField>;

export function fieldsByNumber(comparison: Comparison): FieldsByNumber {
  const found = new Map<number, FormField>();
  for (const field of formFields(comparison.before)) {
    found.set(field.reference.number, field);
    for (const { reference } of field.widgets) found.set(reference.number, field);
  }
  return found;
}

/**
 * Compares a field of which some dictionary or appearance changed, with its widgets: it may be
 * filled in or signed, where the level allows it and it is not locked.
 * @throws {SignatureBroken}
 */
export function checkField(comparison: Comparison, field: FormField): void {
  const { before, after, rules } = comparison;
  const name = quotedName(field.name);
  const [was, is] = [field.dictionary, after.resolved(field.reference)];
  if (!(is instanceof PdfDictionary)) throw notAllowed(`the field ${name} is gone`);
  const parts = [
    { reference: field.reference, was, is },
    ...field.widgets
      .filter(({ reference }) => !reference.equals(field.reference))
      .map(({ reference, dictionary }) => ({ reference, was: dictionary, is: dictionaryAt(comparison, reference, name) })),
  ];
  checkParents(field, name);
  const changed = new Set(parts.flatMap((part) => changedKeys(part.was, part.is)));
  if (rules.locks.some((one) => locks(one, field.name))) throw notAllowed(`the locked field ${name}`);
  const isSigned = field.type === 'Sig';
  if (isSigned) checkSigning(comparison, name, was, is);
  else if (rules.level === 1) throw notAllowed(`the field ${name} was filled in (no changes are allowed)`);
  else checkFilling(field, name, changed);
  const allowed = isSigned ? signedEntries : field.type === 'Ch' ? chosenEntries : filledEntries;
  for (const key of changed) if (!allowed.has(key)) throw notAllowed(`${key} of the field ${name}`);
  for (const part of parts)
    for (const key of changedKeys(part.was, part.is))
      if (!isValueOf(after.get(part.is, key), key, isSigned)) throw notAllowed(`${key} of the field ${name}`);
  for (const part of parts) {
    if (isSigned && !sameFlags(before.resolved(part.was.get('F')), after.resolved(part.is.get('F'))))
      throw notAllowed(`F of the field ${name}`);
    if (isSigned && part.was.has('P') && !sameObjects(part.was.get('P'), part.is.get('P')))
      throw notAllowed(`the page of the field ${name}`);
    const { number } = part.reference;
    if (comparison.changes.has(number)) comparison.settle(number, 'ANNOTATION');
    comparison.keepOthers(part.was, part.is, { holder: number, path: '' });
    if (rules.level !== 1 || !isVisible(after, part.is)) checkAppearances(comparison, number, part.was, part.is);
    else if (changedKeys(part.was, part.is).some((key) => shownEntries.has(key)))
      throw notAllowed(`what the visible field ${name} shows (no changes are allowed)`);
  }
}

function checkFilling({ type, flags }: FormField, name: string, changed: ReadonlySet<string>): void {
  if ((flags & readOnlyFlag) !== 0) throw notAllowed(`the field ${name}, which is read only`);
  if (type === 'Btn' && (flags & pushButtonFlag) !== 0) throw notAllowed(`the push button ${name}`);
  const entries = valueEntries.get(type ?? '') ?? [];
  if (!entries.some((key) => changed.has(key))) throw notAllowed(`the appearance of the field ${name}, whose value is the same`);
  if (changed.has('RV') && !changed.has('V')) throw notAllowed(`RV of the field ${name}, whose value is the same`);
}

/** Readers go up from a widget to its field, and to its name, which locks are about. */
function checkParents(field: FormField, name: string): void {
  const named = (dictionary: PdfDictionary, parent: PdfReference | undefined): boolean =>
    !dictionary.has('Parent') || parent?.equals(dictionary.get('Parent')) === true;
  const areSound =
    named(field.dictionary, field.parent) &&
    field.widgets.every(({ reference, dictionary }) => reference.equals(field.reference) || named(dictionary, field.reference));
  if (!areSound) throw notAllowed(`the field ${name}, which names another field as its parent than the one that has it`);
}

/**
 * Checks the type of an entry that changed: it never is what another object would have behind its
 * key, such as a form.
 */
function isValueOf(object: PdfObject, key: string, isSigned: boolean): boolean {
  if (object === null || (isSigned && key !== 'AP')) return true;
  if (key === 'AP') return object instanceof PdfDictionary;
  if (isArray(object)) return object.every((one) => one instanceof PdfString || typeof one === 'number');
  // Long texts can be streams (12.7.5.3).
  if (object instanceof PdfStream) return (key === 'V' || key === 'RV') && object.dictionary.keys().every((one) => textStreamKeys.has(one));
  return object instanceof PdfString || object instanceof PdfName || typeof object === 'number';
}

function dictionaryAt({ after }: Comparison, reference: PdfReference, name: string): PdfDictionary {
  const dictionary = after.resolved(reference);
  if (dictionary instanceof PdfDictionary) return dictionary;
  throw notAllowed(`a widget of the field ${name} is gone`);
}

function checkSigning({ before, after, rules }: Comparison, name: string, was: PdfDictionary, is: PdfDictionary): void {
  if (before.get(was, 'V') !== null) throw notAllowed(`the field ${name}, which was signed already`);
  const signature = after.get(is, 'V');
  if (!(signature instanceof PdfDictionary)) throw notAllowed(`the field ${name}, which is not signed`);
  if (rules.level === 1 && !isDocumentTimeStamp(after, signature)) throw notAllowed(`the signature ${name} (no changes are allowed)`);
  const [asked, kept] = [lockOf(before, was.get('Lock')), lockOf(after, is.get('Lock'))];
  const isNone = kept === undefined && is.has('Lock') && !sameObjects(was.get('Lock'), is.get('Lock'));
  if (isNone || (asked !== undefined && !isAsStrict(kept, asked))) throw notAllowed(`Lock of the field ${name}`);
}

/** The signer may lock more than the field asks for. */
function isAsStrict(lock: LockedFields | undefined, asked: LockedFields): boolean {
  if (lock === undefined || (lock.permission ?? 3) > (asked.permission ?? 3)) return false;
  return lock.action === 'All' || (lock.action === asked.action && isDeepStrictEqual(lock.fields, asked.fields));
}

function sameFlags(was: PdfObject, is: PdfObject): boolean {
  const [old, now] = [was ?? 0, is ?? 0];
  return isInteger(old) && isInteger(now) && (old & ~flagsOfSigned) === (now & ~flagsOfSigned) && (old & now) === old;
}

/** Returns the fields that changed: themselves, their widgets, or an appearance of theirs. */
export function changedFields(comparison: Comparison, fields: FieldsByNumber): ReadonlySet<FormField> {
  return new Set(Array.from(comparison.changes.keys()).flatMap((number) => fields.get(number) ?? []));
}
