import { BerCursor } from '../asn1/ber-cursor.ts';
import { bytesBetween, type ByteSource } from '../asn1/byte-source.ts';
import * as der from '../asn1/der.ts';
import { oids } from '../asn1/object-identifiers.ts';
import { DerError } from '../asn1/reader.ts';

const tags = { sequence: 0x30, set: 0x31, implicitSet: 0xa0, oid: 0x06 } as const;
const limits = { elementsMax: 2 ** 20, depthMax: 24 } as const;
const messageDigest = der.oid(oids.messageDigest);

/**
 * Whether content is a SET OF Attribute with a message-digest, in BER or DER, as SET or as the
 * `[0]` of a SignerInfo. A value over signed attributes is also one over content with the same
 * octets: whoever has a signature can turn its attributes into content, and leave them out of the
 * SignerInfo (RFC 5652 §5.4 and §12; F. Strenzke, "ForgedAttributes", 2023). Reads no further than
 * the content has this form.
 */
export function areAttributes(content: ByteSource): boolean {
  try {
    const cursor = new BerCursor(content, limits);
    const { tag } = cursor;
    if (tag !== tags.set && tag !== tags.implicitSet) return false;
    cursor.open(tag);
    let hasDigest = false;
    while (cursor.tag !== undefined) {
      cursor.open(tags.sequence);
      const { start, end } = cursor.primitive(tags.oid);
      hasDigest ||= end - start === messageDigest.length && bytesBetween(content, start, end).equals(messageDigest);
      cursor.open(tags.set);
      while (cursor.tag !== undefined) cursor.skip();
      cursor.close();
      cursor.close();
    }
    cursor.close();
    cursor.end();
    return hasDigest;
  } catch (error) {
    if (error instanceof DerError) return false;
    throw error;
  }
}
