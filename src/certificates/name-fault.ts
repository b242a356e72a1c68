import { oids } from '../asn1/object-identifiers.ts';
import { children, DerError, readAll, readObjectIdentifier, type DerElement } from '../asn1/reader.ts';
import { expectTag, SequenceFields } from '../asn1/sequence-fields.ts';
import { isHostName } from './internet-names.ts';
import { attributeTypeOfOid, valueFault, type AttributeType } from './attribute-types.ts';
import { repeatable } from './subject-fields.ts';

/**
 * The string types allowed for each syntax (X.520, RFC 5280 appendix A, RFC 2985 for addresses).
 */
const tagsOf: Readonly<Record<AttributeType['syntax'], readonly number[]>> = {
  utf8: [0x0c, 0x13],
  organization: [0x0c, 0x13],
  printable: [0x13],
  country: [0x13],
  telephone: [0x13],
  numeric: [0x12],
  ia5: [0x16],
  mailbox: [0x16],
};

/**
 * Returns the reason why a certificate may not carry this Name (RFC 5280 4.1.2.4, in DER), or
 * undefined if it may. The name may not be empty.
 */
export function nameFault(der: Uint8Array): string | undefined {
  try {
    const relatives = children(expectTag(readAll(der), 0x30));
    if (relatives.length === 0) return 'an empty name';
    const seen = new Set<string>();
    const domain: string[] = [];
    for (const relative of relatives) {
      const attributes = children(expectTag(relative, 0x31));
      if (attributes.length === 0) return 'an empty relative distinguished name';
      for (const attribute of attributes) {
        const fields = new SequenceFields(expectTag(attribute, 0x30));
        const identifier = readObjectIdentifier(fields.next());
        const value = fields.next();
        const fault = attributeFault(identifier, value);
        fields.end();
        if (fault !== undefined) return `attribute ${identifier}: ${fault}`;
        if (!repeatable.has(identifier) && seen.has(identifier)) return `duplicate attribute ${identifier}`;
        seen.add(identifier);
        if (identifier === oids.domainComponent) domain.unshift(Buffer.from(value.content).toString('latin1'));
      }
    }
    return domainFault(domain);
  } catch (error) {
    if (error instanceof DerError) return `not a Name: ${error.message}`;
    throw error;
  }
}

/**
 * RFC 4519 2.4, RFC 2247 §2: the components are the labels of a domain name, the last label first.
 */
function domainFault(labels: readonly string[]): string | undefined {
  if (labels.length === 0) return undefined;
  const isDomain = labels.length > 1 && isHostName(labels.join('.')) && labels.every((label) => !label.includes('.'));
  return isDomain ? undefined : 'domainComponents do not form a domain name; example.org is dc=org, then dc=example';
}

function attributeFault(identifier: string, value: DerElement): string | undefined {
  const type = attributeTypeOfOid(identifier);
  if (type === undefined) return 'its values are not text';
  if (!tagsOf[type.syntax].includes(value.tag)) return `string type ${value.tag} is not allowed`;
  try {
    return valueFault(type, new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value.content));
  } catch (error) {
    if (error instanceof TypeError) return 'not UTF-8';
    throw error;
  }
}
