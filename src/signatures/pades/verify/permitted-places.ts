import { isArray, isName, PdfDictionary, PdfName, PdfReference, PdfStream, PdfString, type PdfObject } from '../../../pdf/objects.ts';
import type { PdfFile } from '../../../pdf/pdf-file.ts';
import { notAllowed, type Comparison, type Place } from './comparison.ts';
import { below, sameObjects } from './same-objects.ts';

/** The type of what may stand at a place of a later revision. */
export type PlaceType =
  /** A name, a string, a number or a boolean. */
  | { readonly kind: 'VALUE' }
  /** Values in arrays and dictionaries, to any depth, but no stream. */
  | { readonly kind: 'PLAIN' }
  /** A stream. `isForm`: one that readers draw, which may be written again under its number. */
  | { readonly kind: 'STREAM'; readonly isForm: boolean }
  | { readonly kind: 'ARRAY'; readonly of: PlaceType }
  | DictionaryType
  /** What a form draws with, of any type. */
  | { readonly kind: 'RESOURCE' }
  | { readonly kind: 'ONE_OF'; readonly types: readonly PlaceType[] };

interface DictionaryType {
  readonly kind: 'DICTIONARY';
  /** By their keys. */
  readonly entries: ReadonlyMap<string, PlaceType>;
  /** Entries with other keys; absent: there are none. */
  readonly others?: { readonly keys: RegExp; readonly type: PlaceType };
  /**
   * No other dictionary has these keys. So what changed behind them may be reached through one that
   * did not change.
   */
  readonly hasOwnKeys?: boolean;
}

const value = { kind: 'VALUE' } as const satisfies PlaceType;
const plain = { kind: 'PLAIN' } as const satisfies PlaceType;
const form = { kind: 'STREAM', isForm: true } as const satisfies PlaceType;
const data = { kind: 'STREAM', isForm: false } as const satisfies PlaceType;
const dataList = { kind: 'ARRAY', of: data } as const satisfies PlaceType;

function dictionary(entries: Readonly<Record<string, PlaceType>>, more: Omit<DictionaryType, 'kind' | 'entries'> = {}): DictionaryType {
  return { kind: 'DICTIONARY', entries: new Map(Object.entries(entries)), ...more };
}

const anyKey = /^/;
/** Base-16 of a SHA-1 digest, by which VRI names a signature. */
const digestKey = /^[0-9A-Fa-f]{40}$/;

/** Validation data of one signature (ISO 32000-2, 12.8.4.3, table 262). */
const ofSignature = dictionary({ Type: value, Cert: dataList, CRL: dataList, OCSP: dataList, TU: value, TS: data }, { hasOwnKeys: true });
/** The document security store (table 261): certificates, CRLs and OCSP responses. */
export const securityStore: PlaceType = dictionary(
  {
    ...{ Type: value, Certs: dataList, CRLs: dataList, OCSPs: dataList },
    VRI: dictionary({ Type: value }, { others: { keys: digestKey, type: ofSignature }, hasOwnKeys: true }),
  },
  { hasOwnKeys: true },
);

/** An extension by a developer (7.12.3, table 49). */
const extension = dictionary({}, { others: { keys: anyKey, type: value } });
/** Extensions by developers (7.12.2, table 48), in PDF 2.0 several of each. */
export const extensions: PlaceType = dictionary(
  { Type: value },
  { others: { keys: anyKey, type: { kind: 'ONE_OF', types: [extension, { kind: 'ARRAY', of: extension }] } } },
);

/** Properties of the document (14.3.3). Some producers have lists among them. */
export const information: PlaceType = dictionary({}, { others: { keys: anyKey, type: plain } });

const resource = { kind: 'RESOURCE' } as const satisfies PlaceType;
/** Resources of a form (7.8.3, table 34): dictionaries of names, and lists of procedures. */
const resources = dictionary(
  {},
  { others: { keys: anyKey, type: { kind: 'ONE_OF', types: [dictionary({}, { others: { keys: anyKey, type: resource } }), plain] } } },
);

/** A form, or one for each state of a button. */
const oneAppearance: PlaceType = {
  kind: 'ONE_OF',
  types: [form, dictionary({}, { others: { keys: anyKey, type: form } })],
};
/** The appearances of an annotation (12.5.5, table 170). */
export const appearances: PlaceType = dictionary({ N: oneAppearance, R: oneAppearance, D: oneAppearance });

/** Where a value stands in both states, and the name of the place for messages. */
export interface PermittedPlace {
  readonly was: PdfObject;
  readonly is: PdfObject;
  readonly place: Place;
  readonly what: string;
}

/**
 * Compares a place that may change, by its type, down to all that it leads to: that is new, or did
 * not change, or is an object that was at this place before and is of its type in both states.
 * Nothing that changed is allowed because such a place names it.
 * @throws {SignatureBroken} for an object of another type, and for one that changed and was
 *   something else
 */
export function checkPermitted(comparison: Comparison, type: PlaceType, permitted: PermittedPlace): void {
  const { before, after, changes } = comparison;
  const { was, is, place, what } = permitted;
  const now = after.resolved(is);
  if (now === null) return;
  const isSame = sameObjects(was, is);
  const change = is instanceof PdfReference ? changes.get(is.number) : undefined;
  const own = chosen(after, type, now);
  if (own === undefined) {
    // What was there before may be of a type that this service does not know.
    if (!isSame || change !== undefined) throw notAllowed(`${what} has something of another type (${shown(place)})`);
    comparison.keep(is, place);
    return;
  }
  if (!(is instanceof PdfReference)) {
    checkParts(comparison, own, { ...permitted, was: before.resolved(was), is: now });
    return;
  }
  const parts = { was: before.resolved(was), is: now, place: { holder: is.number, path: '' }, what };
  switch (change?.kind) {
    case undefined:
      if (!isSame && !hasOnlyKeysOf(own, now)) throw notAllowed(`${what} has something of another type (${shown(place)})`);
      if (isSame && own.kind === 'DICTIONARY' && own.hasOwnKeys === true) checkParts(comparison, own, parts);
      return;
    case 'NEW':
      // One to which something referred already did not exist, and could be reached from elsewhere.
      if (isSame && own.kind === 'STREAM') {
        comparison.keep(is, place);
        return;
      }
      comparison.allowNew(is, place);
      break;
    default: {
      const old = chosen(before, own, parts.was);
      if (!isSame || old === undefined || !mayChange(own, now))
        throw notAllowed(`object ${is.number}, which was there before and to which ${what} leads (${shown(place)})`);
      if (own.kind === 'RESOURCE' && comparison.isCompared(is.number)) return;
      comparison.enter(was, is, place);
    }
  }
  checkParts(comparison, own, parts);
}

function checkParts(comparison: Comparison, type: PlaceType, { was, is, place, what }: PermittedPlace): void {
  const { holder, path } = place;
  if (type.kind === 'ARRAY' && isArray(is)) {
    const known = new Set(isArray(was) ? was.flatMap((one) => (one instanceof PdfReference ? one.toString() : [])) : []);
    for (const one of is) {
      const isKnown = one instanceof PdfReference && known.has(one.toString());
      checkPermitted(comparison, type.of, { was: isKnown ? one : null, is: one, place: { holder, path: below(path, '*') }, what });
    }
  } else if (type.kind === 'DICTIONARY' && is instanceof PdfDictionary) {
    const old = was instanceof PdfDictionary ? was : new PdfDictionary();
    for (const [key, one] of is.entries()) {
      const at = { was: old.get(key), is: one, place: { holder, path: below(path, key) }, what };
      const typeOfEntry = type.entries.get(key) ?? (type.others?.keys.test(key) === true ? type.others.type : undefined);
      if (typeOfEntry !== undefined) checkPermitted(comparison, typeOfEntry, at);
      else comparison.mustBeSame(at.was, one, at.place, `${key} of ${what}`);
    }
  } else if (type.kind === 'STREAM' && is instanceof PdfStream) {
    if (!type.isForm) {
      comparison.keep(is.dictionary, place);
      return;
    }
    const old = was instanceof PdfStream ? was.dictionary : new PdfDictionary();
    const at = { holder, path: below(path, 'Resources') };
    checkPermitted(comparison, resources, { was: old.get('Resources'), is: is.dictionary.get('Resources'), place: at, what });
  } else if (type.kind === 'RESOURCE') {
    checkResource(comparison, { was, is, place, what });
  }
}

/** What a resource that changed leads to was there before where it changed, too. */
function checkResource(comparison: Comparison, { was, is, place: { holder, path }, what }: PermittedPlace): void {
  if (isArray(is)) {
    const old = isArray(was) ? was : [];
    for (const [index, one] of is.entries())
      checkPermitted(comparison, resource, { was: old[index] ?? null, is: one, place: { holder, path: below(path, '*') }, what });
    return;
  }
  const entries = entriesOf(is);
  for (const [key, one] of entries?.entries() ?? []) {
    const old = entriesOf(was)?.get(key) ?? null;
    checkPermitted(comparison, resource, { was: old, is: one, place: { holder, path: below(path, key) }, what });
  }
}

function entriesOf(object: PdfObject): PdfDictionary | undefined {
  if (object instanceof PdfStream) return object.dictionary;
  return object instanceof PdfDictionary ? object : undefined;
}

/** Checks that a dictionary which did not change, and is named now, has nothing else. */
function hasOnlyKeysOf(type: PlaceType, object: PdfObject): boolean {
  if (type.kind !== 'DICTIONARY' || !(object instanceof PdfDictionary)) return true;
  return object.keys().every((key) => type.entries.has(key) || type.others?.keys.test(key) === true);
}

/** Validation data are new where they differ: an element that changed was another one before. */
function mayChange(type: PlaceType, now: PdfObject): boolean {
  if (type.kind === 'PLAIN') return isValue(now);
  return type.kind !== 'STREAM' || type.isForm;
}

function shown({ path }: Place): string {
  return path.slice(0, 100);
}

/** Returns the type that an object has, of those that a place may have; undefined for none. */
function chosen(file: PdfFile, type: PlaceType, object: PdfObject): PlaceType | undefined {
  if (type.kind === 'ONE_OF') return type.types.find((one) => chosen(file, one, object) !== undefined);
  return isOf(file, type, object) ? type : undefined;
}

function isOf(file: PdfFile, type: Exclude<PlaceType, { readonly kind: 'ONE_OF' }>, object: PdfObject): boolean {
  switch (type.kind) {
    case 'VALUE':
      return isValue(object);
    case 'PLAIN':
      return !(object instanceof PdfStream) && (isValue(object) || isArray(object) || object instanceof PdfDictionary);
    case 'STREAM':
      return object instanceof PdfStream && (!type.isForm || isForm(file, object.dictionary));
    case 'ARRAY':
      return isArray(object);
    case 'DICTIONARY':
      return object instanceof PdfDictionary;
    case 'RESOURCE':
      return true;
  }
}

function isValue(object: PdfObject): boolean {
  return object instanceof PdfName || object instanceof PdfString || typeof object === 'number' || typeof object === 'boolean';
}

/** Checks whether a stream is a form XObject (8.10.2). */
function isForm(file: PdfFile, entries: PdfDictionary): boolean {
  const type = file.get(entries, 'Type');
  return isName(file.get(entries, 'Subtype'), 'Form') && (type === null || isName(type, 'XObject'));
}
