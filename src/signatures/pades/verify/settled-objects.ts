import { isArray, PdfDictionary, PdfReference, PdfStream, type PdfObject } from '../../../pdf/objects.ts';

/** A changed object of which all that changed is allowed, as what it is. */
export type SettledKind = 'CATALOG' | 'PAGE' | 'ANNOTATION' | 'ELEMENT';

/**
 * Keys behind which readers look for such an object; `*` for elements of arrays: Kids, Annots,
 * Fields, destinations. Behind any other key it could be something else, such as a dictionary in
 * which a content finds pictures by their names, and a changed entry would be one of them.
 */
const leadingKeys: Readonly<Record<SettledKind, readonly string[]>> = {
  // Signatures name it by Data (ISO 32000-2, 12.8.1, table 256).
  CATALOG: ['Root', 'Data'],
  PAGE: ['*', 'P', 'Pg'],
  // T, AN and TA are of actions (12.6.4), Obj of a structure.
  ANNOTATION: ['*', 'Parent', 'Popup', 'IRT', 'Obj', 'T', 'AN', 'TA'],
  ELEMENT: ['*', 'P', 'K', 'SE'],
};

/**
 * Keys behind which a dictionary is in which contents find something by names that they choose
 * (7.8.3 and 9.6.4).
 */
const namingKeys: ReadonlySet<string> = new Set([
  ...['Resources', 'DR', 'XObject', 'ExtGState', 'Font', 'ColorSpace', 'Pattern', 'Shading', 'Properties', 'CharProcs'],
]);

/** Checks whether a reference at this path leads to a settled object as what it is. */
export function leadsTo(kind: SettledKind, path: string): boolean {
  const keys = path.split('/');
  return leadingKeys[kind].includes(keys.at(-1) ?? '') && !keys.some((key) => namingKeys.has(key));
}

/**
 * Adds the objects to which an object refers as dictionaries of names. References to references are
 * among them, since what is behind them is not looked at.
 */
export function addNaming(object: PdfObject, found: Set<number>): void {
  if (object instanceof PdfReference) found.add(object.number);
  else addNamingIn(object, found);
}

function addNamingIn(object: PdfObject, found: Set<number>): void {
  if (object instanceof PdfStream) addNamingIn(object.dictionary, found);
  else if (isArray(object)) for (const one of object) addNamingIn(one, found);
  if (!(object instanceof PdfDictionary)) return;
  for (const [key, value] of object.entries()) {
    if (!(value instanceof PdfReference)) addNamingIn(value, found);
    else if (namingKeys.has(key)) found.add(value.number);
  }
}
