import { isName, PdfDictionary, PdfName, PdfReference, PdfStream, type PdfObject } from '../../../pdf/objects.ts';
import { notAllowed, type Comparison, type Place } from './comparison.ts';
import { checkForm } from './form-changes.ts';
import { checkPermitted, type PermittedPlace } from './permitted-places.ts';
import { extensions, information, securityStore, type PlaceType } from './place-types.ts';
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
  const info = { was: before.trailer.get('Info'), is: after.trailer.get('Info'), place: { holder: 0, path: 'Info' } };
  checkTyped(comparison, information, { ...info, what: 'the properties of the document' });
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
  const what = 'the document security store';
  if (comparison.before.resolved(was) !== null && comparison.after.resolved(is) === null) throw notAllowed(`${what} is gone`);
  checkTyped(comparison, securityStore, { was, is, place, what });
}

/** Extensions by developers (7.12) show nothing. */
function checkExtensions(comparison: Comparison, was: PdfObject, is: PdfObject, place: Place): void {
  checkTyped(comparison, extensions, { was, is, place, what: 'Extensions of the catalog' });
}

/** Compares a dictionary that may change. */
function checkTyped(comparison: Comparison, type: PlaceType, permitted: PermittedPlace): void {
  const is = comparison.after.resolved(permitted.is);
  if (is !== null && !(is instanceof PdfDictionary)) throw notAllowed(`${permitted.what} is no dictionary`);
  checkPermitted(comparison, type, permitted);
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
    if (isNew) comparison.allowNew(value, place);
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
