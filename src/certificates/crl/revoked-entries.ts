import * as der from '../../asn1/der.ts';
import { oids } from '../../asn1/object-identifiers.ts';
import type { RevokedColumns } from '../../state/repositories/crls.ts';
import { serialNumberBytes } from '../../state/tables/revocation.ts';

/** Takes about a millisecond. */
const sliceEntries = 4096;
/** Header, longest serial number, GeneralizedTime and reason extension. */
const maxEntryBytes = 64;

const integerTag = 0x02;
const sequenceTag = 0x30;

/** RFC 5280 5.3.1: the reason code as the only extension; absent for unspecified. */
const reasonExtensions: readonly Uint8Array[] = Array.from({ length: 11 }, (_, reason) =>
  reason === 0
    ? new Uint8Array()
    : der.sequence(der.sequence(der.oid(oids.crlReason), der.octetString(der.tagged(0x0a, Uint8Array.of(reason))))),
);

/**
 * Yields the entries of revokedCertificates (RFC 5280 5.1.2.6) in DER, a slice at a time. No entry
 * is dated after the list itself, even if the clocks of several instances differ.
 */
export function* revokedEntries({ count, serialNumbers, revokedAt, reasons }: RevokedColumns, thisUpdate: Date): Generator<Uint8Array> {
  const times = new TimeWriter(thisUpdate.getTime());
  for (let start = 0; start < count; start += sliceEntries) {
    const end = Math.min(start + sliceEntries, count);
    const slice = Buffer.allocUnsafe((end - start) * maxEntryBytes);
    let at = 0;
    for (let index = start; index < end; index += 1) {
      const contentAt = at + 2;
      let next = writeSerialNumber(slice, contentAt, serialNumbers, index * serialNumberBytes);
      next = copy(slice, next, times.of(revokedAt[index] ?? 0));
      next = copy(slice, next, reasonExtensions[reasons[index] ?? 0] ?? new Uint8Array());
      slice[at] = sequenceTag;
      slice[at + 1] = next - contentAt;
      at = next;
    }
    yield slice.subarray(0, at);
  }
}

/** Writes an INTEGER in the fewest octets. Returns the offset after it. */
function writeSerialNumber(target: Buffer, at: number, source: Uint8Array, from: number): number {
  const to = from + serialNumberBytes;
  let first = from;
  while (first < to - 1 && source[first] === 0) first += 1;
  const padding = (source[first] ?? 0) >= 0x80 ? 1 : 0;
  const length = to - first + padding;
  target[at] = integerTag;
  target[at + 1] = length;
  target[at + 2] = 0;
  target.set(source.subarray(first, to), at + 2 + padding);
  return at + 2 + length;
}

function copy(target: Buffer, at: number, bytes: Uint8Array): number {
  target.set(bytes, at);
  return at + bytes.length;
}

/** Encodes times. Revocations often share a second, so the last encoding is cached. */
class TimeWriter {
  readonly #latest: number;
  #second = Number.NaN;
  #written: Uint8Array = new Uint8Array();

  constructor(latest: number) {
    this.#latest = latest;
  }

  of(milliseconds: number): Uint8Array {
    const second = Math.floor(Math.min(milliseconds, this.#latest) / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#written = der.time(new Date(second * 1000));
    }
    return this.#written;
  }
}
