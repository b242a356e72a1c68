import { isDeepStrictEqual } from 'node:util';
import { formFields, type FormField } from '../../../pdf/form-fields.ts';
import { isInteger, PdfDictionary, type PdfReference, type PdfObject } from '../../../pdf/objects.ts';
import { isDocumentTimeStamp, lockOf, locks, type LockedFields } from '../signed-fields.ts';
import { notAllowed, type Comparison, type Place } from './comparison.ts';
import { below, changedKeys, sameObjects } from './same-objects.ts';
import { quotedName } from './signatures-of.ts';

/** Entries that change when a field is filled in (ISO 32000-2, 12.7.4 and 12.5.6.19). */
const filledEntries: ReadonlySet<string> = new Set(['V', 'RV', 'I', 'TI', 'AS', 'AP', 'M']);
/** Those of which at least one changes. An appearance by itself would show another value than the field has. */
const valueEntries = ['V', 'RV', 'I', 'AS'];
const signedEntries: ReadonlySet<string> = new Set(['V', 'AP', 'AS', 'M', 'F', 'Lock', 'P']);
/** Bits of an annotation (12.5.3, table 167) that signing may set: Print and Locked. */
const flagsOfSigned = 4 | 128;
const appearanceDepthMax = 4;

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
 * Compares a field of which some dictionary or appearance changed, with its widgets: it may be filled
 * in or signed, where the level allows it and it is not locked.
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
  const changed = new Set(parts.flatMap((part) => changedKeys(part.was, part.is)));
  if (rules.locks.some((one) => locks(one, field.name))) throw notAllowed(`the locked field ${name}`);
  const isSigned = field.type === 'Sig';
  if (isSigned) checkSigning(comparison, name, was, is);
  else if (rules.level === 1) throw notAllowed(`the field ${name} was filled in (no changes are allowed)`);
  else if (!valueEntries.some((key) => changed.has(key))) throw notAllowed(`the appearance of the field ${name}, whose value is the same`);
  const allowed = isSigned ? signedEntries : filledEntries;
  for (const key of changed) if (!allowed.has(key)) throw notAllowed(`${key} of the field ${name}`);
  for (const part of parts) {
    if (isSigned && !sameFlags(before.resolved(part.was.get('F')), after.resolved(part.is.get('F'))))
      throw notAllowed(`F of the field ${name}`);
    if (isSigned && part.was.has('P') && !sameObjects(part.was.get('P'), part.is.get('P')))
      throw notAllowed(`the page of the field ${name}`);
    const { number } = part.reference;
    if (comparison.changes.has(number)) comparison.settle(number);
    comparison.keepOthers(part.was, part.is, { holder: number, path: '' });
    claimAppearance(comparison, part.is.get('AP'), { holder: number, path: 'AP' }, 0);
  }
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
  if (asked !== undefined && !isAsStrict(kept, asked)) throw notAllowed(`Lock of the field ${name}`);
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

/** Allows appearances that were written again under their numbers. What they lead to is not allowed by that. */
export function claimAppearance(comparison: Comparison, object: PdfObject, at: Place, depth: number): void {
  const { is, place } = comparison.enter(null, object, at);
  if (!(is instanceof PdfDictionary) || depth === appearanceDepthMax) return;
  for (const [key, value] of is.entries())
    claimAppearance(comparison, value, { holder: place.holder, path: below(place.path, key) }, depth + 1);
}

/** Returns the fields that changed: themselves, their widgets, or an appearance of theirs. */
export function changedFields(comparison: Comparison, fields: FieldsByNumber): ReadonlySet<FormField> {
  return new Set(Array.from(comparison.changes.keys()).flatMap((number) => fields.get(number) ?? []));
}
