import * as der from '../asn1/der.ts';
import { isObjectIdentifier } from '../asn1/object-identifier.ts';
import { oids } from '../asn1/object-identifiers.ts';
import { countryCodes } from './country-codes.ts';
import { isMailbox } from './internet-names.ts';

/**
 * Syntax of an attribute type, and its upper bound in characters (RFC 5280 appendix A.1 or X.520).
 */
export interface AttributeType {
  readonly oid: string;
  readonly syntax: 'utf8' | 'printable' | 'numeric' | 'ia5' | 'country' | 'mailbox' | 'telephone' | 'organization';
  readonly maxCharacters: number;
}

/** X.520 leaves these unbounded. */
const unbounded = 256;
/**
 * RFC 5280 allows 32,768 (ub-name). No real name is that long, and certificates should stay small.
 */
const ubName = 256;

const rows: readonly (readonly [oid: string, syntax: AttributeType['syntax'], maxCharacters: number, ...names: string[]])[] = [
  [oids.commonName, 'utf8', 64, 'cn', 'commonName'],
  [oids.surname, 'utf8', ubName, 'sn', 'surname'],
  [oids.serialNumber, 'printable', 64, 'serialNumber'],
  [oids.countryName, 'country', 2, 'c', 'countryName'],
  [oids.localityName, 'utf8', 128, 'l', 'localityName'],
  [oids.stateOrProvinceName, 'utf8', 128, 'st', 'stateOrProvinceName'],
  [oids.streetAddress, 'utf8', 128, 'street', 'streetAddress'],
  [oids.organizationName, 'utf8', 64, 'o', 'organizationName'],
  [oids.organizationalUnitName, 'utf8', 64, 'ou', 'organizationalUnitName'],
  [oids.title, 'utf8', 64, 'title'],
  [oids.description, 'utf8', 1024, 'description'],
  [oids.businessCategory, 'utf8', 128, 'businessCategory'],
  [oids.postalCode, 'utf8', 40, 'postalCode'],
  [oids.postOfficeBox, 'utf8', 40, 'postOfficeBox'],
  [oids.physicalDeliveryOfficeName, 'utf8', 128, 'physicalDeliveryOfficeName'],
  [oids.telephoneNumber, 'telephone', 32, 'telephoneNumber'],
  [oids.x121Address, 'numeric', 15, 'x121Address'],
  [oids.internationalIsdnNumber, 'numeric', 16, 'internationalISDNNumber'],
  [oids.destinationIndicator, 'printable', 128, 'destinationIndicator'],
  [oids.name, 'utf8', ubName, 'name'],
  [oids.givenName, 'utf8', ubName, 'givenName', 'gn'],
  [oids.initials, 'utf8', ubName, 'initials'],
  [oids.generationQualifier, 'utf8', ubName, 'generationQualifier'],
  [oids.dnQualifier, 'printable', unbounded, 'dnQualifier'],
  [oids.houseIdentifier, 'utf8', ubName, 'houseIdentifier'],
  [oids.pseudonym, 'utf8', 128, 'pseudonym'],
  [oids.organizationIdentifier, 'organization', 256, 'organizationIdentifier'],
  [oids.userId, 'utf8', 256, 'uid', 'userId'],
  [oids.domainComponent, 'ia5', 63, 'dc', 'domainComponent'],
  [oids.emailAddress, 'mailbox', 254, 'emailAddress', 'email', 'e'],
];

const byOid = new Map<string, AttributeType>(rows.map(([oid, syntax, maxCharacters]) => [oid, { oid, syntax, maxCharacters }]));
const oidByName = new Map(rows.flatMap(([oid, , , ...names]) => names.map((name) => [name.toLowerCase(), oid])));

/** X.520 attributes whose values are not character strings (DN, BIT STRING, SEQUENCE). */
const notText: ReadonlySet<string> = new Set(
  ['16', '21', '22', '23', '26', '28', '31', '32', '34', '35', '36', '37', '38', '39', '45', '49', '50'].map((arc) => `2.5.4.${arc}`),
);

/**
 * Returns the attribute type of an OID. An unlisted type is treated as UTF8String. Undefined for an
 * invalid OID, or if the values are not text.
 */
export function attributeTypeOfOid(oid: string): AttributeType | undefined {
  if (!isObjectIdentifier(oid) || notText.has(oid)) return undefined;
  return byOid.get(oid) ?? { oid, syntax: 'utf8', maxCharacters: unbounded };
}

/** Returns the attribute type with this RFC 4519 name, ignoring case. */
export function attributeTypeOfName(name: string): AttributeType | undefined {
  return byOid.get(oidByName.get(name.toLowerCase()) ?? '');
}

/**
 * Characters that are invisible or reorder text (Unicode properties Default_Ignorable_Code_Point
 * and Bidi_Control): with them, two different names would look alike. Joiners and variation
 * selectors are allowed, since some names are spelt with them.
 */
const invisible = /\p{Cc}|\p{Bidi_Control}|\u2028|\u2029|(?!\u200c|\u200d|\p{VS})\p{DI}/u;

/**
 * ETSI EN 319 412-1 5.1.4: scheme (three letters, or two characters and a colon), country, hyphen,
 * reference.
 */
const organizationIdentifierForm = /^(?:[A-Z]{3}|[A-Za-z0-9]{2}:)[A-Z]{2}-\S(?:.*\S)?$/u;

/** ITU-T E.123, international or national notation, of at most the 15 digits of E.164. */
const telephoneForm = /^(?=(?:\D*\d){3,15}\D*$)\+?[0-9 ()./-]+$/;

/** Returns the reason why a text cannot be a value of the type, or undefined if it can. */
export function valueFault({ syntax, maxCharacters }: AttributeType, value: string): string | undefined {
  if (!value.isWellFormed()) return 'contains a lone surrogate';
  if (value === '') return 'empty';
  if (invisible.test(value)) return 'contains a control or invisible character';
  if (value.trim() !== value) return 'begins or ends with a space';
  // X.520 counts characters; each is one or two UTF-16 units.
  if (value.length > 2 * maxCharacters || Array.from(value).length > maxCharacters) return `more than ${maxCharacters} characters`;
  switch (syntax) {
    case 'utf8':
      return undefined;
    case 'printable':
      return /^[A-Za-z0-9 '()+,\-./:=?]+$/.test(value)
        ? undefined
        : "only letters, digits, space and '()+,-./:=? are allowed (PrintableString)";
    case 'numeric':
      return /^[0-9 ]+$/.test(value) ? undefined : 'only digits and spaces are allowed (NumericString)';
    case 'ia5':
      return /^\p{ASCII}+$/u.test(value) ? undefined : 'only ASCII is allowed (IA5String)';
    case 'country':
      return countryCodes.some((code) => code === value) ? undefined : 'not an ISO 3166-1 alpha-2 country code';
    case 'mailbox':
      return isMailbox(value) ? undefined : 'not an e-mail address';
    case 'telephone':
      return telephoneForm.test(value) ? undefined : 'not a telephone number of 3 to 15 digits such as +33 1 23 45 67 89';
    case 'organization':
      return organizationIdentifierForm.test(value)
        ? undefined
        : 'not an organisation identifier (ETSI EN 319 412-1) such as VATFR-12345678901';
  }
}

/**
 * AttributeTypeAndValue (RFC 5280 4.1.2.4).
 * @throws {RangeError} for a value that `valueFault` rejects.
 */
export function attributeTypeAndValue(type: AttributeType, value: string): Uint8Array {
  const fault = valueFault(type, value);
  if (fault !== undefined) throw new RangeError(`attribute ${type.oid}: ${fault}`);
  return der.sequence(der.oid(type.oid), attributeValue(type, value));
}

function attributeValue({ syntax }: AttributeType, value: string): Uint8Array {
  switch (syntax) {
    case 'utf8':
    case 'organization':
      return der.utf8String(value);
    case 'printable':
    case 'country':
    case 'telephone':
      return der.printableString(value);
    case 'numeric':
      return der.numericString(value);
    case 'ia5':
    case 'mailbox':
      return der.ia5String(value);
  }
}
