import { concat, lengthOctets } from '../asn1/tag-length-value.ts';
import type { Content } from '../documents/content.ts';
import { contentBytes } from '../documents/content-pieces.ts';

/** Encodings and content, one after the other: an element whose content is not at hand has a known length all the same. */
export type Layout = readonly (Content | Layout)[];

/** An element with a definite length around parts. */
export function element(tagByte: number, parts: Layout): Layout {
  return [Uint8Array.of(tagByte), lengthOctets(layoutBytes(parts)), parts];
}

function layoutBytes(layout: Layout): number {
  return layout.reduce<number>((total, part) => total + (isLayout(part) ? layoutBytes(part) : contentBytes(part)), 0);
}

/** The parts with what is small joined: what lies between two big pieces is one piece. */
export function piecesOf(layout: Layout): Content[] {
  const pieces: Content[] = [];
  let small: Uint8Array[] = [];
  const join = (): void => {
    if (small.length > 0) pieces.push(concat(...small));
    small = [];
  };
  for (const part of flat(layout)) {
    if (part instanceof Uint8Array && part.length < bigBytes) {
      small.push(part);
      continue;
    }
    join();
    pieces.push(part);
  }
  join();
  return pieces;
}

/** Below this a copy costs less than a piece of its own. */
const bigBytes = 64 * 1024;

function* flat(layout: Layout): Generator<Content> {
  for (const part of layout) {
    if (isLayout(part)) yield* flat(part);
    else yield part;
  }
}

function isLayout(part: Content | Layout): part is Layout {
  return Array.isArray(part);
}
