import { oids } from '../asn1/object-identifiers.ts';
import { readTime } from '../asn1/read-time.ts';
import { DerError, readAll, readElement, type DerElement } from '../asn1/reader.ts';
import { expectTag, SequenceFields } from '../asn1/sequence-fields.ts';
import { readExtensions } from './crl-extensions.ts';

/** One revoked certificate in a CRL (RFC 5280 §5.3). */
export interface RevokedEntry {
  readonly revokedAt: Date;
  /** CRLReason; absent: unspecified. */
  readonly reason: number | undefined;
}

/** What a list says of a serial number: its entry, none, or that it cannot be read. */
export interface FoundEntry {
  readonly entry?: RevokedEntry | undefined;
  /** What is malformed in it. */
  readonly unreadable?: string | undefined;
}

const tagOf = { integer: 0x02, enumerated: 0x0a, sequence: 0x30 } as const;
const certificateIssuer = '2.5.29.29';
const rememberedMax = 1000;

/**
 * List of revoked certificates. It may have millions of entries: a lookup scans the octets without
 * parsing them, and its result is cached, since the same certificates are looked up often.
 */
export class RevokedEntries {
  readonly #content: Uint8Array;
  readonly #found = new Map<string, FoundEntry>();

  constructor(content: Uint8Array) {
    this.#content = content;
  }

  /**
   * Returns the entry of a serial number (content octets of its INTEGER), unless an entry up to it
   * is malformed.
   */
  lookUp(serialNumber: Uint8Array): FoundEntry {
    const known = this.#found.get(keyOf(serialNumber));
    if (known !== undefined) return known;
    const found = this.#search(serialNumber);
    this.learn(serialNumber, found);
    return found;
  }

  /** Whether the entry of a serial number was looked up before. */
  knows(serialNumber: Uint8Array): boolean {
    return this.#found.has(keyOf(serialNumber));
  }

  /** Takes over what another thread has looked up. */
  learn(serialNumber: Uint8Array, found: FoundEntry): void {
    if (this.#found.size >= rememberedMax) this.#found.clear();
    this.#found.set(keyOf(serialNumber), found);
  }

  #search(serialNumber: Uint8Array): FoundEntry {
    try {
      const offset = offsetOf(this.#content, serialNumber);
      return { entry: offset === undefined ? undefined : readEntry(readElement(this.#content, offset)) };
    } catch (error) {
      if (error instanceof DerError) return { unreadable: error.message };
      throw error;
    }
  }
}

function keyOf(serialNumber: Uint8Array): string {
  return Buffer.from(serialNumber).toString('latin1');
}

/**
 * Returns the offset of the entry. Short lengths, by far the most common, are read in place,
 * without allocating an object per entry.
 */
function offsetOf(content: Uint8Array, serialNumber: Uint8Array): number | undefined {
  const { length } = content;
  for (let offset = 0; offset < length;) {
    if (content[offset] !== tagOf.sequence) throw new DerError('entry is not a SEQUENCE', offset);
    const short = content[offset + 1] ?? 0xff;
    const long = short < 0x80 ? undefined : readElement(content, offset);
    const start = long?.contentStart ?? offset + 2;
    const end = long?.end ?? start + short;
    if (end > length || end < start + 2) throw new DerError('truncated entry', offset);
    if (isSerial(content, start, end, serialNumber)) return offset;
    offset = end;
  }
  return undefined;
}

function isSerial(content: Uint8Array, start: number, end: number, serialNumber: Uint8Array): boolean {
  if (content[start] !== tagOf.integer) throw new DerError('entry without a serial number', start);
  const length = content[start + 1] ?? 0xff;
  if (length >= 0x80) return Buffer.compare(readElement(content.subarray(start, end)).content, serialNumber) === 0;
  if (start + 2 + length > end) throw new DerError('truncated entry', start);
  if (length !== serialNumber.length) return false;
  // Serial numbers of one authority may share a prefix, so compare from the end.
  for (let index = length - 1; index >= 0; index -= 1) {
    if (content[start + 2 + index] !== serialNumber[index]) return false;
  }
  return true;
}

function readEntry(element: DerElement): RevokedEntry {
  const fields = new SequenceFields(expectTag(element, tagOf.sequence));
  fields.next(tagOf.integer);
  const revokedAt = readTime(fields.next());
  const extensions = fields.tag === tagOf.sequence ? readExtensions(fields.next()) : undefined;
  fields.end();
  const reason = extensions?.get(oids.crlReason)?.value;
  // Even with an unknown extension, the certificate is listed as revoked. Entries of other issuers
  // occur only in indirect CRLs.
  if (extensions?.has(certificateIssuer) === true) throw new DerError('entry of another issuer', element.start);
  return { revokedAt, reason: reason === undefined ? undefined : expectTag(readAll(reason), tagOf.enumerated).content[0] };
}
