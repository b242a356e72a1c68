import type { Bitmap } from './bitmap.ts';

/** A command of an outline, as fontkit gives it: y grows upwards. */
export interface OutlineCommand {
  readonly command: string;
  readonly args: readonly number[];
}

/**
 * Where an outline is drawn: its origin in pixels from the upper left corner, and pixels for each
 * of its units.
 */
export interface OutlinePlace {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

type Point = readonly [x: number, y: number];

/** A side of a polygon. `winding`: 1 downwards, -1 upwards. */
interface Side {
  readonly from: Point;
  readonly to: Point;
  readonly winding: 1 | -1;
}

/** Straight lines for each curve, enough for letters of a few hundred pixels. */
const curveSteps = 16;

/** Blackens the pixels whose centres are inside an outline, by the nonzero winding rule. */
export function fillOutline(bitmap: Bitmap, commands: readonly OutlineCommand[], place: OutlinePlace): void {
  const sides = sidesOf(commands).map(([from, to]) => side(placed(from, place), placed(to, place)));
  const rows = new Map<number, { readonly x: number; readonly winding: number }[]>();
  for (const { from, to, winding } of sides) {
    const slope = (to[0] - from[0]) / (to[1] - from[1]);
    // Centres of rows are at halves; the lower end does not belong to a side, so that no row meets
    // two at a corner.
    for (let row = Math.ceil(from[1] - 0.5); row + 0.5 < to[1]; row += 1) {
      const crossings = rows.get(row) ?? [];
      crossings.push({ x: from[0] + slope * (row + 0.5 - from[1]), winding });
      rows.set(row, crossings);
    }
  }
  for (const [row, crossings] of rows) {
    if (row < 0 || row >= bitmap.height) continue;
    let [depth, start] = [0, 0];
    for (const { x, winding } of crossings.toSorted((left, right) => left.x - right.x)) {
      if (depth === 0) start = x;
      depth += winding;
      if (depth === 0) bitmap.blacken(row, Math.max(0, Math.ceil(start - 0.5)), Math.min(bitmap.width, Math.ceil(x - 0.5)));
    }
  }
}

function placed([x, y]: Point, place: OutlinePlace): Point {
  return [place.x + x * place.scale, place.y - y * place.scale];
}

function side(first: Point, second: Point): Side {
  return first[1] <= second[1] ? { from: first, to: second, winding: 1 } : { from: second, to: first, winding: -1 };
}

/** The outline as straight lines. Contours are closed by themselves. */
function sidesOf(commands: readonly OutlineCommand[]): [Point, Point][] {
  const lines: [Point, Point][] = [];
  let [start, at]: [Point, Point] = [
    [0, 0],
    [0, 0],
  ];
  const lineTo = (to: Point): void => {
    lines.push([at, to]);
    at = to;
  };
  for (const { command, args } of commands) {
    const [x1 = 0, y1 = 0, x2 = 0, y2 = 0, x3 = 0, y3 = 0] = args;
    if (command === 'moveTo') {
      lineTo(start);
      [start, at] = [
        [x1, y1],
        [x1, y1],
      ];
    } else if (command === 'lineTo') {
      lineTo([x1, y1]);
    } else if (command === 'quadraticCurveTo') {
      for (const point of curve([at, [x1, y1], [x2, y2]])) lineTo(point);
    } else if (command === 'bezierCurveTo') {
      for (const point of curve([at, [x1, y1], [x2, y2], [x3, y3]])) lineTo(point);
    }
  }
  lineTo(start);
  return lines;
}

/** Points of a Bézier curve after its first one (de Casteljau). */
function curve(controls: readonly Point[]): Point[] {
  return Array.from({ length: curveSteps }, (_, step) => {
    const share = (step + 1) / curveSteps;
    let points = controls;
    while (points.length > 1)
      points = points.slice(1).map(([x, y], index): Point => {
        const [beforeX, beforeY] = points[index] ?? [x, y];
        return [beforeX + share * (x - beforeX), beforeY + share * (y - beforeY)];
      });
    return points[0] ?? [0, 0];
  });
}
