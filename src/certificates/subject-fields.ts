import { z } from 'zod';
import { oids } from '../asn1/object-identifiers.ts';
import { attributeTypeOfName, attributeTypeOfOid, valueFault } from './attribute-types.ts';
import { countryCodes } from './country-codes.ts';

/** More of these than any name has; a bound on what a certificate can be made to hold. */
const maxAttributes = 64;

/** A text that can be a value of the attribute type. */
function attributeText(oid: string): z.ZodString {
  const type = attributeTypeOfOid(oid);
  if (type === undefined) throw new RangeError(`${oid} is no attribute type`);
  return z.string().check((context) => {
    const fault = valueFault(type, context.value);
    if (fault !== undefined) context.issues.push({ code: 'custom', input: context.value, message: fault });
  });
}

/** The type that a nameField names. */
export function nameFieldType({ identifier, identifierType }: Pick<NameField, 'identifier' | 'identifierType'>) {
  return identifierType === 'NAME' ? attributeTypeOfName(identifier) : attributeTypeOfOid(identifier);
}

/** What identifies the subject stands in a name once: a second value would let one person look like another. */
const notRepeatable: ReadonlyMap<string, string> = new Map([
  [oids.commonName, 'commonName'],
  [oids.countryName, 'country'],
  [oids.serialNumber, 'serialNumber'],
  [oids.organizationIdentifier, 'organizationIdentifier'],
]);

const NameField = z
  .strictObject({ identifier: z.string(), identifierType: z.enum(['NAME', 'OID']), value: z.string() })
  .check((context) => {
    const type = nameFieldType(context.value);
    if (type === undefined) {
      const kind = context.value.identifierType === 'NAME' ? 'RFC 4519 short name' : 'object identifier';
      context.issues.push({
        code: 'custom',
        input: context.value,
        path: ['identifier'],
        message: `not the ${kind} of an attribute that is text`,
      });
      return;
    }
    const fault = valueFault(type, context.value.value);
    if (fault !== undefined) context.issues.push({ code: 'custom', input: context.value, path: ['value'], message: fault });
  });
type NameField = z.output<typeof NameField>;

/** The interface's `subject`: each text is checked against the X.520 attribute that it becomes, so that a name can always be made of it. */
export const SubjectFields = z
  .strictObject({
    country: z.enum(countryCodes, 'two upper-case letters, a country code of ISO 3166-1'),
    commonName: attributeText(oids.commonName),
    fields: z.strictObject({ nameField: z.array(NameField).max(maxAttributes).optional() }).optional(),
    title: attributeText(oids.title).optional(),
    organizationName: attributeText(oids.organizationName).optional(),
    organizationIdentifier: attributeText(oids.organizationIdentifier).optional(),
    givenName: attributeText(oids.givenName).optional(),
    serialNumber: attributeText(oids.serialNumber).optional(),
    phoneNumber: attributeText(oids.telephoneNumber).optional(),
    surName: attributeText(oids.surname).optional(),
    localityName: attributeText(oids.localityName).optional(),
    stateName: attributeText(oids.stateOrProvinceName).optional(),
    DNQualifier: attributeText(oids.dnQualifier).optional(),
    organizationUnit: z.array(attributeText(oids.organizationalUnitName)).max(maxAttributes).optional(),
  })
  .check((context) => {
    const { value } = context;
    const present = new Set([
      'commonName',
      'country',
      ...Object.entries(value).flatMap(([name, field]) => (field === undefined ? [] : [name])),
    ]);
    for (const [index, field] of (value.fields?.nameField ?? []).entries()) {
      const name = notRepeatable.get(nameFieldType(field)?.oid ?? '');
      if (name === undefined) continue;
      if (present.has(name)) {
        const path = ['fields', 'nameField', index, 'identifier'];
        context.issues.push({ code: 'custom', input: value, path, message: `a name has one ${name}, and it is given already` });
      }
      present.add(name);
    }
  });
export type SubjectFields = z.output<typeof SubjectFields>;
