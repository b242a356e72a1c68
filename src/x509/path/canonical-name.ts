import { children, DerError, readAll, readObjectIdentifier, type DerElement } from '../../asn1/reader.ts';
import { expectTag } from '../../asn1/sequence-fields.ts';
import { stringValue } from '../string-value.ts';

const tagOf = { sequence: 0x30, set: 0x31 } as const;

/**
 * Many times the size of any real name. The lists and answers of others have names, too, which are
 * read before a signature is verified.
 */
const nameMaxBytes = 16 * 1024;

/** A distinguished name in the form in which names are compared (RFC 5280 §7.1). */
export interface CanonicalName {
  /** One text for each RDN, in order. */
  readonly relativeNames: readonly string[];
  /** Equal for equal names. */
  readonly key: string;
}

/**
 * Returns the canonical form of a name: it ignores case, surrounding white space, the length of
 * inner white space, and the string type. A value that is not a string is compared by its bytes.
 * @throws {DerError}
 */
export function canonicalName(nameDer: Uint8Array): CanonicalName {
  return canonicalSequence(readAll(nameDer));
}

/** As `canonicalName`, for a name that is parsed so far. */
export function canonicalSequence(name: DerElement): CanonicalName {
  if (name.raw.length > nameMaxBytes) throw new DerError(`name of more than ${nameMaxBytes} octets`, name.start);
  const relativeNames = children(expectTag(name, tagOf.sequence)).map(canonicalRelativeName);
  return { relativeNames, key: JSON.stringify(relativeNames) };
}

/**
 * Whether a name lies in the subtree of another, that is, begins with all of its RDNs (RFC 5280
 * 4.2.1.10).
 */
export function isWithin(name: CanonicalName, base: CanonicalName): boolean {
  return base.relativeNames.every((relativeName, index) => name.relativeNames[index] === relativeName);
}

function canonicalRelativeName(element: DerElement): string {
  const attributes = children(expectTag(element, tagOf.set)).map((attribute) => {
    const [type, value, ...more] = children(expectTag(attribute, tagOf.sequence));
    if (type === undefined || value === undefined || more.length > 0) throw new DerError('not an AttributeTypeAndValue', attribute.start);
    const text = stringValue(value);
    return [readObjectIdentifier(type), text === undefined ? `#${Buffer.from(value.raw).toString('hex')}` : `=${canonicalText(text)}`];
  });
  return JSON.stringify(attributes.map(([type = '', value = '']) => `${type}${value}`).toSorted());
}

/**
 * Longer values are compared as they are: bringing many marks into order takes a time that is
 * quadratic in their number.
 */
const canonicalMaxLength = 4096;

function canonicalText(text: string): string {
  if (text.length > canonicalMaxLength) return text;
  return text.normalize('NFKC').toLowerCase().trim().replaceAll(/\s+/gu, ' ');
}
