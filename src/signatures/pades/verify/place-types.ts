import { isArray, isName, PdfDictionary, PdfName, PdfStream, PdfString, type PdfObject } from '../../../pdf/objects.ts';
import type { PdfFile } from '../../../pdf/pdf-file.ts';

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

export interface DictionaryType {
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
const extension = dictionary({ Type: value, BaseVersion: value, ExtensionLevel: value, ExtensionRevision: value, URL: value });
/** Extensions by developers (7.12.2, table 48), in PDF 2.0 several of each. */
export const extensions: PlaceType = dictionary(
  { Type: value },
  { others: { keys: anyKey, type: { kind: 'ONE_OF', types: [extension, { kind: 'ARRAY', of: extension }] } } },
);

/** Properties of the document (14.3.3). Some producers have lists among them. */
export const information: PlaceType = dictionary({}, { others: { keys: anyKey, type: plain } });

export const resource = { kind: 'RESOURCE' } as const satisfies PlaceType;
/** Resources of a form (7.8.3, table 34): dictionaries of names, and lists of procedures. */
export const resources = dictionary(
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

/** Returns the type of an entry of a dictionary; undefined if it has none of this key. */
export function typeOfEntry({ entries, others }: DictionaryType, key: string): PlaceType | undefined {
  return entries.get(key) ?? (others?.keys.test(key) === true ? others.type : undefined);
}

/** Returns the type that an object has, of those that a place may have; undefined for none. */
export function chosen(file: PdfFile, type: PlaceType, object: PdfObject): PlaceType | undefined {
  if (type.kind === 'ONE_OF') return type.types.find((one) => chosen(file, one, object) !== undefined);
  return isOf(file, type, object) ? type : undefined;
}

function isOf(file: PdfFile, type: Exclude<PlaceType, { readonly kind: 'ONE_OF' }>, object: PdfObject): boolean {
  switch (type.kind) {
    case 'VALUE':
      return isValue(object);
    case 'PLAIN':
      return isValue(object) || isArray(object) || object instanceof PdfDictionary;
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

export function isValue(object: PdfObject): boolean {
  return object instanceof PdfName || object instanceof PdfString || typeof object === 'number' || typeof object === 'boolean';
}

/** Checks whether a stream is a form XObject (8.10.2). */
function isForm(file: PdfFile, entries: PdfDictionary): boolean {
  const type = file.get(entries, 'Type');
  return isName(file.get(entries, 'Subtype'), 'Form') && (type === null || isName(type, 'XObject'));
}
