import { z } from 'zod';
import { oids } from '../asn1/object-identifiers.ts';
import { attributeTypeOfName, attributeTypeOfOid, valueFault, type AttributeType } from './attribute-types.ts';
import { countryCodes } from './country-codes.ts';

/** Limits on the size of a name, beyond what any real one has. */
const maxNameFields = 32;
const maxUnits = 16;

/** Syntaxes whose shortest value is longer than a character. */
const minCharacters: Readonly<Partial<Record<AttributeType['syntax'], number>>> = { telephone: 3, organization: 7 };

/** Schema of a text that is valid for the attribute type. */
function attributeText(oid: string): z.ZodString {
  const type = attributeTypeOfOid(oid);
  if (type === undefined) throw new RangeError(`${oid} is not an attribute type`);
  return z
    .string()
    .check((context) => {
      const fault = valueFault(type, context.value);
      if (fault !== undefined) context.issues.push({ code: 'custom', input: context.value, message: fault });
    })
    .meta({ minLength: minCharacters[type.syntax] ?? 1, maxLength: type.maxCharacters });
}

/** Returns the attribute type of a nameField. */
export function nameFieldType({ identifier, identifierType }: Pick<NameField, 'identifier' | 'identifierType'>) {
  return identifierType === 'NAME' ? attributeTypeOfName(identifier) : attributeTypeOfOid(identifier);
}

/**
 * Attributes that a name may repeat: organisational units and domain labels. A second value of any
 * other could impersonate someone else, since some readers use the first value and some the last.
 */
export const repeatable: ReadonlySet<string> = new Set([oids.organizationalUnitName, oids.domainComponent]);

const NameField = z
  .strictObject({
    identifier: z
      .string()
      .meta({ description: 'RFC 4519 short name, or object identifier, of the attribute', minLength: 1, maxLength: 255 }),
    identifierType: z.enum(['NAME', 'OID']).meta({ id: 'IdentifierType', description: 'kind of identifier' }),
    value: z.string().meta({ description: 'the text, as long as the attribute allows', minLength: 1, maxLength: 1024 }),
  })
  .check((context) => {
    const type = nameFieldType(context.value);
    if (type === undefined) {
      const kind = context.value.identifierType === 'NAME' ? 'RFC 4519 short name' : 'object identifier';
      context.issues.push({
        code: 'custom',
        input: context.value,
        path: ['identifier'],
        message: `not the ${kind} of a text attribute`,
      });
      return;
    }
    const fault = valueFault(type, context.value.value);
    if (fault !== undefined) context.issues.push({ code: 'custom', input: context.value, path: ['value'], message: fault });
  })
  .meta({ id: 'NameField', description: 'an attribute of a name' });
type NameField = z.output<typeof NameField>;

/**
 * The API's `subject`. Each text is checked against the X.520 attribute that it becomes, so that
 * the fields always make a valid name.
 */
export const SubjectFields = z
  .strictObject({
    country: z
      .enum(countryCodes, 'not an ISO 3166-1 country code (two upper-case letters)')
      .meta({ id: 'CountryCode', description: 'ISO 3166-1, two letters' })
      .describe('country (ISO 3166-1, two letters): countryName'),
    commonName: attributeText(oids.commonName).describe('commonName, 1 to 64 characters'),
    fields: z
      .strictObject({ nameField: z.array(NameField).max(maxNameFields).optional().describe('further attributes of the name') })
      .meta({ id: 'NameFields', description: 'further attributes of the name' })
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
    const present = attributesOf({ ...value, fields: undefined });
    for (const [index, field] of (value.fields?.nameField ?? []).entries()) {
      const oid = nameFieldType(field)?.oid;
      if (oid === undefined || repeatable.has(oid)) continue;
      if (present.has(oid)) {
        const path = ['fields', 'nameField', index, 'identifier'];
        context.issues.push({ code: 'custom', input: value, path, message: `duplicate attribute ${nameOf(oid)}` });
      }
      present.add(oid);
    }
  })
  .meta({ id: 'Subject', description: 'the subject of the certificate' });
export type SubjectFields = z.output<typeof SubjectFields>;

const attributeOfMember = {
  country: oids.countryName,
  commonName: oids.commonName,
  title: oids.title,
  organizationName: oids.organizationName,
  organizationIdentifier: oids.organizationIdentifier,
  givenName: oids.givenName,
  serialNumber: oids.serialNumber,
  phoneNumber: oids.telephoneNumber,
  surName: oids.surname,
  localityName: oids.localityName,
  stateName: oids.stateOrProvinceName,
  DNQualifier: oids.dnQualifier,
  organizationUnit: oids.organizationalUnitName,
} as const satisfies Partial<Record<keyof SubjectFields, string>>;

/** Returns the OIDs of the attributes that the subject's name will have. */
export function attributesOf(subject: SubjectFields): Set<string> {
  const oidOf: Readonly<Record<string, string>> = attributeOfMember;
  const named = Object.entries(subject).flatMap(([name, value]) => {
    const oid = oidOf[name];
    return oid === undefined || value === undefined || (Array.isArray(value) && value.length === 0) ? [] : [oid];
  });
  return new Set([...named, ...(subject.fields?.nameField ?? []).flatMap((field) => nameFieldType(field)?.oid ?? [])]);
}

/** Returns the API field of an attribute, or its OID if it has none. */
function nameOf(oid: string): string {
  return Object.entries(attributeOfMember).find(([, known]) => known === oid)?.[0] ?? oid;
}
