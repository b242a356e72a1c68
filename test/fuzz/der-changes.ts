import { concat, lengthOctets } from '../../src/asn1/der.ts';
import { children, DerError, readAll, type DerElement } from '../../src/asn1/reader.ts';
import { pick, type RandomNumber } from './random-choice.ts';

/** An element that can be written again: a constructed one has children. */
interface Node {
  tag: number;
  children: Node[] | undefined;
  content: Uint8Array;
  /** Written with an indefinite length, as BER allows. */
  isIndefinite: boolean;
}

const tags = [0x02, 0x03, 0x04, 0x05, 0x06, 0x0a, 0x0c, 0x13, 0x17, 0x18, 0x24, 0x30, 0x31, 0x80, 0x81, 0xa0, 0xa1, 0xa3];
const contents = [
  ...[[], [0], [0xff], [0x80], [0, 0], Array.from({ length: 64 }, () => 0xff), Array.from({ length: 4096 }, () => 0x41)],
  // Identifiers of SHA-1, MD5, RSA encryption, RSASSA-PSS and the attribute message-digest.
  ...[
    [0x2b, 14, 3, 2, 26],
    [0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 2, 5],
    [0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 1, 1],
  ],
  ...[
    [0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 1, 10],
    [0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 9, 4],
  ],
].map((bytes) => Uint8Array.from(bytes));
const depthMax = 100;
const sizeMax = 200_000;

/**
 * Returns the structure with one to three changes: elements move, double, vanish or change, and the
 * lengths around them stay right; sometimes single octets change, too.
 */
export function changedDer(bytes: Uint8Array, random: RandomNumber): Uint8Array {
  const root = parsed(readAll(bytes), 0);
  for (let count = 1 + Math.floor(random() * 3); count > 0; count -= 1) change(root, random);
  const written = encoded(root, 0);
  if (written.length > sizeMax) return bytes;
  if (random() < 0.1 && written.length > 0) {
    const at = Math.floor(random() * written.length);
    written[at] = (written[at] ?? 0) ^ (1 << Math.floor(random() * 8));
  }
  return random() < 0.03 ? written.subarray(0, Math.floor(random() * written.length)) : written;
}

function parsed(element: DerElement, depth: number): Node {
  const { tag, content } = element;
  const inner = depth < depthMax && element.constructed ? partsOf(element) : undefined;
  return { tag, content, isIndefinite: false, children: inner?.map((part) => parsed(part, depth + 1)) };
}

function partsOf(element: DerElement): DerElement[] | undefined {
  try {
    return children(element);
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

function change(root: Node, random: RandomNumber): void {
  const parents = [...constructed(root)];
  const parent = pick(parents, random);
  const list = parent.children ?? [];
  const at = Math.floor(random() * list.length);
  const node = list[at];
  if (node === undefined) return;
  const other = pick(pick(parents, random).children ?? [node], random) ?? node;
  const kind = Math.floor(random() * 9);
  if (kind === 0) list.splice(at, 1);
  else if (kind === 1) list.splice(at, 0, copied(node));
  else if (kind === 2) list[at] = copied(other);
  else if (kind === 3) list.splice(at, 0, copied(other));
  else if (kind === 4) node.tag = pick(tags, random);
  else if (kind === 5) list[at] = { ...node, children: undefined, content: pick(contents, random) };
  else if (kind === 6) list[at] = { tag: 0x30, children: [node], content: new Uint8Array(), isIndefinite: false };
  else if (kind === 7) parent.isIndefinite = !parent.isIndefinite;
  // Many of one kind: attributes, certificates, extensions.
  else for (let more = Math.floor(random() ** 4 * 300); more > 0; more -= 1) list.push(copied(node));
}

function* constructed(node: Node): Generator<Node> {
  if (node.children === undefined) return;
  yield node;
  for (const child of node.children) yield* constructed(child);
}

function copied(node: Node): Node {
  return { ...node, children: node.children?.map(copied) };
}

function encoded({ tag, content, children: inner, isIndefinite }: Node, depth: number): Uint8Array {
  // A node that became its own ancestor by copies gets no deeper.
  const body = inner === undefined || depth > 2 * depthMax ? content : concat(...inner.map((child) => encoded(child, depth + 1)));
  if (isIndefinite && inner !== undefined) return concat(Uint8Array.of(tag | 0x20, 0x80), body, Uint8Array.of(0, 0));
  return concat(Uint8Array.of(tag), lengthOctets(body.length), body);
}
