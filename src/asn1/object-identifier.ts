/** Object identifiers as text and as content octets (X.690 8.19). */

/**
 * Returns true for valid dotted text: first arc 0 to 2, second below 40 under 0 and 1, no leading
 * zeros, reasonable length.
 */
export function isObjectIdentifier(text: string): boolean {
  return text.length <= 255 && (/^[01]\.[1-3]?\d(\.(0|[1-9]\d*))*$/.test(text) || /^2(\.(0|[1-9]\d*))+$/.test(text));
}

/** Identifiers that were written before; most are constants of this program. */
const written = new Map<string, Uint8Array>();
const writtenMax = 1000;

/** Returns the content octets of an OBJECT IDENTIFIER. @throws {RangeError} for invalid text */
export function objectIdentifierContent(text: string): Uint8Array {
  const known = written.get(text);
  if (known !== undefined) return Uint8Array.from(known);
  if (!isObjectIdentifier(text)) throw new RangeError(`${text} is not an object identifier`);
  const [first = 0n, second = 0n, ...rest] = text.split('.').map(BigInt);
  const content = Uint8Array.from([first * 40n + second, ...rest].flatMap(base128));
  if (written.size === writtenMax) written.clear();
  written.set(text, content);
  return Uint8Array.from(content);
}

function base128(arc: bigint): number[] {
  const octets = [Number(arc & 0x7fn)];
  for (let rest = arc >> 7n; rest > 0n; rest >>= 7n) octets.unshift(Number(rest & 0x7fn) | 0x80);
  return octets;
}

/**
 * Returns the dotted text of content octets, or undefined if they are not an OBJECT IDENTIFIER in
 * shortest form.
 */
export function objectIdentifierText(content: Uint8Array): string | undefined {
  // Arcs are unbounded and converting big numbers takes quadratic time; no real identifier is this
  // long.
  if (content.length === 0 || content.length > 128 || (content.at(-1) ?? 0x80) >= 0x80) return undefined;
  const arcs: (number | bigint)[] = [];
  let arc: number | bigint = 0;
  let inArc = false;
  for (const octet of content) {
    if (!inArc && octet === 0x80) return undefined;
    const digit = octet & 0x7f;
    // Numbers hold nearly all arcs, and are much faster.
    if (typeof arc === 'number' && arc > smallArcMax) arc = BigInt(arc);
    arc = typeof arc === 'number' ? arc * 128 + digit : (arc << 7n) | BigInt(digit);
    inArc = octet >= 0x80;
    if (inArc) continue;
    arcs.push(arc);
    arc = 0;
  }
  const [head = 0, ...rest] = arcs;
  const first = head < 40 ? 0 : head < 80 ? 1 : 2;
  const second = typeof head === 'number' ? head - first * 40 : head - 80n;
  return [first, second, ...rest].join('.');
}

/** With seven more bits it is a safe integer still. */
const smallArcMax = 2 ** 45;
