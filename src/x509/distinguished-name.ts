import { oids } from '../asn1/object-identifiers.ts';
import { children, DerError, readAll, readObjectIdentifier } from '../asn1/reader.ts';
import type { DerElement } from '../asn1/reader.ts';
import { stringValue } from './string-value.ts';

/**
 * Short names of RFC 4514 §3, which every parser of such strings knows, then the others of RFC 4519
 * §2. The last is the name that OpenSSL and others use for a type of RFC 2985.
 */
const shortNames: ReadonlyMap<string, string> = new Map([
  [oids.commonName, 'CN'],
  [oids.localityName, 'L'],
  [oids.stateOrProvinceName, 'ST'],
  [oids.organizationName, 'O'],
  [oids.organizationalUnitName, 'OU'],
  [oids.countryName, 'C'],
  [oids.streetAddress, 'STREET'],
  [oids.domainComponent, 'DC'],
  [oids.userId, 'UID'],
  [oids.businessCategory, 'businessCategory'],
  [oids.description, 'description'],
  [oids.destinationIndicator, 'destinationIndicator'],
  [oids.dnQualifier, 'dnQualifier'],
  [oids.generationQualifier, 'generationQualifier'],
  [oids.givenName, 'givenName'],
  [oids.houseIdentifier, 'houseIdentifier'],
  [oids.initials, 'initials'],
  [oids.internationalIsdnNumber, 'internationalISDNNumber'],
  [oids.name, 'name'],
  [oids.physicalDeliveryOfficeName, 'physicalDeliveryOfficeName'],
  [oids.postalCode, 'postalCode'],
  [oids.postOfficeBox, 'postOfficeBox'],
  [oids.serialNumber, 'serialNumber'],
  [oids.surname, 'sn'],
  [oids.telephoneNumber, 'telephoneNumber'],
  [oids.title, 'title'],
  [oids.x121Address, 'x121Address'],
  [oids.emailAddress, 'emailAddress'],
]);

/**
 * Returns the RFC 4514 string of a Name in DER: last RDN first, values escaped. A type without a
 * registered name is written as a dotted OID, with its value as `#` and hexadecimal DER (§2.4).
 * @throws {DerError}
 */
export function distinguishedNameText(nameDer: Uint8Array): string {
  return children(sequenceOf(readAll(nameDer)))
    .map((relative) => children(relative).map(attributeText).join('+'))
    .toReversed()
    .join(',');
}

/**
 * Returns the last common name of a Name in DER, which is the most specific one; undefined if it
 * has none that can be read.
 * @throws {DerError}
 */
export function commonNameOf(nameDer: Uint8Array): string | undefined {
  const attributes = children(sequenceOf(readAll(nameDer))).flatMap((relative) => children(relative));
  return attributes
    .flatMap((attribute) => {
      const [type, value] = children(sequenceOf(attribute));
      if (type === undefined || value === undefined || readObjectIdentifier(type) !== oids.commonName) return [];
      return stringValue(value) ?? [];
    })
    .at(-1);
}

function sequenceOf(element: DerElement): DerElement {
  if (element.tag !== 0x30) throw new DerError('not a SEQUENCE', element.start);
  return element;
}

function attributeText(attribute: DerElement): string {
  const [type, value, ...more] = children(sequenceOf(attribute));
  if (type === undefined || value === undefined || more.length > 0) throw new DerError('not an AttributeTypeAndValue', attribute.start);
  const identifier = readObjectIdentifier(type);
  const name = shortNames.get(identifier);
  const text = name === undefined ? undefined : stringValue(value);
  return `${name ?? identifier}=${text === undefined ? `#${Buffer.from(value.raw).toString('hex')}` : escaped(text)}`;
}

/**
 * RFC 4514 §2.4. Control characters are written in hexadecimal, which keeps the string on one line.
 */
function escaped(text: string): string {
  return text
    .replaceAll(/["+,;<>\\]/g, String.raw`\$&`)
    .replaceAll(/^[ #]|(?<=.) $/gs, String.raw`\$&`)
    .replaceAll(/\p{Cc}/gu, (control) =>
      [...Buffer.from(control, 'utf8')].map((octet) => `\\${octet.toString(16).padStart(2, '0')}`).join(''),
    );
}
