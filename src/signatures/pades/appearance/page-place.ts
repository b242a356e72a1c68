import type { Page } from '../../../pdf/pages.ts';
import type { Area } from '../../../pdf/drawing.ts';

/** Where something stands on a page, as it is displayed. Lengths are in 1/72 inch, contract §5. */
export type Place =
  /** `fromRight`, `bottom`: distances of its right and its lower edge. */
  | { readonly kind: 'FROM_LOWER_RIGHT'; readonly fromRight: number; readonly bottom: number }
  /** `left`, `bottom`: distances of its left and its lower edge. */
  | { readonly kind: 'FROM_LOWER_LEFT'; readonly left: number; readonly bottom: number }
  | {
      readonly kind: 'EDGES';
      readonly horizontal: 'LEFT' | 'MIDDLE' | 'RIGHT';
      readonly vertical: 'TOP' | 'BOTTOM';
      readonly margin: number;
    };

/** Size of a page as it is displayed, in 1/72 inch. */
export function displayedSize({ box, rotation, userUnit }: Page): { readonly width: number; readonly height: number } {
  const [width, height] = [(box.right - box.left) * userUnit, (box.top - box.bottom) * userUnit];
  return rotation % 180 === 0 ? { width, height } : { width: height, height: width };
}

/** Returns the area of a place on a page as it is displayed. Undefined if it is not on the page. */
export function areaOn(page: Page, place: Place, { width, height }: { readonly width: number; readonly height: number }): Area | undefined {
  const size = displayedSize(page);
  const [x, y] = lowerLeft(place, size, { width, height });
  const isOnPage = x >= 0 && y >= 0 && x + width <= size.width && y + height <= size.height;
  return isOnPage ? { x, y, width, height } : undefined;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

function lowerLeft(place: Place, page: Size, { width, height }: Size): readonly [x: number, y: number] {
  if (place.kind === 'FROM_LOWER_LEFT') return [place.left, place.bottom];
  if (place.kind === 'FROM_LOWER_RIGHT') return [page.width - place.fromRight - width, place.bottom];
  const { horizontal, vertical, margin } = place;
  const x = { LEFT: margin, MIDDLE: (page.width - width) / 2, RIGHT: page.width - margin - width }[horizontal];
  return [x, vertical === 'BOTTOM' ? margin : page.height - margin - height];
}

/**
 * Matrix from the displayed page, in 1/72 inch from its lower left corner, to the coordinates of
 * the page (ISO 32000-2, 8.3.4).
 */
export type Matrix = readonly [a: number, b: number, c: number, d: number, e: number, f: number];

export function displayedToPage({ box, rotation, userUnit }: Page): Matrix {
  const { left, bottom, right, top } = box;
  const one = 1 / userUnit;
  if (rotation === 90) return [0, one, -one, 0, right, bottom];
  if (rotation === 180) return [-one, 0, 0, -one, right, top];
  if (rotation === 270) return [0, -one, one, 0, left, top];
  return [one, 0, 0, one, left, bottom];
}

/** Returns the rectangle of an area of the displayed page, in the coordinates of the page. */
export function pageRectangle(page: Page, { x, y, width, height }: Area): readonly [number, number, number, number] {
  const [a, b, c, d, e, f] = displayedToPage(page);
  const [x1, y1] = [a * x + c * y + e, b * x + d * y + f];
  const [x2, y2] = [a * (x + width) + c * (y + height) + e, b * (x + width) + d * (y + height) + f];
  return [Math.min(x1, x2), Math.min(y1, y2), Math.max(x1, x2), Math.max(y1, y2)];
}

/**
 * Returns the part of the matrix that turns an appearance so that it is upright on the displayed
 * page.
 */
export function uprightMatrix({ rotation }: Pick<Page, 'rotation'>): readonly number[] {
  return { 0: [1, 0, 0, 1, 0, 0], 90: [0, 1, -1, 0, 0, 0], 180: [-1, 0, 0, -1, 0, 0], 270: [0, -1, 1, 0, 0, 0] }[rotation];
}
