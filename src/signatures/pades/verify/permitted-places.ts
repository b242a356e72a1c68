import { isArray, PdfDictionary, PdfReference, PdfStream, type PdfObject } from '../../../pdf/objects.ts';
import { notAllowed, type Comparison, type Place } from './comparison.ts';
import { appearances, chosen, isValue, resource, resources, typeOfEntry, type PlaceType } from './place-types.ts';
import { below, sameObjects } from './same-objects.ts';

/** Where a value stands in both states, and the name of the place for messages. */
export interface PermittedPlace {
  readonly was: PdfObject;
  readonly is: PdfObject;
  readonly place: Place;
  readonly what: string;
  /** Resources that changed, one in another. */
  readonly depth?: number | undefined;
}

const resourceDepthMax = 32;

/**
 * Compares a place that may change, by its type, down to all that it leads to: that is new, or did
 * not change, or is an object that was at this place before and is of its type in both states.
 * Nothing that changed is allowed because such a place names it.
 * @throws {SignatureBroken} for an object of another type, and for one that changed and was
 *   something else
 */
export function checkPermitted(comparison: Comparison, type: PlaceType, permitted: PermittedPlace): void {
  const { before, after, changes } = comparison;
  const { was, is, place, what, depth = 0 } = permitted;
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
  const parts = { was: before.resolved(was), is: now, place: { holder: is.number, path: '' }, what, depth };
  switch (change?.kind) {
    case undefined:
      if (isSame ? own.kind !== 'DICTIONARY' || own.hasOwnKeys !== true : isWholly(comparison, own, is.number)) return;
      if (!isSame) throw notAllowed(`${what} has something of another type (${shown(place)})`);
      break;
    case 'NEW':
      // One to which something referred already did not exist, and could be reached from elsewhere.
      if (isSame && own.kind === 'STREAM') {
        comparison.keep(is, place);
        return;
      }
      comparison.allowNew(is, place);
      // What a new resource leads to is found by its references.
      if (own.kind === 'RESOURCE') return;
      break;
    case 'CHANGED':
    case 'GONE': {
      const old = chosen(before, own, parts.was);
      if (!isSame || old === undefined || !mayChange(own, now))
        throw notAllowed(`object ${is.number}, which was there before and to which ${what} leads (${shown(place)})`);
      comparison.enter(was, is, place);
    }
  }
  // Many places can lead to one object.
  if (comparison.isFirst(own, `${is.number} ${isSame}`)) checkParts(comparison, own, parts);
}

function checkParts(comparison: Comparison, type: PlaceType, { was, is, place, what, depth = 0 }: PermittedPlace): void {
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
      const typeOfPart = typeOfEntry(type, key);
      if (typeOfPart !== undefined) checkPermitted(comparison, typeOfPart, at);
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
    if (depth === resourceDepthMax) throw notAllowed(`${what} has resources that changed in more than ${resourceDepthMax} levels`);
    checkResource(comparison, { was, is, place, what, depth: depth + 1 });
  }
}

/** What a resource that changed leads to was there before where it changed, too. */
function checkResource(comparison: Comparison, { was, is, place: { holder, path }, what, depth }: PermittedPlace): void {
  if (isArray(is)) {
    const old = isArray(was) ? was : [];
    for (const [index, one] of is.entries())
      checkPermitted(comparison, resource, { was: old[index] ?? null, is: one, place: { holder, path: below(path, '*') }, what, depth });
    return;
  }
  const entries = entriesOf(is);
  for (const [key, one] of entries?.entries() ?? []) {
    const old = entriesOf(was)?.get(key) ?? null;
    checkPermitted(comparison, resource, { was: old, is: one, place: { holder, path: below(path, key) }, what, depth });
  }
}

function entriesOf(object: PdfObject): PdfDictionary | undefined {
  if (object instanceof PdfStream) return object.dictionary;
  return object instanceof PdfDictionary ? object : undefined;
}

/** Checks that an object which did not change, and is named now, is of a type with all that it has. */
function isWholly(comparison: Comparison, type: PlaceType, number: number): boolean {
  const { after } = comparison;
  const fits = (one: PlaceType, object: PdfObject): boolean => {
    const now = after.resolved(object);
    const own = now === null ? undefined : chosen(after, one, now);
    if (now === null) return true;
    if (own?.kind === 'ARRAY' && isArray(now)) return now.every((part) => fits(own.of, part));
    if (own?.kind !== 'DICTIONARY' || !(now instanceof PdfDictionary)) return own !== undefined;
    return now.entries().every(([key, part]) => {
      const typeOfPart = typeOfEntry(own, key);
      return typeOfPart !== undefined && fits(typeOfPart, part);
    });
  };
  return !comparison.isFirst(type, `${number}`) || fits(type, new PdfReference(number, 0));
}

/** Validation data are new where they differ: an element that changed was another one before. */
function mayChange(type: PlaceType, now: PdfObject): boolean {
  if (type.kind === 'PLAIN') return isValue(now);
  return type.kind !== 'STREAM' || type.isForm;
}

function shown({ path }: Place): string {
  return path.slice(0, 100);
}

/**
 * Allows appearances of an annotation that are new, or were written again under their numbers.
 * `number`: of the annotation.
 */
export function checkAppearances(comparison: Comparison, number: number, was: PdfDictionary | undefined, is: PdfDictionary): void {
  const place = { holder: number, path: 'AP' };
  checkPermitted(comparison, appearances, {
    was: was?.get('AP') ?? null,
    is: is.get('AP'),
    place,
    what: 'the appearance of an annotation',
  });
}
