import { concat, lengthOctets } from '../asn1/der.ts';
import { type Content, contentBytes } from '../documents/content.ts';

/**
 * Sequence of encodings and content. The length of an element is known even if its content is not
 * in memory.
 */
export type Layout = readonly (Content | Layout)[];

/** Wraps parts in an element with a definite length. */
export function element(tagByte: number, parts: Layout): Layout {
  return [Uint8Array.of(tagByte), lengthOctets(layoutBytes(parts)), parts];
}

function layoutBytes(layout: Layout): number {
  return layout.reduce<number>((total, part) => total + (isLayout(part) ? layoutBytes(part) : contentBytes(part)), 0);
}

/** Flattens a layout into pieces; small parts between two large ones are joined. */
export function piecesOf(layout: Layout): Content[] {
  const pieces: Content[] = [];
  let small: Uint8Array[] = [];
  const join = (): void => {
    if (small.length > 0) pieces.push(concat(...small));
    small = [];
  };
  for (const part of flat(layout)) {
    if (part instanceof Uint8Array && part.length < largeBytes) {
      small.push(part);
      continue;
    }
    join();
    pieces.push(part);
  }
  join();
  return pieces;
}

/** Below this size a copy costs less than a separate piece. */
const largeBytes = 64 * 1024;

function* flat(layout: Layout): Generator<Content> {
  for (const part of layout) {
    if (isLayout(part)) yield* flat(part);
    else yield part;
  }
}

function isLayout(part: Content | Layout): part is Layout {
  return Array.isArray(part);
}
