import { z } from 'zod';
import { isObjectIdentifier } from '../asn1/object-identifier.ts';
import { isWellFormedDer } from '../asn1/well-formed.ts';
import { isMailbox } from './internet-names.ts';
import { SubjectFields } from './subject-fields.ts';

/** Limit for each list and map. */
const maxEntries = 32;

const ObjectIdentifier = z
  .string()
  .refine(isObjectIdentifier, 'not an object identifier such as 2.5.29.17')
  .meta({ pattern: '^[0-2](\\.(0|[1-9][0-9]*))+$', maxLength: 255 });

/** Limit on what is parsed; no extension or attribute of a personal certificate is longer. */
const maxValueBytes = 8192;

/** Canonical base64 (RFC 4648 §4). */
const Value = z
  .string()
  .meta({ contentEncoding: 'base64', maxLength: 4 * Math.ceil(maxValueBytes / 3) })
  .transform((text, context): Uint8Array => {
    if (text.length > (maxValueBytes / 3) * 4 + 4) {
      context.addIssue({ code: 'custom', message: `more than ${maxValueBytes} octets` });
      return z.NEVER;
    }
    const bytes = Buffer.from(text, 'base64');
    if (bytes.toString('base64') !== text) {
      context.addIssue({ code: 'custom', message: 'not base64 (RFC 4648, padded, no line breaks)' });
    }
    return bytes;
  });

/** Exactly one DER element. */
const DerValue = Value.refine(isWellFormedDer, 'not one element in DER');

/**
 * Whether the value is DER is checked once the profile allows the identifier; the API requires only
 * base64.
 */
const IdentifiedValue = z
  .strictObject({
    identifier: ObjectIdentifier.describe('object identifier'),
    value: Value.describe('the value: one element in DER, base64, at most 8192 octets'),
  })
  .meta({ id: 'IdentifiedValue', description: 'a value and the object identifier of its type' });

/**
 * Contract §7: members are OID → base64 DER value. zod limits the size of a list before it looks at
 * its entries, and does not limit maps.
 */
const AnyMap = z
  .preprocess(
    (value, context): unknown => {
      if (typeof value !== 'object' || value === null || Object.keys(value).length <= maxEntries) return value;
      context.addIssue({ code: 'custom', message: `at most ${maxEntries} members` });
      return z.NEVER;
    },
    z.record(ObjectIdentifier, DerValue),
  )
  .meta({ maxProperties: maxEntries });

export const Mailbox = z.string().refine(isMailbox, 'not an e-mail address').meta({ pattern: '^[^@]+@[^@]+$', maxLength: 254 });

/** The API's Subscriber. */
const Subscriber = z
  .strictObject({
    emailAddress: Mailbox.optional().describe('e-mail address, ASCII'),
    phoneNumber: z
      .string()
      .regex(/^\+[1-9]\d{6,14}$/, 'not a telephone number in E.164 form such as +33612345678')
      .optional()
      .describe('mobile number, E.164'),
  })
  .meta({ id: 'Subscriber', description: 'where a person gets messages' });

const ExtensionRequest = z
  .strictObject({
    extension: z
      .array(IdentifiedValue)
      .max(maxEntries)
      .optional()
      .describe('extensions of the certificate; one that the profile does not allow is refused with 2/213'),
    subjectAlternativeName: z
      .strictObject({
        generalName: z
          .array(
            z
              .strictObject({ RFC822Name: Mailbox.describe('e-mail address, ASCII') })
              .meta({ id: 'GeneralName', description: 'an alternative name' }),
          )
          .min(1, 'at least one name')
          .max(maxEntries)
          .describe('alternative names of the subject'),
      })
      .meta({ id: 'SubjectAlternativeName', description: 'alternative names of the subject' })
      .optional(),
    any: AnyMap.optional().describe('the same as extension, by object identifier'),
  })
  .meta({ id: 'ExtensionRequest', description: 'extensions of the certificate' });

const Attributes = z
  .strictObject({
    subscriber: Subscriber,
    attribute: z
      .array(IdentifiedValue)
      .max(maxEntries)
      .optional()
      .describe('attributes for subjectDirectoryAttributes; one that the profile does not allow is refused with 2/213'),
    extensionRequest: ExtensionRequest.optional(),
    any: AnyMap.optional().describe('the same as attribute, by object identifier'),
  })
  .meta({ id: 'CertificationRequestAttributes', description: 'attributes of the request' });
/** Contents of `PKCS10.attributes`, with values decoded. */
export type RequestedAttributes = z.output<typeof Attributes>;

/**
 * The API's PKCS10: subject and attributes given as fields. All failures are ordinary schema
 * issues.
 */
export const Pkcs10 = z
  .strictObject({ attributes: Attributes, subject: SubjectFields })
  .meta({ id: 'PKCS10Request', description: 'subject and attributes of the certificate, as fields' });
