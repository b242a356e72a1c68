import * as der from '../asn1/der.ts';
import { oids } from '../asn1/object-identifiers.ts';
import { quotedName } from '../config/closest-name.ts';
import { Refusal } from '../result-codes.ts';
import { attributeTypeAndValue, attributeTypeOfOid } from './attribute-types.ts';
import { nameFieldType, type SubjectFields } from './subject-fields.ts';

/**
 * Returns the Name (RFC 5280 4.1.2.4) of a subject in DER: one attribute per RDN, from country to
 * common name.
 * @throws {Refusal} FIELD_INVALID for a nameField with an unknown identifier.
 */
export function subjectName(subject: SubjectFields): Uint8Array {
  return der.sequence(
    ...attribute(oids.countryName, subject.country),
    ...attribute(oids.stateOrProvinceName, subject.stateName),
    ...attribute(oids.localityName, subject.localityName),
    ...attribute(oids.organizationName, subject.organizationName),
    ...attribute(oids.organizationIdentifier, subject.organizationIdentifier),
    ...(subject.organizationUnit ?? []).flatMap((unit) => attribute(oids.organizationalUnitName, unit)),
    ...nameFields(subject),
    ...attribute(oids.title, subject.title),
    ...attribute(oids.telephoneNumber, subject.phoneNumber),
    ...attribute(oids.dnQualifier, subject.DNQualifier),
    ...attribute(oids.serialNumber, subject.serialNumber),
    ...attribute(oids.surname, subject.surName),
    ...attribute(oids.givenName, subject.givenName),
    ...attribute(oids.commonName, subject.commonName),
  );
}

function attribute(oid: string, value: string | undefined): Uint8Array[] {
  const type = attributeTypeOfOid(oid);
  return value === undefined || type === undefined ? [] : [der.set(attributeTypeAndValue(type, value))];
}

function nameFields({ fields }: SubjectFields): Uint8Array[] {
  return (fields?.nameField ?? []).map((field, index) => {
    const type = nameFieldType(field);
    if (type === undefined) {
      throw new Refusal('FIELD_INVALID', {
        at: `/certificationRequestInfo/PKCS10/subject/fields/nameField/${index}/identifier`,
        message: `no text attribute is named ${quotedName(field.identifier)}`,
      });
    }
    return der.set(attributeTypeAndValue(type, field.value));
  });
}
