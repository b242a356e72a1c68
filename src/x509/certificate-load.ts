import { DerError } from '../asn1/reader.ts';

/**
 * Limits on the elements of DER in certificates of others. What parsing and comparing costs grows
 * with them, several times over: about two microseconds each. A certificate has 100 to 200, one
 * with a thousand alternative names 1200; chains have three or four.
 */
export const elementsMax = { certificate: 4000, together: 10_000 } as const;

/** An element takes at least as many octets. */
const elementMinBytes = 2;
const depthMax = 32;
const tagOf = { octetString: 0x04, sequence: 0x30 } as const;
const constructed = 0x20;
const longForm = 0x80;

/**
 * Checks the number of elements of one certificate, before it is parsed.
 * @throws {DerError}
 */
export function checkElements(certificate: Uint8Array): void {
  const max = elementsMax.certificate;
  if (certificate.length > max * elementMinBytes && elementsIn(certificate, max) > max)
    throw new DerError(`certificate of more than ${max} elements`, 0);
}

/**
 * Whether certificates that one stranger presents at a time have few enough elements to be parsed on
 * the event loop.
 */
export function areLight(certificates: readonly Uint8Array[]): boolean {
  const max = elementsMax.together;
  let bytes = 0;
  for (const { length } of certificates) bytes += length;
  if (bytes <= max * elementMinBytes) return true;
  let left = max;
  for (const one of certificates) {
    left -= elementsIn(one, left);
    if (left < 0) return false;
  }
  return true;
}

/**
 * Counts the elements of DER, those in octet strings included that contain a sequence, as extensions
 * do. What is not DER counts as if it had as many as there is room for, since OpenSSL reads BER.
 * Ends when there are more than `max`.
 */
function elementsIn(bytes: Uint8Array, max: number): number {
  let count = 0;
  const walk = (start: number, end: number, depth: number): void => {
    for (let at = start; at < end && count <= max;) {
      const next = contentOf(bytes, at, end);
      if (next === undefined || depth === depthMax) {
        count += Math.ceil((end - at) / elementMinBytes);
        return;
      }
      count += 1;
      const tag = bytes[at] ?? 0;
      const hasInner = (tag & constructed) !== 0 || (tag === tagOf.octetString && bytes[next.start] === tagOf.sequence);
      if (hasInner) walk(next.start, next.end, depth + 1);
      at = next.end;
    }
  };
  walk(0, bytes.length, 0);
  return count;
}

/** Returns where the content of an element is; undefined for a length that is not that of DER. */
function contentOf(bytes: Uint8Array, at: number, end: number): { readonly start: number; readonly end: number } | undefined {
  const first = bytes[at + 1] ?? longForm;
  if (first < longForm) return at + 2 + first > end ? undefined : { start: at + 2, end: at + 2 + first };
  const octets = first - longForm;
  if (octets === 0 || octets > 4) return undefined;
  let length = 0;
  for (let index = 0; index < octets; index += 1) length = length * 256 + (bytes[at + 2 + index] ?? 0);
  const start = at + 2 + octets;
  return length < longForm || start + length > end ? undefined : { start, end: start + length };
}
