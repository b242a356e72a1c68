import { PdfDictionary, PdfReference, type PdfObject } from '../../../pdf/objects.ts';
import type { PdfFile } from '../../../pdf/pdf-file.ts';
import { signatureFields, type SignatureField } from '../signed-fields.ts';

/** A signature that is in a file. */
export interface EarlierSignature {
  /** For messages. */
  readonly name: string;
  readonly dictionary: PdfDictionary;
  /** The signature as its field names it: usually a reference. */
  readonly value: PdfObject;
  /** Undefined for a certification signature that only the catalog names. */
  readonly field: SignatureField | undefined;
}

/**
 * Returns the signatures of a file: those of its fields, and one that the permissions of the
 * catalog name (ISO 32000-2, 12.8.6), which usually is one of them.
 * @throws {PdfFault}
 */
export function signaturesOf(file: PdfFile): readonly EarlierSignature[] {
  const found: EarlierSignature[] = [];
  for (const field of signatureFields(file)) {
    if (field.signature === undefined) continue;
    found.push({ name: `the signature ${quotedName(field.name)}`, dictionary: field.signature, value: field.value, field });
  }
  const permissions = file.get(file.catalog, 'Perms');
  const value = permissions instanceof PdfDictionary ? permissions.get('DocMDP') : null;
  const dictionary = file.resolved(value);
  const isKnown = value instanceof PdfReference && found.some((one) => value.equals(one.value));
  if (dictionary instanceof PdfDictionary && !isKnown)
    found.push({ name: 'the certification signature', dictionary, value, field: undefined });
  return found;
}

const nameMaxCharacters = 100;

/** Returns the name of a field for a message. */
export function quotedName(name: string): string {
  return JSON.stringify(name.length > nameMaxCharacters ? `${name.slice(0, nameMaxCharacters)}…` : name);
}
