import { oids } from '../../asn1/object-identifiers.ts';
import { children, DerError, readAll, readObjectIdentifier, type DerElement } from '../../asn1/reader.ts';
import type { Certificate } from '../../x509/certificate.ts';
import { stringValue } from '../../x509/string-value.ts';

const otherNameTag = 0xa0;
const directoryNameTag = 0xa4;
/** Certigna: one otherName for each type, whose code, read in base 36, is the last arc. */
const certignaArc = '1.2.250.1.177.101.';
/** IDnow: an attribute of a directoryName that begins with the code. */
const idnowForm = /^([0-9A-Z]{2})-/;
const codeLength = 2;
const codeBase = 36;

/**
 * Returns the codes of the document types that a certificate names in its subjectAltName (RFC 5280
 * 4.2.1.6), in the forms of two CAs of 2D-Doc. Empty if it names none: it then limits nothing.
 */
export function typesNamedBy({ extensions }: Pick<Certificate, 'extensions'>): ReadonlySet<string> {
  const value = extensions.get(oids.subjectAltName)?.value;
  if (value === undefined) return new Set();
  try {
    return new Set(children(readAll(value)).flatMap(typesIn));
  } catch (error) {
    if (error instanceof DerError) return new Set();
    throw error;
  }
}

function typesIn(name: DerElement): string[] {
  if (name.tag === otherNameTag) {
    const [type] = children(name);
    return type === undefined ? [] : certignaType(readObjectIdentifier(type));
  }
  if (name.tag !== directoryNameTag) return [];
  const [sequence] = children(name);
  const attributes = sequence === undefined ? [] : children(sequence).flatMap((relative) => children(relative));
  return attributes.flatMap((attribute) => {
    const [, value] = children(attribute);
    const code = value === undefined ? undefined : idnowForm.exec(stringValue(value) ?? '')?.[1];
    return code ?? [];
  });
}

function certignaType(oid: string): string[] {
  const number = oid.startsWith(certignaArc) ? oid.slice(certignaArc.length) : '';
  if (!/^\d{1,4}$/.test(number)) return [];
  const code = Number(number).toString(codeBase).toUpperCase().padStart(codeLength, '0');
  return code.length === codeLength ? [code] : [];
}
