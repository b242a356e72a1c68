import { z } from 'zod';
import { oids } from '../asn1/object-identifiers.ts';
import { attributeTypeOfName, attributeTypeOfOid, valueFault } from './attribute-types.ts';
import { countryCodes } from './country-codes.ts';

/** More of these than any name has; bounds on what a certificate can be made to hold. */
const maxNameFields = 32;
const maxUnits = 16;

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
  .strictObject({
    identifier: z.string().describe('RFC 4519 short name, or object identifier, of the attribute'),
    identifierType: z.enum(['NAME', 'OID']).describe('what identifier is'),
    value: z.string().describe('the text'),
  })
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
    country: z
      .enum(countryCodes, 'two upper-case letters, a country code of ISO 3166-1')
      .describe('country (ISO 3166-1, two letters): countryName'),
    commonName: attributeText(oids.commonName).describe('commonName, 1 to 64 characters'),
    fields: z
      .strictObject({ nameField: z.array(NameField).max(maxNameFields).optional().describe('further attributes of the name') })
      .optional(),
    title: attributeText(oids.title).optional().describe('title, 1 to 64 characters'),
    organizationName: attributeText(oids.organizationName).optional().describe('organizationName, 1 to 64 characters'),
    organizationIdentifier: attributeText(oids.organizationIdentifier)
      .optional()
      .describe('organizationIdentifier (ETSI EN 319 412-1), such as VATFR-12345678901'),
    givenName: attributeText(oids.givenName).optional().describe('givenName'),
    serialNumber: attributeText(oids.serialNumber).optional().describe('serialNumber of the subject, printable characters'),
    phoneNumber: attributeText(oids.telephoneNumber).optional().describe('telephoneNumber, such as +33612345678'),
    surName: attributeText(oids.surname).optional().describe('surname'),
    localityName: attributeText(oids.localityName).optional().describe('localityName'),
    stateName: attributeText(oids.stateOrProvinceName).optional().describe('stateOrProvinceName'),
    DNQualifier: attributeText(oids.dnQualifier).optional().describe('dnQualifier, printable characters'),
    organizationUnit: z
      .array(attributeText(oids.organizationalUnitName))
      .max(maxUnits)
      .optional()
      .describe('organizationalUnitName, one or several'),
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
