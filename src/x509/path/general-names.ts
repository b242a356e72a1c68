import { children, DerError, type DerElement } from '../../asn1/reader.ts';
import { expectTag } from '../../asn1/sequence-fields.ts';
import { canonicalSequence, type CanonicalName } from './canonical-name.ts';

/** A GeneralName (RFC 5280 4.2.1.6), as path validation and URL lookups need it. */
export type GeneralName =
  | { readonly kind: 'email' | 'dns' | 'uri'; readonly text: string }
  | { readonly kind: 'directory'; readonly name: CanonicalName }
  | { readonly kind: 'ip'; readonly octets: Uint8Array }
  /**
   * Forms for which constraints are not supported: otherName, x400Address, ediPartyName,
   * registeredID.
   */
  | { readonly kind: 'other'; readonly tag: number };

/** Reads a SEQUENCE OF GeneralName, under any tag. @throws {DerError} */
export function generalNames(element: DerElement): GeneralName[] {
  return children(element).map(generalName);
}

/** @throws {DerError} */
export function generalName(element: DerElement): GeneralName {
  const { tag, content } = element;
  switch (tag) {
    case 0x81:
      return { kind: 'email', text: ia5(element) };
    case 0x82:
      return { kind: 'dns', text: ia5(element) };
    case 0x86:
      return { kind: 'uri', text: ia5(element) };
    case 0x87:
      return { kind: 'ip', octets: content };
    case 0xa4: {
      const [name, ...more] = children(element);
      if (name === undefined || more.length > 0) throw new DerError('not a single directoryName', element.start);
      return { kind: 'directory', name: canonicalSequence(expectTag(name, 0x30)) };
    }
    case 0xa0:
    case 0xa3:
    case 0xa5:
    case 0x88:
      return { kind: 'other', tag };
    default:
      throw new DerError('unknown choice of GeneralName', element.start);
  }
}

/**
 * Returns a key that is equal for equal names, to compare distribution points; undefined for forms
 * that cannot be compared.
 */
export function nameKey(name: GeneralName): string | undefined {
  if (name.kind === 'directory') return `directory ${name.name.key}`;
  return 'text' in name ? `${name.kind} ${name.text}` : undefined;
}

function ia5({ content, start }: DerElement): string {
  if (content.some((octet) => octet >= 0x80)) throw new DerError('name is not ASCII', start);
  return Buffer.from(content).toString('latin1');
}
