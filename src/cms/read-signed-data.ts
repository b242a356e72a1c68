import { BerCursor, type BerSpan } from '../asn1/ber-cursor.ts';
import { bytesBetween, type ByteSource } from '../asn1/byte-source.ts';
import * as der from '../asn1/der.ts';
import { objectIdentifierText } from '../asn1/object-identifier.ts';
import { oids } from '../asn1/object-identifiers.ts';
import { DerError } from '../asn1/reader.ts';

/**
 * A parsed SignedData (RFC 5652 §5.1). Everything but the content is copied from the source and may
 * contain BER.
 */
export interface ReadSignedData {
  readonly digestAlgorithms: readonly Uint8Array[];
  readonly contentType: string;
  /**
   * Offsets of the encapsulated content's octets, in order; undefined if the signature is detached.
   */
  readonly content: readonly BerSpan[] | undefined;
  readonly certificates: readonly Uint8Array[];
  /** Certificate revocation lists and other revocation information. */
  readonly revocationData: readonly Uint8Array[];
  readonly signerInfos: readonly Uint8Array[];
}

/**
 * Limits for a CMS. Content may be of any size; a million parts are 4 GB when OpenSSL streams it.
 */
const limits = { elementsMax: 2 ** 20, depthMax: 24 } as const;
/** Limit for everything but the content, which is held in memory. */
const partsMaxBytes = 16 * 1024 * 1024;
const versionsMax = 5;
const beginBytes = 32;
const signedDataOid = der.oid(oids.signedData);

const tags = {
  integer: 0x02,
  octets: 0x04,
  octetsInParts: 0x24,
  oid: 0x06,
  sequence: 0x30,
  set: 0x31,
  certificates: 0xa0,
  revocation: 0xa1,
} as const;

/**
 * Whether the source begins like a ContentInfo with SignedData: a SEQUENCE of any length, then the
 * OID. The rest is not checked.
 */
export function beginsAsSignedData(source: ByteSource): boolean {
  const begin = bytesBetween(source, 0, Math.min(source.bytes, beginBytes));
  const first = begin[1] ?? 0;
  const start = first <= 0x80 ? 2 : 2 + (first & 0x7f);
  return begin[0] === tags.sequence && begin.subarray(start, start + signedDataOid.length).equals(signedDataOid);
}

/**
 * Reads a ContentInfo with SignedData (RFC 5652 §3, §5.1), in BER or DER.
 * @throws {DerError} for anything else, for trailing data, and for a file beyond the limits.
 */
export function readSignedData(source: ByteSource): ReadSignedData {
  const cursor = new BerCursor(source, limits);
  const parts = new Parts(source, cursor);
  cursor.open(tags.sequence);
  if (readOid(source, cursor) !== oids.signedData) throw new DerError('not a SignedData', 0);
  cursor.open(0xa0);
  cursor.open(tags.sequence);
  checkVersion(source, cursor);
  const digestAlgorithms = parts.setOf(tags.set);
  cursor.open(tags.sequence);
  const contentType = readOid(source, cursor);
  const content = cursor.tag === undefined ? undefined : readContent(cursor);
  cursor.close();
  const certificates = cursor.tag === tags.certificates ? parts.setOf(tags.certificates) : [];
  const revocationData = cursor.tag === tags.revocation ? parts.setOf(tags.revocation) : [];
  const signerInfos = parts.setOf(tags.set);
  cursor.close();
  cursor.close();
  cursor.close();
  cursor.end();
  return { digestAlgorithms, contentType, content, certificates, revocationData, signerInfos };
}

function readOid(source: ByteSource, cursor: BerCursor): string {
  const { start, contentStart, end } = cursor.primitive(tags.oid);
  const text = end - contentStart > 128 ? undefined : objectIdentifierText(bytesBetween(source, contentStart, end));
  if (text === undefined) throw new DerError('not an OBJECT IDENTIFIER', start);
  return text;
}

function checkVersion(source: ByteSource, cursor: BerCursor): void {
  const { start, contentStart, end } = cursor.primitive(tags.integer);
  const [version = 0] = end - contentStart === 1 ? bytesBetween(source, contentStart, end) : [];
  if (version < 1 || version > versionsMax) throw new DerError('unknown version of SignedData', start);
}

/** Reads [0] EXPLICIT OCTET STRING, in one or several parts, possibly nested (X.690 8.7). */
function readContent(cursor: BerCursor): BerSpan[] {
  cursor.open(0xa0);
  const spans = octetsOf(cursor);
  cursor.close();
  return spans;
}

/** Returns the offsets of an OCTET STRING's octets. */
export function octetsOf(cursor: BerCursor): BerSpan[] {
  const spans: BerSpan[] = [];
  let depth = 0;
  do {
    if (depth > 0 && cursor.tag === undefined) {
      cursor.close();
      depth -= 1;
    } else if (cursor.tag === tags.octetsInParts) {
      cursor.open(tags.octetsInParts);
      depth += 1;
    } else {
      const { contentStart, end } = cursor.primitive(tags.octets);
      if (end > contentStart) spans.push({ start: contentStart, end });
    }
  } while (depth > 0);
  return spans;
}

/** Copies elements out of the source, up to a total number of bytes. */
class Parts {
  readonly #source: ByteSource;
  readonly #cursor: BerCursor;
  #bytes = 0;

  constructor(source: ByteSource, cursor: BerCursor) {
    this.#source = source;
    this.#cursor = cursor;
  }

  setOf(tag: number): Uint8Array[] {
    const elements: Uint8Array[] = [];
    this.#cursor.open(tag);
    while (this.#cursor.tag !== undefined) {
      const { start, end } = this.#cursor.skip();
      this.#bytes += end - start;
      if (this.#bytes > partsMaxBytes) throw new DerError(`more than ${partsMaxBytes} octets besides the content`, start);
      elements.push(bytesBetween(this.#source, start, end));
    }
    this.#cursor.close();
    return elements;
  }
}
