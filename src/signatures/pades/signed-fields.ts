import { BerCursor } from '../../asn1/ber-cursor.ts';
import { bytesInMemory } from '../../asn1/byte-source.ts';
import { DerError } from '../../asn1/reader.ts';
import { formFields, type FormField } from '../../pdf/form-fields.ts';
import { isArray, isInteger, isName, PdfDictionary, PdfName, PdfString, type PdfObject } from '../../pdf/objects.ts';
import type { PdfFile } from '../../pdf/pdf-file.ts';
import { textOf } from '../../pdf/text-string.ts';

/**
 * Changes that a certified document allows (ISO 32000-2, 12.8.2.2, table 257): 1 none, 2 forms, 3
 * annotations too.
 */
export type DocMdpLevel = 1 | 2 | 3;

/** Fields that a signature locks (12.8.2.4). */
export interface LockedFields {
  readonly action: 'All' | 'Include' | 'Exclude';
  readonly fields: readonly string[];
  /** Changes that the document allows from then on; absent: the lock says nothing about them. */
  readonly permission?: DocMdpLevel | undefined;
}

/** A lock of all fields, which says nothing about other changes. */
export const allFields = { action: 'All', fields: [] } as const satisfies LockedFields;

/** A signature field (12.7.5.5). */
export interface SignatureField extends FormField {
  /** Its signature; undefined if it has none yet. */
  readonly signature: PdfDictionary | undefined;
}

/** Returns the signature fields of a file. @throws {PdfFault} */
export function signatureFields(file: PdfFile): readonly SignatureField[] {
  return Array.from(formFields(file))
    .filter(({ type }) => type === 'Sig')
    .map((field) => {
      const value = file.resolved(field.value);
      return { ...field, signature: value instanceof PdfDictionary ? value : undefined };
    });
}

/** Returns true for a document time-stamp (EN 319 142-1 §5.4.3). */
export function isDocumentTimeStamp(file: PdfFile, signature: PdfDictionary): boolean {
  return isName(file.get(signature, 'Type'), 'DocTimeStamp') || isName(file.get(signature, 'SubFilter'), 'ETSI.RFC3161');
}

/**
 * Returns the changes that a document allows, by its certification signature and by the locks of
 * its signatures; undefined if none of them says.
 */
export function docMdpLevel(file: PdfFile, fields: readonly SignatureField[]): DocMdpLevel | undefined {
  const permissions = file.get(file.catalog, 'Perms');
  const certifying = permissions instanceof PdfDictionary ? file.get(permissions, 'DocMDP') : null;
  // A signature can certify where Perms does not name it: readers differ, so it counts.
  const signatures = [...(certifying instanceof PdfDictionary ? [certifying] : []), ...fields.flatMap(({ signature }) => signature ?? [])];
  const levels = signatures.flatMap((signature) =>
    transforms(file, signature, 'DocMDP').map((parameters): DocMdpLevel => {
      const level = file.get(parameters, 'P');
      return level === 1 || level === 3 ? level : 2;
    }),
  );
  if (levels.length === 0 && certifying instanceof PdfDictionary) levels.push(2);
  for (const { signature, dictionary } of fields) {
    if (signature === undefined) continue;
    const locked = [...lockedBy(file, signature), lockOf(file, dictionary.get('Lock'))];
    for (const lock of locked) if (lock?.permission !== undefined) levels.push(lock.permission);
  }
  return levels.length === 0 ? undefined : levels.reduce((one, other) => (one < other ? one : other));
}

/** Returns what a signature locks, FieldMDP. Parameters that cannot be read lock all fields. */
export function lockedBy(file: PdfFile, signature: PdfDictionary): readonly LockedFields[] {
  return transforms(file, signature, 'FieldMDP').map((parameters) => lockOf(file, parameters) ?? allFields);
}

/** Reads a lock from TransformParams, or from the Lock of a field. Undefined for another object. */
export function lockOf(file: PdfFile, object: PdfObject): LockedFields | undefined {
  const dictionary = file.resolved(object);
  if (!(dictionary instanceof PdfDictionary)) return undefined;
  const action = file.get(dictionary, 'Action');
  const names = file.get(dictionary, 'Fields');
  const fields = isArray(names) ? names.flatMap((one) => textOf(file.resolved(one)) ?? []) : [];
  if (!(action instanceof PdfName) || (action.text !== 'All' && action.text !== 'Include' && action.text !== 'Exclude')) return undefined;
  const level = file.get(dictionary, 'P');
  return { action: action.text, fields, permission: level === 1 || level === 2 || level === 3 ? level : undefined };
}

/** Returns true if a field with this fully qualified name is locked. */
export function locks({ action, fields }: LockedFields, name: string): boolean {
  if (action === 'All') return true;
  const isNamed = fields.some((one) => name === one || name.startsWith(`${one}.`));
  return action === 'Include' ? isNamed : !isNamed;
}

function transforms(file: PdfFile, signature: PdfDictionary, method: 'DocMDP' | 'FieldMDP'): readonly PdfDictionary[] {
  const references = file.get(signature, 'Reference');
  if (!isArray(references)) return [];
  return references.flatMap((one) => {
    const reference = file.resolved(one);
    if (!(reference instanceof PdfDictionary) || !isName(file.get(reference, 'TransformMethod'), method)) return [];
    const parameters = file.get(reference, 'TransformParams');
    return [parameters instanceof PdfDictionary ? parameters : new PdfDictionary()];
  });
}

/** Returns the byte range of a signature; undefined for one that is malformed. */
export function byteRangeOf(file: PdfFile, signature: PdfDictionary): readonly number[] | undefined {
  const range = file.get(signature, 'ByteRange');
  if (!isArray(range)) return undefined;
  const numbers = range.map((one) => file.resolved(one));
  return numbers.every((one) => isInteger(one) && one >= 0) ? (numbers as number[]) : undefined;
}

/** A signature has few elements, but its certificates and revocation data may be many. */
const encodingLimits = { elementsMax: 100_000, depthMax: 32 } as const;

/**
 * Returns the encoded signature without the zeros behind it, which fill its room.
 * @throws {DerError} if there is none
 */
export function encodedSignature(signature: PdfDictionary): Uint8Array {
  const contents = signature.get('Contents');
  if (!(contents instanceof PdfString)) throw new DerError('the signature has no contents', 0);
  const { end } = new BerCursor(bytesInMemory(contents.raw), encodingLimits).skip();
  return contents.raw.subarray(0, end);
}
