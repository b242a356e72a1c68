import { BerCursor } from '../asn1/ber-cursor.ts';
import { bytesBetween, bytesInMemory, type ByteSource } from '../asn1/byte-source.ts';
import * as der from '../asn1/der.ts';
import { children, readAll, readObjectIdentifier, DerError, type DerElement } from '../asn1/reader.ts';
import { octetsOf } from './read-signed-data.ts';

/** A parsed SignerInfo (RFC 5652 §5.3). Elements are in DER. */
export interface ReadSignerInfo {
  /** IssuerAndSerialNumber, or `[0]` with a subject key identifier. */
  readonly signer: DerElement;
  readonly digestAlgorithm: DerElement;
  /**
   * The SET OF that was signed, in the order of the source. Undefined if the content itself was
   * signed.
   */
  readonly signedAttributes: Uint8Array | undefined;
  readonly signatureAlgorithm: DerElement;
  readonly signature: Uint8Array;
}

const limits = { elementsMax: 10_000, depthMax: 24 } as const;
const tags = { integer: 0x02, sequence: 0x30, set: 0x31, signedAttributes: 0xa0 } as const;

/** @throws {DerError} for anything but a SignerInfo, and if the signed part is not DER */
export function readSignerInfo(bytes: Uint8Array): ReadSignerInfo {
  const source = bytesInMemory(bytes);
  const cursor = new BerCursor(source, limits);
  cursor.open(tags.sequence);
  // The version follows from the form of the signer's identifier.
  cursor.primitive(tags.integer);
  const signer = derOf(source, cursor);
  const digestAlgorithm = derOf(source, cursor);
  const signedAttributes = cursor.tag === tags.signedAttributes ? attributesOf(source, cursor) : undefined;
  const signatureAlgorithm = derOf(source, cursor);
  const signature = der.concat(...octetsOf(cursor).map((span) => bytesBetween(source, span.start, span.end)));
  if (cursor.tag !== undefined) cursor.skip();
  cursor.close();
  cursor.end();
  return { signer, digestAlgorithm, signedAttributes, signatureAlgorithm, signature };
}

function derOf(source: ByteSource, cursor: BerCursor): DerElement {
  const { start, end } = cursor.skip();
  return readAll(bytesBetween(source, start, end));
}

/**
 * Returns the SET OF behind `[0] IMPLICIT`, with its own tag and a definite length (RFC 5652 §5.4).
 */
function attributesOf(source: ByteSource, cursor: BerCursor): Uint8Array {
  cursor.open(tags.signedAttributes);
  const attributes: Uint8Array[] = [];
  while (cursor.tag !== undefined) {
    const { start, end } = cursor.skip();
    attributes.push(bytesBetween(source, start, end));
  }
  cursor.close();
  return der.set(...attributes);
}

/**
 * Returns the values of an attribute in a SET OF Attribute; empty if it is absent.
 * @throws {DerError} for a duplicate attribute
 */
export function attributeValues(attributes: Uint8Array, type: string): readonly DerElement[] {
  const found = children(readAll(attributes)).filter((attribute) => {
    const [oid] = children(attribute);
    return oid !== undefined && readObjectIdentifier(oid) === type;
  });
  const [only] = found;
  if (found.length > 1) throw new DerError(`duplicate attribute ${type}`, 0);
  const [, values] = only === undefined ? [] : children(only);
  return values === undefined ? [] : children(values);
}
