import { children, DerError, readObjectIdentifier, type DerElement } from '../asn1/reader.ts';
import { expectTag, SequenceFields } from '../asn1/sequence-fields.ts';

const tagOf = { boolean: 0x01, octetString: 0x04, sequence: 0x30 } as const;

/** An extension of a CRL or of one of its entries. */
export interface CrlExtension {
  readonly critical: boolean;
  readonly value: Uint8Array;
}

/** Limit on what is parsed; real lists are far smaller. */
const maxBytes = 64 * 1024;

/** Reads extensions, by OID. @throws {DerError} for a duplicate or malformed extension */
export function readExtensions(list: DerElement): ReadonlyMap<string, CrlExtension> {
  if (list.content.length > maxBytes) throw new DerError(`extensions of more than ${maxBytes} octets`, list.start);
  const found = new Map<string, CrlExtension>();
  for (const element of children(expectTag(list, tagOf.sequence))) {
    const fields = new SequenceFields(expectTag(element, tagOf.sequence));
    const oid = readObjectIdentifier(fields.next());
    const critical = fields.tag === tagOf.boolean && fields.next().content[0] !== 0;
    if (found.has(oid)) throw new DerError(`duplicate extension ${oid}`, element.start);
    found.set(oid, { critical, value: fields.next(tagOf.octetString).content });
    fields.end();
  }
  return found;
}
