import { PdfDictionary, PdfName, type PdfObject, type PdfReference } from '../../pdf/objects.ts';
import { textString } from '../../pdf/text-string.ts';
import type { SignedProperties } from '../request/signed-properties.ts';
import type { SignatureRoom } from './signature-room.ts';
import type { DocMdpLevel, LockedFields } from './signed-fields.ts';

export interface SignatureDictionaryParts {
  readonly room: SignatureRoom;
  readonly isBasic: boolean;
  readonly properties: SignedProperties;
  readonly now: Date;
  /** Level of the document that the signature certifies. */
  readonly certifies: DocMdpLevel | undefined;
  readonly locks: LockedFields | undefined;
  readonly catalog: PdfReference;
}

/**
 * Returns the signature dictionary (ISO 32000-2, 12.8.1, table 255; EN 319 142-1 §5.3 and §6.3).
 */
export function signatureDictionary(parts: SignatureDictionaryParts): PdfDictionary {
  const { room, isBasic, properties, now, certifies, locks, catalog } = parts;
  const { signingTime } = properties;
  const reason = reasonOf(properties);
  const location = locationOf(properties);
  const references: PdfObject[] = [
    ...(certifies === undefined ? [] : [reference('DocMDP', { P: certifies, V: new PdfName('1.2') }, undefined)]),
    ...(locks === undefined ? [] : [reference('FieldMDP', { ...lockEntries(locks), V: new PdfName('1.2') }, catalog)]),
  ];
  return PdfDictionary.of({
    Type: new PdfName('Sig'),
    Filter: new PdfName('Adobe.PPKLite'),
    SubFilter: new PdfName(subFilterOf({ isBasic })),
    ByteRange: room.byteRange,
    Contents: room.contents,
    M: textString(dateText(signingTime instanceof Date ? signingTime : now)),
    Reason: reason === undefined ? undefined : textString(reason),
    Location: location === undefined ? undefined : textString(location),
    Reference: references.length === 0 ? undefined : references,
  });
}

/** Returns the name of the encoding of a signature (table 257; EN 319 142-1 §6.3). */
export function subFilterOf({ isBasic }: { readonly isBasic: boolean }): string {
  return isBasic ? 'adbe.pkcs7.detached' : 'ETSI.CAdES.detached';
}

function reference(method: string, parameters: Readonly<Record<string, PdfObject>>, data: PdfReference | undefined): PdfDictionary {
  return PdfDictionary.of({
    Type: new PdfName('SigRef'),
    TransformMethod: new PdfName(method),
    TransformParams: PdfDictionary.of({ Type: new PdfName('TransformParams'), ...parameters }),
    Data: data,
  });
}

/** Returns the entries that a Lock and the parameters of FieldMDP share (12.7.5.5, table 236). */
export function lockEntries({ action, fields, permission }: LockedFields): Readonly<Record<string, PdfObject>> {
  return {
    Action: new PdfName(action),
    ...(action === 'All' ? {} : { Fields: fields.map((one) => textString(one)) }),
    ...(permission === undefined ? {} : { P: permission }),
  };
}

/**
 * Returns the reason, where the signature may have one: it excludes a commitment type and a policy
 * among the signed attributes (EN 319 142-1 §6.3), and then stands there.
 */
export function reasonOf({ commitmentText, commitments, policy }: SignedProperties): string | undefined {
  return commitments.length === 0 && policy === 'NONE' ? commitmentText : undefined;
}

/** Returns the place of the signature in one line. */
export function locationOf({ place }: SignedProperties): string | undefined {
  if (place === undefined) return undefined;
  const { city, stateOrProvince, postalCode, countryCode } = place;
  const town = [postalCode, city].filter((one) => one !== undefined).join(' ');
  return [town, stateOrProvince, countryCode].filter((one) => one !== undefined && one !== '').join(', ');
}

/** Returns a date (ISO 32000-2, 7.9.4) in UTC. */
export function dateText(date: Date): string {
  const [day = '', time = ''] = date.toISOString().split('T');
  return `D:${day.replaceAll('-', '')}${time.slice(0, 8).replaceAll(':', '')}Z`;
}
