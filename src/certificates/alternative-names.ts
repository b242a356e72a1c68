import { children, DerError, readAll, type DerElement } from '../asn1/reader.ts';
import { objectIdentifierText } from '../asn1/object-identifier.ts';
import type { AlternativeNameKind } from '../config/profile.ts';
import { isHostName, isMailbox } from './internet-names.ts';
import { nameFault } from './name-fault.ts';

/** The choices of GeneralName (RFC 5280 4.2.1.6) that a profile can allow, by tag. */
const kindOfTag: ReadonlyMap<number, AlternativeNameKind> = new Map([
  [0x81, 'rfc822Name'],
  [0x82, 'dNSName'],
  [0xa4, 'directoryName'],
  [0x86, 'uniformResourceIdentifier'],
  [0x87, 'iPAddress'],
  [0x88, 'registeredID'],
]);
const otherChoices: ReadonlyMap<number, string> = new Map([
  [0xa0, 'otherName'],
  [0xa3, 'x400Address'],
  [0xa5, 'ediPartyName'],
]);

/**
 * One alternative name: its kind and its fault, if any. A kind that no profile can allow is given
 * by its ASN.1 name.
 */
export interface AlternativeName {
  readonly kind: string;
  readonly fault: string | undefined;
}

/** Returns the names in a subjectAltName; undefined if the bytes are not GeneralNames. */
export function alternativeNames(value: Uint8Array): AlternativeName[] | undefined {
  try {
    const element = readAll(value);
    if (element.tag !== 0x30 || element.content.length === 0) return undefined;
    return children(element).map(alternativeName);
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

function alternativeName(name: DerElement): AlternativeName {
  const kind = kindOfTag.get(name.tag);
  if (kind !== undefined) return { kind, fault: faultOf(kind, name) };
  const other = otherChoices.get(name.tag);
  if (other === undefined) throw new DerError('unknown choice of GeneralName', name.start);
  return { kind: other, fault: undefined };
}

function faultOf(kind: AlternativeNameKind, { content }: DerElement): string | undefined {
  const text = content.every((octet) => octet < 0x80) ? Buffer.from(content).toString('latin1') : undefined;
  switch (kind) {
    case 'rfc822Name':
      return text !== undefined && isMailbox(text) ? undefined : 'not an e-mail address';
    case 'dNSName':
      return text !== undefined && isHostName(text) ? undefined : 'not a host name such as www.example.org';
    case 'uniformResourceIdentifier':
      return text !== undefined && isAbsoluteUrl(text) ? undefined : 'not an absolute URL such as https://example.org/';
    case 'iPAddress':
      return content.length === 4 || content.length === 16 ? undefined : 'not an IP address of 4 or 16 octets';
    case 'registeredID':
      return objectIdentifierText(content) === undefined ? 'not an object identifier' : undefined;
    case 'directoryName':
      return nameFault(content);
  }
}

/**
 * Returns true for a URL with a scheme and a host (RFC 3986), in the form in which readers compare
 * it.
 */
function isAbsoluteUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/[^\s"<>\\^`{|}]+$/i.test(text) && URL.canParse(text);
}
