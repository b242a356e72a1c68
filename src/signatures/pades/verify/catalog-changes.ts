import { isArray, isName, PdfDictionary, PdfName, PdfReference, PdfStream, type PdfObject } from '../../../pdf/objects.ts';
import { notAllowed, type Comparison, type Place } from './comparison.ts';
import { checkForm } from './form-changes.ts';
import { below, sameObjects } from './same-objects.ts';
import { checkStructure } from './structure-changes.ts';

type Check = (comparison: Comparison, was: PdfObject, is: PdfObject, place: Place) => void;

/** Entries of the catalog that may change. */
const checks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['AcroForm', checkForm],
  ['DSS', checkStore],
  ['Extensions', checkExtensions],
  ['Metadata', checkMetadata],
  ['Perms', checkPermissions],
  ['StructTreeRoot', checkStructure],
  ['Version', checkVersion],
]);

/** Nodes of validation data: arrays and dictionaries in each other. */
const nestedMax = 8;

/**
 * Compares the trailers and the catalogs. What the catalog leads to beyond the entries that may
 * change is the same, or is found by its references.
 * @throws {SignatureBroken}
 */
export function checkCatalog(comparison: Comparison): void {
  const { before, after } = comparison;
  if (!after.catalogReference.equals(before.catalogReference)) throw notAllowed('another catalog');
  const encryption = { holder: 0, path: 'Encrypt' };
  comparison.mustBeSame(before.trailer.get('Encrypt'), after.trailer.get('Encrypt'), encryption, 'the encryption');
  // The properties of the document are metadata.
  comparison.enter(before.trailer.get('Info'), after.trailer.get('Info'), { holder: 0, path: 'Info' });
  comparison.settle(after.catalogReference.number, 'CATALOG');
  const { number } = after.catalogReference;
  for (const key of new Set([...before.catalog.keys(), ...after.catalog.keys()])) {
    const place = { holder: number, path: key };
    const [was, is] = [before.catalog.get(key), after.catalog.get(key)];
    const check = checks.get(key);
    if (check === undefined) comparison.mustBeSame(was, is, place, `${key} of the catalog`);
    else check(comparison, was, is, place);
  }
}

/** Validation data (ISO 32000-2, 12.8.4.3) shows nothing. */
function checkStore(comparison: Comparison, was: PdfObject, is: PdfObject, place: Place): void {
  if (comparison.before.resolved(was) !== null && comparison.after.resolved(is) === null)
    throw notAllowed('the document security store is gone');
  mustBeDictionary(comparison, is, 'the document security store');
  claimBelow(comparison, is, place, { depth: 0, seen: new Set() });
}

/** Extensions by developers (7.12) show nothing. */
function checkExtensions(comparison: Comparison, _was: PdfObject, is: PdfObject, place: Place): void {
  mustBeDictionary(comparison, is, 'Extensions of the catalog');
  claimBelow(comparison, is, place, { depth: 0, seen: new Set() });
}

function mustBeDictionary({ after }: Comparison, object: PdfObject, what: string): void {
  const is = after.resolved(object);
  if (is !== null && !(is instanceof PdfDictionary)) throw notAllowed(`${what} is no dictionary`);
}

/** Metadata (14.3.2): never a picture, or a content. */
function checkMetadata(comparison: Comparison, was: PdfObject, is: PdfObject, place: Place): void {
  const { after, changes } = comparison;
  const hasChanged = !sameObjects(was, is) || (is instanceof PdfReference && changes.has(is.number));
  const { is: now, place: at } = comparison.enter(was, is, place);
  if (!hasChanged || now === null) return;
  const isMetadata =
    now instanceof PdfStream &&
    isName(after.get(now.dictionary, 'Type'), 'Metadata') &&
    isName(after.get(now.dictionary, 'Subtype'), 'XML');
  if (!isMetadata) throw notAllowed('the metadata of the catalog are none');
  comparison.keep(now.dictionary, at);
}

interface Below {
  readonly depth: number;
  /** Objects below which all is claimed. */
  readonly seen: Set<number>;
}

/**
 * Allows all that a value leads to through arrays and dictionaries, up to new streams that changed
 * arrays and dictionaries name. One that did not change could be reached as another thing, such as
 * an array of contents.
 */
function claimBelow(comparison: Comparison, object: PdfObject, at: Place, { depth, seen }: Below): void {
  if (depth > nestedMax) return;
  const { after, changes } = comparison;
  const number = object instanceof PdfReference ? object.number : undefined;
  const isNew = number !== undefined && changes.get(number)?.kind === 'NEW' && changes.has(at.holder);
  if (after.resolved(object) instanceof PdfStream && !isNew) {
    comparison.keep(object, at);
    return;
  }
  const { is, place } = comparison.enter(null, object, at);
  if (number !== undefined && seen.has(number)) return;
  if (number !== undefined) seen.add(number);
  const { holder, path } = place;
  const next = { depth: depth + 1, seen };
  if (isArray(is)) for (const one of is) claimBelow(comparison, one, { holder, path: below(path, '*') }, next);
  else if (is instanceof PdfDictionary)
    for (const [key, value] of is.entries()) claimBelow(comparison, value, { holder, path: below(path, key) }, next);
  else if (is instanceof PdfStream) comparison.keep(is.dictionary, place);
}

/** A certification signature stays one (12.8.6). */
function checkPermissions(comparison: Comparison, was: PdfObject, is: PdfObject, at: Place): void {
  const entered = comparison.enter(was, is, at);
  if (entered.was === null && entered.is === null) return;
  const known = entered.was instanceof PdfDictionary ? entered.was : new PdfDictionary();
  if (!(entered.is instanceof PdfDictionary)) throw notAllowed('the permissions of the catalog are gone');
  for (const key of new Set([...known.keys(), ...entered.is.keys()])) {
    const value = entered.is.get(key);
    // What it names is one of the signatures that are verified.
    const isNewOne = value instanceof PdfReference && comparison.changes.get(value.number)?.kind === 'NEW';
    const isNew = key === 'DocMDP' && !known.has(key) && isNewOne;
    const place = { holder: entered.place.holder, path: below(entered.place.path, key) };
    if (isNew) comparison.enter(null, value, place);
    else comparison.mustBeSame(known.get(key), value, place, `${key} of the permissions`);
  }
}

function checkVersion(_comparison: Comparison, was: PdfObject, is: PdfObject): void {
  if (versionOf(is) < versionOf(was)) throw notAllowed('the file has a lower version');
}

function versionOf(object: PdfObject): number {
  const version = object instanceof PdfName ? Number(object.text) : 0;
  return Number.isFinite(version) ? version : 0;
}
